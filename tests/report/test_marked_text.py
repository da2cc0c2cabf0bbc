"""Marked text: its cuts, and colours that everyone can read."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.report.marked_text import DARK, INK, LIGHT, TERMINAL, cut
from unirex.report.page import resource


@given(st.text(max_size=20), st.lists(st.lists(st.tuples(st.integers(-3, 25), st.integers(-3, 25)))))
def test_every_character_is_covered_by_the_layers_that_mark_it(text, layers):
    pieces = cut(text, layers)
    assert "".join(text[start:end] for (start, end), _ in pieces) == text
    covering = [numbers for (start, end), numbers in pieces for _ in range(start, end)]
    assert covering == [
        tuple(n for n, spans in enumerate(layers) if any(start <= at < end for start, end in spans))
        for at in range(len(text))
    ]
    assert all(one[1] != other[1] for one, other in pairwise(pieces))


def contrast(one, other):
    """How well two colours are told apart, 1 to 21; text needs 4.5 (WCAG 2, level AA)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    channels = [channel / 255 for channel in bytes.fromhex(colour[1:])]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_every_colour_of_text_is_readable_on_every_ground(dark):
    scheme = resource("style.css").split("@media (prefers-color-scheme: dark)")[dark]
    colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
    assert dark or colour["ink"] == INK
    for shade in DARK if dark else LIGHT + TERMINAL:
        assert contrast(shade, colour["ink"]) >= 4.5, shade
    for text in ("ink", "muted", "accent", "good", "bad", "gold", "c0", "c1", "c2", "c3", "c4"):
        for ground in ("paper", "card", "soft"):
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
