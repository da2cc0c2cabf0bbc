"""Records: everything evaluation observed of each example.

Every metric can be computed from records without the model. The dataclasses here are the file format: the
Parquet schema and the JSON form follow from their fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from unirex import config
from unirex.data.example import Answer, Label
from unirex.data.validate import is_number

BUDGETS = tuple(map(float, config.BUDGETS))  # per cent; the paper's and ERASER's

FloatTuple = tuple[float, ...]
Distributions = tuple[FloatTuple, ...]  # one per budget, or one per step, in label order


@dataclass(frozen=True, slots=True)
class Scored:
    """The tokens of one sequence, with scores, gold marks and selections."""

    tokens: tuple[tuple[int, int, int], ...]  # segment, start, end of every selectable token
    scores: FloatTuple
    gold: tuple[bool, ...] | None
    selected: tuple[tuple[int, ...], ...]  # per budget: numbers of the selected tokens
    chosen: tuple[int, ...] | None = None  # a tool's own yes-or-no selection; None: scores above 0
    others: FloatTuple | None = None  # scores of tokens that cannot be selected, such as [CLS]; None: unknown


@dataclass(frozen=True, slots=True)
class Views:
    """The predictions with and without the rationale of every budget, for one way of removing tokens."""

    removal: str
    removed: Distributions  # without the rationale
    kept: Distributions  # from the rationale alone
    whole: Distributions | None = None  # what both are compared with, if it is not the whole text


@dataclass(frozen=True, slots=True)
class Draw:
    """Random scores for the same text under the same classifier."""

    scores: tuple[FloatTuple, ...]  # per sequence
    selected: tuple[tuple[tuple[int, ...], ...], ...]  # per sequence and budget
    views: Views
    probes: Probes | None = None


@dataclass(frozen=True, slots=True)
class Probes:
    """The predictions for further edits of the text, for metrics that need more than budgets.

    All removal is that of the record's first `views`. A part that was not requested is None.
    """

    empty: FloatTuple | None = None  # with every selectable token removed
    first: FloatTuple | None = None  # with the highest-scored token removed
    deletion: Distributions | None = None  # with the highest j/J of the tokens removed, j = 1 … J
    insertion: Distributions | None = None  # with only these, j = 1 … J
    left_out: FloatTuple | None = None  # p(target) without each token alone
    words: FloatTuple | None = None  # p(target) with the highest 1, 2, … words removed
    lowest: float | None = None  # smallest and largest mean fall over any order of removing the words
    highest: float | None = None
    exact: bool | None = None  # whether those two are exact, or found by beam search
    zero: float | None = None  # p(target) with every embedding of a selectable token set to 0
    soft_kept: FloatTuple | None = None  # p(target), embeddings kept at random by score; one per draw
    soft_removed: FloatTuple | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """Everything known of one example. What a third-party tool does not report is None or empty."""

    id: str
    segments: tuple[str, ...]
    label: Answer | None
    predicted: Answer | None
    labels: tuple[Label, ...]  # in the order of the probabilities
    probabilities: FloatTuple
    sequences: tuple[Scored, ...]  # one, or one for each choice
    budgets: FloatTuple  # per cent of the tokens
    target: Label | None  # whose probability is followed: by default the most probable
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
    def answered(self) -> Scored:
        """The scored sequence of the choice that is predicted; without choices, the only one."""
        names, predicted = list(map(str, self.labels)), str(self.predicted)
        if self.choices and len(self.sequences) == len(self.choices) and predicted in names:
            return self.sequences[names.index(predicted)]
        return self.sequences[0]

    @property
    def full(self) -> float:
        """p(target) of the system's answer: from the whole text, if it reads that; NaN if unknown."""
        return self.of_target([self.probabilities])[0] if self.probabilities else float("nan")

    @property
    def multi_label(self) -> bool:
        """Whether a text has a set of labels."""
        return isinstance(self.predicted, tuple) or isinstance(self.label, tuple)

    @property
    def follows_gold(self) -> bool:
        """Whether the probability of another label than the predicted one is followed."""
        return self.target != self.predicted and not self.multi_label

    @property
    def confidence(self) -> float:
        """The probability of the prediction; NaN if unknown, and of a set of labels."""
        if not self.probabilities or self.predicted not in self.labels:
            return float("nan")
        return self.probabilities[self.labels.index(self.predicted)]

    @property
    def removed(self) -> FloatTuple:
        """Per budget: p(target) without the rationale."""
        return self.of_target(self.views[0].removed) if self.views else ()

    @property
    def kept(self) -> FloatTuple:
        """Per budget: p(target) from the rationale alone."""
        return self.of_target(self.views[0].kept) if self.views else ()

    @property
    def removal(self) -> str | None:
        """How tokens are removed for the main metrics."""
        return self.views[0].removal if self.views else None

    @property
    def select_predict(self) -> bool:
        """Whether the system predicts from its rationale alone, and never sees the rest of the text."""
        return bool(self.views) and self.views[0].whole is not None

    @property
    def length(self) -> int:
        """Selectable tokens of the longest sequence."""
        return max((len(scored.tokens) for scored in self.sequences), default=0)

    def of_target(self, distributions: Sequence[FloatTuple]) -> FloatTuple:
        """p(target) of each distribution."""
        number = self.labels.index(self.target)
        return tuple(distribution[number] for distribution in distributions)

    def decided(self, distributions: Sequence[FloatTuple]) -> Distributions:
        """What the label is decided by: the distributions; of sets, those of having the target or not."""
        if not self.multi_label:
            return tuple(distributions)
        return tuple((p, 1 - p) for p in self.of_target(distributions))

    def drawn(self, number: int) -> Record:
        """The record of one random draw, as if its scores were the system's."""
        draw = self.draws[number]
        sequences = tuple(
            replace(scored, scores=scores, selected=selected, chosen=None, others=None)
            for scored, scores, selected in zip(self.sequences, draw.scores, draw.selected, strict=True)
        )
        # A system that predicts from its rationale would answer differently here; that was not computed.
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


def plain(record: Any) -> dict[str, Any]:
    """A record, or a part of one, as dictionaries, lists and numbers."""
    # By hand, as `asdict` copies every number of every tuple.
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    kind: type = type(record)
    for name in part_types(kind):
        value = values[name]
        values[name] = [plain(part) for part in value] if isinstance(value, tuple) else value and plain(value)
    return values


def record_from(values: Any, kind: type = Record) -> Any:
    """A record, or a part of one, from its plain form."""
    parts, known = part_types(kind), {field.name: field for field in fields(kind)}
    needed = [name for name, field in known.items() if field.default is MISSING and name not in values]
    strange = [name for name in values if name not in known]
    if needed or strange:
        fault = f"no '{needed[0]}'" if needed else f"unknown '{strange[0]}'"
        raise ValueError(f"{fault} in a {kind.__name__.lower()}")
    given = {}
    for name, value in values.items():
        if name not in parts or value is None:
            given[name] = _frozen(value)
        elif isinstance(value, list):
            given[name] = tuple(record_from(part, parts[name]) for part in value)
        else:
            given[name] = record_from(value, parts[name])
    return kind(**given)


@cache
def part_types(kind: type) -> dict[str, type]:
    """The fields of a record class that hold records themselves, one or several, with their class."""
    parts = {name: _record_class(hint) for name, hint in get_type_hints(kind).items()}
    return {name: part for name, part in parts.items() if part is not None}


def _record_class(hint: Any) -> type | None:
    """The dataclass inside a type such as `tuple[Scored, ...]` or `Probes | None`."""
    if is_dataclass(hint):
        return hint if isinstance(hint, type) else None
    return next((found for found in map(_record_class, get_args(hint)) if found), None)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def check_record(record: Record) -> Record:
    """The record, if its parts fit together and its numbers are finite; else `ValueError`."""
    for scored in record.sequences:
        _check_count("scores", scored.scores, len(scored.tokens), empty=True)
        _check_count("gold marks", scored.gold or (), len(scored.tokens), empty=True)
        _check_numbers("score", scored.scores)
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


def _check_numbers(what: str, values: FloatTuple) -> None:
    for value in values:
        if not is_number(value):
            raise ValueError(f"{what} {value!r} is not a number")


def budget_count(tokens: int, budget: float) -> int:
    """The number of tokens that a budget in per cent buys: at least one, half-way cases to the even number.

    >>> [budget_count(tokens, 50) for tokens in (5, 10, 30, 50, 3, 0)]
    [2, 5, 15, 25, 2, 0]
    """
    return min(max(round(tokens * budget / 100), 1), tokens)  # `round` takes halves to the even number


def top_k(scores: ArrayLike, budgets: Sequence[float] = BUDGETS) -> tuple[tuple[int, ...], ...]:
    """Per budget: the numbers of the highest-scored tokens, ascending; of equals the leftmost.

    The same as `unirex.select.top_k` (a test compares them), for scores that are read without torch.

    >>> top_k([0.1, 0.9, 0.9, 0.2], [25, 50])
    ((1,), (1, 2))
    """
    values = np.asarray(scores, dtype=np.float64)
    ranked = np.argsort(-values, kind="stable")
    return tuple(tuple(np.sort(ranked[: budget_count(len(values), budget)]).tolist()) for budget in budgets)
