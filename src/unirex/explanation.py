"""A prediction with its reasons, in the characters of the original text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from unirex.data.example import Label


@dataclass(frozen=True, slots=True)
class Span:
    """Some characters of one segment, end-exclusive."""

    start: int
    end: int
    text: str
    segment: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"start": self.start, "end": self.end, "text": self.text, "segment": self.segment}


@dataclass(frozen=True, slots=True)
class Word:
    """One word (or one sub-word token) with its importance and whether the budget kept it."""

    start: int
    end: int
    text: str
    score: float
    selected: bool
    segment: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "score": self.score,
            "selected": self.selected,
            "segment": self.segment,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a system predicts for one text and the words it names as its reasons.

    `tokens` are what the system really scored and selected; `words` are the blank-separated words they
    belong to (score: the highest of its tokens; selected: any of its tokens); `spans` are the runs of
    selected words. Where the answer is one of several `choices`, it is a letter, and the segments are those
    of the sequence that won: the last is the chosen text.
    """

    segments: tuple[str, ...]
    label: Label
    probabilities: dict[Label, float]
    budget: float  # per cent of the tokens
    spans: tuple[Span, ...]
    words: tuple[Word, ...]
    tokens: tuple[Word, ...]
    truncated: int = 0  # tokens of the text the encoder could not take
    id: str | None = None
    gold_label: Label | None = None
    gold_spans: tuple[Span, ...] | None = None
    choices: tuple[str, ...] | None = None  # in the order of their letters
    completeness_error: float | None = None  # of attributions that should add up: how far they are from it

    @property
    def text(self) -> str:
        """The original text, untouched."""
        return "\n".join(self.segments)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; probabilities as a list, so that labels keep their type."""
        # By hand, as `asdict` copies every string and number: ten times slower.
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["probabilities"] = [
            {"label": label, "probability": p} for label, p in self.probabilities.items()
        ]
        for name in ("spans", "words", "tokens", "gold_spans"):
            plain[name] = None if plain[name] is None else tuple(part.to_dict() for part in plain[name])
        return plain
