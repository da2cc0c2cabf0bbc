"""All that is decided about an annotation before its first text is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from unirex.data.example import Label
from unirex.errors import UserError, unknown

Order = Literal["as-is", "uncertainty", "disagreement"]
Start = Literal["blank", "suggestion", "gold"]
LEASE = 30.0  # minutes that a text is kept for the person who has it on the screen
MOST_PER_TEXT = 100
BUDGET = 20.0  # of suggestions, per cent of the tokens, as `unirex explain` marks
HOLD_OUT = 0.3  # of the gold a run was not trained on, when it is trained again
LONGEST_GUIDELINES = 100_000  # characters


@dataclass(frozen=True, slots=True)
class Source:
    """A system whose rationales people may start from."""

    place: str  # its folder
    name: str  # its method
    extractor: str
    budget: float  # per cent of the tokens


@dataclass(frozen=True, slots=True)
class Definition:
    """What people are asked to do, and in which order.

    Args:
        title: shown above the texts.
        labels: to choose from; where texts have choices, the most letters.
        names: of the columns of the texts, as they are exported.
        multi_label: whether a text has any number of the labels.
        rationale_segments: numbers of the texts of an example that can be marked; None: all.
        order: which texts come first.
        per_text: how many people annotate each text.
        start: what a person finds marked: nothing, what a system suggests, or the marks of the data.
        lease: minutes that a text is kept for the person who has it.
        guidelines: plain text that is at hand beside every text.
        systems: the first makes the suggestions; all of them make uncertainty and disagreement.
        data: where the texts were read, for messages.
        digest: of the texts, so that other texts are not mistaken for them.
    """

    title: str
    labels: tuple[Label, ...]
    names: tuple[str, ...]
    multi_label: bool = False
    rationale_segments: tuple[int, ...] | None = None
    order: Order = "as-is"
    per_text: int = 1
    start: Start = "blank"
    lease: float = LEASE
    guidelines: str = ""
    systems: tuple[Source, ...] = ()
    data: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        for name, value, known in (("order", self.order, Order), ("start", self.start, Start)):
            if value not in get_args(known):
                raise unknown(name, value, get_args(known))
        if not 1 <= self.per_text <= MOST_PER_TEXT:
            raise UserError(f"per_text {self.per_text}: give how many people, 1 to {MOST_PER_TEXT}.")
        if not 1 <= self.lease <= 7 * 24 * 60:
            raise UserError(f"lease {self.lease:g}: give minutes, from 1 to a week ({7 * 24 * 60}).")
        if len(self.guidelines) > LONGEST_GUIDELINES:
            raise UserError(
                f"guidelines of {len(self.guidelines):,} characters; the most are {LONGEST_GUIDELINES:,}."
            )
        if len(self.labels) < 2:
            raise UserError('fewer than two labels to choose from; name them: --labels \'["neg", "pos"]\'')
        self._check_systems()

    def _check_systems(self) -> None:
        if self.start == "suggestion" and not self.systems:
            raise UserError("start suggestion: name the system that suggests: --run runs/slm")
        if self.order == "uncertainty" and not self.systems:
            raise UserError("order uncertainty: name the system that may be unsure: --run runs/slm")
        if self.order == "disagreement" and len(self.systems) < 2 and self.per_text < 3:
            raise UserError(
                "order disagreement: it is between two systems (--run runs/a runs/b) or between people "
                "(--per_text 3 or more: two may disagree, then others are asked)."
            )

    @property
    def between_people(self) -> bool:
        """Whether texts on which people disagree come first."""
        return self.order == "disagreement" and len(self.systems) < 2

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Definition:
        """The definition that `to_dict` wrote, once it went through JSON."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
        }
        values["systems"] = tuple(Source(**source) for source in plain["systems"])
        return cls(**values)
