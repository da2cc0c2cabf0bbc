"""One hue from pale to strong, for light and dark paper; ink is readable on every shade of its own."""

from __future__ import annotations

from unirex.report.pieces import LEVELS

Colour = tuple[int, int, int]


def ramp(first: Colour, last: Colour) -> tuple[str, ...]:
    """The shades of levels 1 to LEVELS, in even steps.

    >>> ramp((0, 0, 0), (7, 70, 14))[:2]
    ('#000000', '#010a02')
    """
    steps = [step / (LEVELS - 1) for step in range(LEVELS)]
    return tuple(_hex([a + (b - a) * at for a, b in zip(first, last, strict=True)]) for at in steps)


def contrast(one: str, other: str) -> float:
    """How well two colours are told apart, 1 to 21; text needs 4.5 (WCAG 2, level AA).

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _hex(channels: list[float]) -> str:
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


LIGHT_INK, DARK_INK = "#1c1b1a", "#f4efe6"
LIGHT = ramp((255, 245, 219), (245, 176, 39))  # amber, safe for every common colour blindness
DARK = ramp((44, 38, 28), (138, 88, 0))
TERMINAL = ramp((168, 158, 142), (245, 176, 39))  # from grey to amber: its paper may be light or dark


def css() -> str:
    """The shades as style rules `.s1` to `.s8`, which follow the reader's light or dark setting."""
    light, dark = (
        "".join(f"--s{at}:{colour};" for at, colour in enumerate(shades, start=1)) for shades in (LIGHT, DARK)
    )
    rules = "".join(f".s{at}{{background:var(--s{at})}}" for at in range(1, LEVELS + 1))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{rules}\n"
