"""What evaluation saw of each example; every metric can be computed from records without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unirex.data.example import Label

BUDGETS = (1.0, 5.0, 10.0, 20.0, 50.0)  # per cent; the paper's and ERASER's


def budget_count(tokens: int, budget: float) -> int:
    """How many of so many tokens a budget in per cent buys: at least one, half-way cases to the even.

    >>> [budget_count(tokens, 50) for tokens in (5, 10, 30, 50, 3, 0)]
    [2, 5, 15, 25, 2, 0]
    """
    return min(max(round(tokens * budget / 100), 1), tokens)  # `round` takes halves to the even number


def top_k(scores: ArrayLike, budgets: Sequence[float] = BUDGETS) -> tuple[tuple[int, ...], ...]:
    """Per budget: the numbers of the highest-scored tokens, in their order; of equals the leftmost.

    >>> top_k([0.1, 0.9, 0.9, 0.2], [25, 50])
    ((1,), (1, 2))
    """
    values = np.asarray(scores, dtype=np.float64)
    ranked = np.argsort(-values, kind="stable")
    return tuple(tuple(np.sort(ranked[: budget_count(len(values), budget)]).tolist()) for budget in budgets)


Floats = tuple[float, ...]
Distributions = tuple[Floats, ...]  # one a budget, or one a step, in label order


@dataclass(frozen=True, slots=True)
class Scored:
    """One sequence's tokens and what was thought of them."""

    tokens: tuple[tuple[int, int, int], ...]  # segment, start, end of every selectable token
    scores: Floats
    gold: tuple[bool, ...] | None
    selected: tuple[tuple[int, ...], ...]  # per budget: numbers of the selected tokens
    chosen: tuple[int, ...] | None = None  # a tool's own yes-or-no selection; None: scores above 0


@dataclass(frozen=True, slots=True)
class Views:
    """What the classifier says to the rationales of every budget, for one way of removing tokens."""

    removal: str
    removed: Distributions  # without the rationale
    kept: Distributions  # from the rationale alone
    whole: Distributions | None = None  # what both are held against, if it is not the whole text


@dataclass(frozen=True, slots=True)
class Draw:
    """Random scores for the same text under the same classifier."""

    scores: tuple[Floats, ...]  # per sequence
    selected: tuple[tuple[tuple[int, ...], ...], ...]  # per sequence and budget
    views: Views
    probes: Probes | None = None


@dataclass(frozen=True, slots=True)
class Probes:
    """What the classifier says to further edits of the text, for the metrics that ask more than budgets do.

    All removal is that of the record's first `views`. A part that was not asked for is None.
    """

    empty: Floats | None = None  # with every selectable token removed
    first: Floats | None = None  # with the highest-scored token removed
    deletion: Distributions | None = None  # with the highest j/J of the tokens removed, j = 1 … J
    insertion: Distributions | None = None  # with only these, j = 1 … J
    left_out: Floats | None = None  # p(target) without each token alone
    words: Floats | None = None  # p(target) with the highest 1, 2, … words removed
    lowest: float | None = None  # smallest and largest mean fall over any order of removing the words
    highest: float | None = None
    exact: bool | None = None  # whether those two are exact, or found by beam search
    zero: float | None = None  # p(target) with every embedding of a selectable token set to 0
    soft_kept: Floats | None = None  # p(target), embeddings kept at random by score; one a draw
    soft_removed: Floats | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """All that is known of one example. What an outside tool does not tell is None or empty."""

    id: str
    segments: tuple[str, ...]
    label: Label | None
    predicted: Label | None
    labels: tuple[Label, ...]  # what the probabilities stand for
    probabilities: Floats
    sequences: tuple[Scored, ...]  # one, or one for each choice
    budgets: Floats  # per cent of the tokens
    target: Label | None  # whose probability is followed: the prediction's, unless asked otherwise
    views: tuple[Views, ...] = ()  # the first is what the main metrics use
    draws: tuple[Draw, ...] = ()  # random scores, removed as in the first of `views`
    probes: Probes | None = None
    seconds: float | None = None  # to predict and score it, its share of the batch
    token_forwards: float | None = None  # tokens the encoder ran for that, padding included, its share
    convergence_delta: float | None = None  # of attributions that should add up
    truncated: int = 0
    choices: tuple[str, ...] | None = None
    trained_removal: str | None = None  # what training removed tokens by, if it did

    @property
    def full(self) -> float:
        """p(target) of what the system answers: from the whole text, if it reads that; NaN if nobody told."""
        return self.of_target([self.probabilities])[0] if self.probabilities else float("nan")

    @property
    def confidence(self) -> float:
        """The probability of the prediction; NaN if nobody told."""
        if not self.probabilities or self.predicted not in self.labels:
            return float("nan")
        return self.probabilities[self.labels.index(self.predicted)]

    @property
    def removed(self) -> Floats:
        """Per budget: p(target) without the rationale."""
        return self.of_target(self.views[0].removed) if self.views else ()

    @property
    def kept(self) -> Floats:
        """Per budget: p(target) from the rationale alone."""
        return self.of_target(self.views[0].kept) if self.views else ()

    @property
    def removal(self) -> str | None:
        """How tokens are taken out for the main metrics."""
        return self.views[0].removal if self.views else None

    @property
    def select_predict(self) -> bool:
        """Whether the system predicts from its rationale alone, and never sees the rest of the text."""
        return bool(self.views) and self.views[0].whole is not None

    @property
    def length(self) -> int:
        """Selectable tokens of the longest sequence."""
        return max((len(one.tokens) for one in self.sequences), default=0)

    def of_target(self, distributions: Sequence[Floats]) -> Floats:
        """p(target) of each distribution."""
        number = self.labels.index(self.target)
        return tuple(one[number] for one in distributions)

    def drawn(self, number: int) -> Record:
        """The record of one of the random draws, as if its scores were the system's."""
        draw = self.draws[number]
        sequences = tuple(
            replace(one, scores=scores, selected=selected, chosen=None)
            for one, scores, selected in zip(self.sequences, draw.scores, draw.selected, strict=True)
        )
        # A system that predicts from its rationale would answer otherwise; what, nobody asked.
        answer: dict[str, Any] = {"predicted": None, "probabilities": ()} if self.select_predict else {}
        return replace(
            self,
            **answer,
            sequences=sequences,
            views=(draw.views,),
            draws=(),
            probes=draw.probes,
            seconds=None,
            token_forwards=None,
            convergence_delta=None,
        )


PARTS: dict[str, type] = {"sequences": Scored, "views": Views, "draws": Draw, "probes": Probes}
INSIDE: dict[type, dict[str, type]] = {Record: PARTS, Draw: {"views": Views, "probes": Probes}}


def plain(record: Any) -> dict[str, Any]:
    """A record, or a part of one, as dictionaries, lists and numbers."""
    # By hand, as `asdict` copies every number of every tuple.
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    for name in INSIDE.get(type(record), ()):
        value = found[name]
        found[name] = [plain(one) for one in value] if isinstance(value, tuple) else value and plain(value)
    return found


def record_from(values: Any, kind: type = Record) -> Any:
    """A record, or a part of one, from its plain form."""
    inside, given = INSIDE.get(kind, {}), {field.name: field for field in fields(kind)}
    needed = [name for name, one in given.items() if one.default is MISSING and name not in values]
    strange = [name for name in values if name not in given]
    if needed or strange:
        fault = f"no '{needed[0]}'" if needed else f"unknown '{strange[0]}'"
        raise ValueError(f"{fault} in a {kind.__name__.lower()}")
    return kind(
        **{
            name: _part(value, inside[name]) if name in inside and value is not None else _frozen(value)
            for name, value in values.items()
        }
    )


def check_record(record: Record) -> Record:
    """The record, if its parts fit together and its numbers are numbers; `ValueError` says what does not."""
    for one in record.sequences:
        _check_count("scores", one.scores, len(one.tokens), empty=True)
        _check_count("gold marks", one.gold or (), len(one.tokens), empty=True)
        _check_numbers("score", one.scores)
    _check_count("probabilities", record.probabilities, len(record.labels), empty=True)
    _check_numbers("probability", record.probabilities)
    for views in (*record.views, *(draw.views for draw in record.draws)):
        for rows in (views.removed, views.kept, *(() if views.whole is None else (views.whole,))):
            _check_count("distributions", rows, len(record.budgets))
            for row in rows:
                _check_count("probabilities", row, len(record.labels))
                _check_numbers("probability", row)
    if record.views and record.target not in record.labels:
        raise ValueError(f"target {record.target!r} is none of its labels")
    return record


def _check_count(what: str, values: Sequence[Any], count: int, *, empty: bool = False) -> None:
    if len(values) != count and not (empty and not values):
        raise ValueError(f"{len(values)} {what} where there should be {count}")


def _check_numbers(what: str, values: Floats) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError(f"{what} {value!r} is not a number")


def _part(value: Any, kind: type) -> Any:
    if isinstance(value, list):
        return tuple(record_from(one, kind) for one in value)
    return record_from(value, kind)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
