"""Text from anywhere, made harmless for a terminal."""

from __future__ import annotations

import unicodedata

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
