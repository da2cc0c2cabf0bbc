"""HTML that is safe by construction: text is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"input", "meta"})


class Html(str):
    """Text that is already HTML; everything else is data, and is escaped where it enters a page."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: object) -> Html:
    """One element: `class_` for class, `aria_label` for aria-label; `None` leaves an attribute out.

    >>> element("p", "1 < 2 & ", element("b", "sure"), class_='"x"')
    '<p class="&quot;x&quot;">1 &lt; 2 &amp; <b>sure</b></p>'
    """
    given = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Many pieces of a page as one."""
    return Html(safe(between).join(map(safe, parts)))


def safe(text: str) -> Html:
    r"""The text as it is read on a page, character by character.

    A carriage return is written as a reference, for browsers turn a bare one into a newline; a lone
    surrogate, which no file can hold, becomes U+FFFD.

    >>> safe("<b>\r\n")
    '&lt;b&gt;&#13;\n'
    """
    if isinstance(text, Html):
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Html(escape(whole).replace("\r", "&#13;"))


def _attribute(name: str, value: object) -> str:
    return f' {name.rstrip("_").replace("_", "-")}="{safe(str(value))}"'
