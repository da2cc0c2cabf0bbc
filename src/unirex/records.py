"""What evaluation saw of each example, and the file it is kept in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from unirex.batch import Encoded, Tokens
from unirex.data.example import Example, Label
from unirex.step import Step


@dataclass(frozen=True, slots=True)
class Scored:
    """One sequence's tokens and what was thought of them."""

    tokens: tuple[tuple[int, int, int], ...]  # segment, start, end of every selectable token
    scores: tuple[float, ...]
    gold: tuple[bool, ...] | None
    selected: tuple[tuple[int, ...], ...]  # per budget: numbers of the selected tokens


@dataclass(frozen=True, slots=True)
class Record:
    """All that evaluation saw of one example: every metric can be computed again from it."""

    id: str
    segments: tuple[str, ...]
    label: Label | None
    predicted: Label
    probabilities: tuple[float, ...]  # in label order
    sequences: tuple[Scored, ...]  # one, or one for each choice
    budgets: tuple[float, ...]
    removed: tuple[float, ...]  # per budget: p(predicted) without the rationale
    kept: tuple[float, ...]  # per budget: p(predicted) from the rationale alone
    removal: str
    truncated: int = 0
    choices: tuple[str, ...] | None = None

    @property
    def full(self) -> float:
        """p(predicted) from the whole text."""
        return max(self.probabilities)


NAMES = tuple(field.name for field in fields(Record))
SCORED_NAMES = tuple(field.name for field in fields(Scored))


def batch_records(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    answers: Callable[[int], Sequence[Label]],
) -> list[Record]:
    """One record per example of the batch; `answers` says what so many logits stand for."""
    probabilities, targets = step.full.logits.float().softmax(-1).tolist(), step.target.tolist()
    removed = target_probability(step.dropped_logits, step.target)
    kept = target_probability(step.kept_logits, step.target)
    scored = batch_scores(step, [tokens for one in encoded for tokens in one.sequences])
    found = []
    for row, (example, one) in enumerate(zip(examples, encoded, strict=True)):
        labels = answers(len(one.sequences))
        found.append(
            Record(
                id=example.id,
                segments=example.segments,
                label=example.label,
                predicted=labels[targets[row]],
                probabilities=tuple(probabilities[row][: len(labels)]),
                sequences=tuple(next(scored) for _ in one.sequences),
                budgets=tuple(step.budgets),
                removed=removed[row],
                kept=kept[row],
                removal=step.perturber.removal,
                truncated=one.truncated,
                choices=example.choices,
            )
        )
    return found


def batch_scores(step: Step, sequences: Sequence[Tokens]) -> Iterator[Scored]:
    """What was thought of the selectable tokens of every sequence of the batch."""
    scores = step.scores.double().cpu().numpy()  # [D, T]
    masks = step.masks.cpu().numpy()  # [K, D, T]
    for row, tokens in enumerate(sequences):
        places = tokens.selectable.nonzero()[0]
        gold = tokens.rationale
        yield Scored(
            tokens=tuple(map(tuple, tokens.spans[places].tolist())),
            scores=tuple(scores[row, places].tolist()),
            gold=None if gold is None else tuple(gold[places].tolist()),
            selected=tuple(tuple(mask.nonzero()[0].tolist()) for mask in masks[:, row, places]),
        )


def target_probability(logits: Tensor, target: Tensor) -> list[tuple[float, ...]]:
    """p(target) for every view: [K, B, C] to B tuples of K."""
    chosen = target.expand(logits.shape[:-1])[..., None]
    return list(map(tuple, logits.float().softmax(-1).gather(-1, chosen).squeeze(-1).T.tolist()))


def as_line(record: Record) -> str:
    """The record as a line of JSON."""
    # By hand, as `asdict` copies every number of every tuple.
    plain = {name: getattr(record, name) for name in NAMES}
    plain["sequences"] = [{name: getattr(one, name) for name in SCORED_NAMES} for one in record.sequences]
    return json.dumps(plain, ensure_ascii=False) + "\n"


def as_jsonl(records: Iterable[Record]) -> str:
    """One JSON object a line."""
    return "".join(map(as_line, records))


def read_records(path: Path) -> list[Record]:
    """The records of a file."""
    with path.open(encoding="utf-8", newline="\n") as file:  # texts may hold other ends of lines
        return [record_from(json.loads(line)) for line in file]


def record_from(plain: Mapping[str, Any]) -> Record:
    """A record from its JSON form."""

    def frozen(value: Any) -> Any:
        return tuple(frozen(one) for one in value) if isinstance(value, list) else value

    values = {name: frozen(value) for name, value in plain.items() if name != "sequences"}
    sequences = tuple(
        Scored(**{name: frozen(value) for name, value in one.items()}) for one in plain["sequences"]
    )
    return Record(sequences=sequences, **values)
