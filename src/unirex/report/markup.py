"""Text made safe to show: escaped for HTML, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from unirex.printable import printable

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of what spreadsheets calculate
VOID = frozenset({"input", "meta"})  # elements without an end tag
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
}
MINUS = re.compile(r"(?<![\w.–-])-(?=[\d.])")  # before a number; between two numbers a dash is "to"


class Html(str):
    """Text that is already HTML; any other string is data and is escaped where it enters a page."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: object) -> Html:
    """One element: `class_` for class, `aria_label` for aria-label; `None` leaves an attribute out.

    >>> element("p", "1 < 2 & ", element("b", "sure"), class_='"x"')
    '<p class="&quot;x&quot;">1 &lt; 2 &amp; <b>sure</b></p>'
    """
    given = ""
    for name, value in attributes.items():
        if value is not None:
            given += f' {name.rstrip("_").replace("_", "-")}="{safe(str(value))}"'
    if tag in VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Several parts of a page as one."""
    return Html(safe(between).join(map(safe, parts)))


def safe(text: str) -> Html:
    r"""The text escaped, so that a page shows it character by character.

    A carriage return is written as a reference, because browsers turn a bare one into a newline. A lone
    surrogate cannot be encoded in a file and becomes U+FFFD.

    >>> safe("<b>\r\n")
    '&lt;b&gt;&#13;\n'
    """
    if isinstance(text, Html):
        return text
    # UTF-16 joins the two halves of a pair and replaces a lone one.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Html(escape(whole).replace("\r", "&#13;"))


def markdown_safe(text: str) -> str:
    """The text so that Markdown shows it as it is."""
    return re.sub(r"([\\|<*`])", r"\\\1", printable(text))


def csv_safe(text: str) -> str:
    """Text as a cell of a table: what a spreadsheet would run as a formula gets an apostrophe in front.

    >>> csv_safe("=1+2"), csv_safe("-fine"), csv_safe("a=b")
    ("'=1+2", "'-fine", 'a=b')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def latex_safe(text: str) -> str:
    r"""The text so that LaTeX prints it as it is.

    >>> print(latex_safe("95 % of a_b: Comp ↑ 0.302 ± 0.039"))
    95 \% of a\_b: Comp $\uparrow$ 0.302 $\pm$ 0.039
    """
    return "".join(LATEX.get(character, " " if ord(character) < 32 else character) for character in text)


def latex_numbers(text: str) -> str:
    r"""Numbers so that LaTeX sets a minus sign as such and a range with a dash.

    >>> print(latex_numbers("-0.030 to -0.010"), latex_numbers("0.286–0.292"), latex_numbers("1e-05"))
    $-$0.030 to $-$0.010 0.286--0.292 1e-05
    """
    return latex_safe(MINUS.sub("−", text))
