"""Text that cannot steer a terminal."""

from __future__ import annotations

PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}  # ␀ … ␡
# Without a picture: C1 controls, surrogates, and what embeds or overrides the direction of text.
HIDDEN = (*range(0x80, 0xA0), *range(0xD800, 0xE000), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
VISIBLE = PICTURES | dict.fromkeys(HIDDEN, "\N{REPLACEMENT CHARACTER}")
VISIBLE_LINES = {code: shown for code, shown in VISIBLE.items() if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    r"""The text with every control character made visible, so that none can steer the terminal.

    Direction overrides and lone surrogates become U+FFFD.

    >>> printable("a\x1b[31mb")
    'a␛[31mb'
    """
    return text.translate(VISIBLE)


def printable_lines(text: str) -> str:
    """`printable` for running text: keeps line breaks and tabs."""
    return text.replace("\r\n", "\n").translate(VISIBLE_LINES)
