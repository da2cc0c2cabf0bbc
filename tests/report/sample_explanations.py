"""Explanations to show, made by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unirex.data.example import Label
from unirex.explanation import Explanation, Span, Word


def explanation(
    *segments: str,
    scores: Sequence[float] = (),
    label: Label = "pos",
    probabilities: dict[Label, float] | None = None,
    gold: Sequence[str] | None = None,
    **more: object,
) -> Explanation:
    """An explanation whose words have these scores in order (then 0); words above 0.5 are its rationale."""
    found = [(at, match) for at, text in enumerate(segments) for match in re.finditer(r"\S+", text)]
    padded = [*scores, *[0.0] * len(found)][: len(found)]
    words = tuple(
        Word(match.start(), match.end(), match.group(), score, score > 0.5, at)
        for (at, match), score in zip(found, padded, strict=True)
    )
    return Explanation(
        segments=segments,
        label=label,
        probabilities=probabilities or {"neg": 0.069, "pos": 0.931},
        budget=20.0,
        spans=tuple(Span(w.start, w.end, w.text, w.segment) for w in words if w.selected),
        words=words,
        tokens=words,
        gold_spans=None if gold is None else tuple(_span(segments, text) for text in gold),
        **more,  # type: ignore[arg-type]
    )


def _span(segments: Sequence[str], text: str) -> Span:
    at = next(at for at, segment in enumerate(segments) if text in segment)
    start = segments[at].index(text)
    return Span(start, start + len(text), text, at)
