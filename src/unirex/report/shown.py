"""Examples as a reader compares them: one text, and what every method says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unirex.data.example import choice_label

Mark = tuple[int, int, int, int, bool]  # segment, start, end, shade 0 … LEVELS, selected
Place = tuple[int, int, int]  # segment, start, end
Key = tuple[str, int]  # an id, and how often it came before


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method says of a text, and the words it says it by."""

    predicted: str | None
    confidence: float | None  # the probability of the prediction
    words: tuple[Mark, ...]  # of a choice, its text is the segment after the last


@dataclass(frozen=True, slots=True)
class Shown:
    """One text with the answers of all methods that have one, by their names."""

    id: str
    segments: tuple[str, ...]
    choices: tuple[str, ...] | None
    label: str | None
    gold: tuple[Place, ...] | None  # what a person marked; None if nobody did
    answers: Mapping[str, Answer]

    def choice(self, answer: Answer) -> int | None:
        """Number of the choice whose words the answer shows; None where there is nothing to choose."""
        return shown_choice(self.choices, answer.predicted, self.label)

    def texts(self, answer: Answer) -> tuple[str, ...]:
        """What the answer's words stand in: the segments, and the shown choice after them."""
        number = self.choice(answer)
        return self.segments if number is None else (*self.segments, (self.choices or ())[number])


def shown_choice(choices: Sequence[str] | None, predicted: str | None, label: str | None) -> int | None:
    """Number of the choice a reader looks at: the predicted one, else the gold one, else the first."""
    letters = [choice_label(number) for number in range(len(choices or ()))]
    known = [letters.index(one) for one in (predicted, label) if one in letters]
    return (known or [0])[0] if letters else None
