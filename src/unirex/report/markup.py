"""Text made safe to show: escaped HTML, and terminal output without control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}  # ␀ … ␡


def printable(text: str, *, keep: str = "") -> str:
    r"""The text with every control character made visible, so that none can steer the terminal.

    Direction overrides and lone surrogates become U+FFFD; `keep` names what may stay, such as a newline.

    >>> printable("a\x1b[31mb")
    'a␛[31mb'
    """
    return "".join(one if one in keep else _visible(one) for one in text)


def _visible(character: str) -> str:
    """A picture of a control character; any other character itself."""
    code = ord(character)
    if code in _PICTURES:
        return chr(_PICTURES[code])
    if unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTION:
        return "\N{REPLACEMENT CHARACTER}"
    return character


_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # bidi embeddings, overrides


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
