"""Evaluation: one record per example first, averages after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from unirex.batch import Batch, Encoded, Tokens
from unirex.data.example import Example, Label
from unirex.encode import warn_truncated
from unirex.errors import UserError
from unirex.extractors.heuristic import Random
from unirex.files import write_file
from unirex.metrics import faithfulness, performance, plausibility
from unirex.report.table import table
from unirex.settings import check_budgets
from unirex.step import Step
from unirex.system import System, evaluating

FLOOR = "random scores"
COLUMNS = (
    "accuracy",
    "comprehensiveness",
    "sufficiency",
    "csd",
    "auprc",
    "token_f1_macro2",
    "token_f1",
)  # the three desiderata at a glance; `Results.metrics` has the rest


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


@dataclass(frozen=True)
class Results:
    """The records of a system, of the random floor, and what they come to."""

    name: str
    labels: tuple[Label, ...]
    records: tuple[Record, ...]
    floor: tuple[Record, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric of the system by name."""
        return aggregate(self.records, self.labels)

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """The metrics of the system and of random scores under the same classifier."""
        rows = {self.name: self.metrics}
        return rows | {f"{self.name}: {FLOOR}": aggregate(self.floor, self.labels)} if self.floor else rows

    def table(self) -> str:
        """The three desiderata as text."""
        rows = self.rows
        return table(rows, columns=[name for name in COLUMNS if any(name in row for row in rows.values())])

    def save(self, folder: Path) -> None:
        """Write `records.jsonl`, `random_records.jsonl` and `metrics.json`, each whole or not at all."""
        write_file(folder / "records.jsonl", as_jsonl(self.records))
        if self.floor:
            write_file(folder / "random_records.jsonl", as_jsonl(self.floor))
        write_file(folder / "metrics.json", json.dumps(self.rows, indent=2) + "\n")


def evaluate(
    system: System,
    examples: Sequence[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    floor: bool = True,
    name: str | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> Results:
    """Score a system on labelled examples; beside it a floor of random scores under the same classifier.

    Args:
        system: what is scored.
        examples: with labels; those with a gold rationale count for plausibility.
        budgets: other than the system's own, in per cent.
        removal: how tokens are taken out, if not as the system says.
        floor: evaluate random scores too.
        name: of the row in tables.
        batch_size: texts at once.
        progress: show a progress bar.
    """
    check_evaluable(system, examples)
    if budgets is not None:
        check_budgets(budgets)
    if batch_size < 1:
        raise UserError(f"batch_size {batch_size}: must be at least 1.")
    records: dict[int, Record] = {}
    floors: dict[int, Record] = {}
    chosen = removal or system.model.config.eval_removal
    batches = system.batches(examples, batch_size=batch_size)
    for numbers, encoded, batch in shown(batches, len(examples), progress):
        with evaluating(system.model):
            step = system.model.step(batch, budgets=budgets, removal=chosen)
            some = [examples[number] for number in numbers]
            records.update(zip(numbers, batch_records(step, some, encoded, system.answers), strict=True))
            if floor:
                chance = replace(step, extractor=Random(None))
                floors.update(zip(numbers, batch_records(chance, some, encoded, system.answers), strict=True))
    config = system.model.config
    cut = [record.truncated for record in records.values()]
    warn_truncated(cut, config.max_length, windows=config.truncation == "windows")
    return Results(
        name=name or system.name,
        labels=system.labels,
        records=tuple(records[number] for number in sorted(records)),
        floor=tuple(floors[number] for number in sorted(floors)),
    )


def check_evaluable(system: System, examples: Sequence[Example]) -> None:
    """Evaluation needs examples, and each a label."""
    if not examples:
        raise UserError("there are no examples to evaluate on.")
    for example in examples:
        if example.label is None:
            raise UserError(f"example {example.id} has no label; evaluation needs one.")


def batch_records(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    answers: Callable[[int], Sequence[Label]],
) -> list[Record]:
    """One record per example of the batch; `answers` says what so many logits stand for."""
    probabilities = step.full.logits.softmax(-1).tolist()
    removed, kept = (
        target_probability(step.dropped_logits, step.target),
        target_probability(step.kept_logits, step.target),
    )
    scored = batch_scores(step, [tokens for one in encoded for tokens in one.sequences])
    found = []
    for row, (example, one) in enumerate(zip(examples, encoded, strict=True)):
        labels = answers(len(one.sequences))
        found.append(
            Record(
                id=example.id,
                segments=example.segments,
                label=example.label,
                predicted=labels[int(step.target[row])],
                probabilities=tuple(probabilities[row][: len(labels)]),
                sequences=tuple(next(scored) for _ in one.sequences),
                budgets=tuple(step.budgets),
                removed=tuple(values[row] for values in removed),
                kept=tuple(values[row] for values in kept),
                removal=step.perturber.removal,
                truncated=one.truncated,
                choices=example.choices,
            )
        )
    return found


def batch_scores(step: Step, sequences: Sequence[Tokens]) -> Iterator[Scored]:
    """What was thought of the selectable tokens of every sequence of the batch."""
    scores, masks = step.scores.tolist(), step.masks.tolist()
    for row, tokens in enumerate(sequences):
        places = tokens.selectable.nonzero()[0].tolist()
        gold = tokens.rationale
        yield Scored(
            tokens=tuple(map(tuple, tokens.spans[places].tolist())),
            scores=tuple(scores[row][place] for place in places),
            gold=None if gold is None else tuple(gold[places].tolist()),
            selected=tuple(
                tuple(number for number, place in enumerate(places) if mask[row][place]) for mask in masks
            ),
        )


def target_probability(logits: Tensor, target: Tensor) -> list[list[float]]:
    """p(target) for every view: [K, B, C] to K lists of B."""
    chosen = target.expand(logits.shape[:-1])[..., None]
    return logits.softmax(-1).gather(-1, chosen).squeeze(-1).tolist()


def aggregate(records: Sequence[Record], labels: Sequence[Label]) -> dict[str, float]:
    """Every metric by name; means are over examples, never over batches."""
    return task_metrics(records, labels) | faithfulness_metrics(records) | plausibility_metrics(records)


def task_metrics(records: Sequence[Record], labels: Sequence[Label]) -> dict[str, float]:
    """How often the label is right."""
    predicted, gold = [r.predicted for r in records], [r.label for r in records]
    found = {
        "accuracy": performance.accuracy(predicted, gold),
        "macro_f1": performance.macro_f1(predicted, gold, labels=labels),
    }
    if len(labels) == 2:
        found["binary_f1"] = performance.binary_f1(predicted, gold, labels=labels)
    return found


def faithfulness_metrics(records: Sequence[Record]) -> dict[str, float]:
    """Whether the rationales are what the prediction rests on; per budget and over all."""
    full = np.array([record.full for record in records])  # [N]
    comp = faithfulness.comprehensiveness(full, np.array([r.removed for r in records]).T)  # [K, N]
    suff = faithfulness.sufficiency(full, np.array([r.kept for r in records]).T)
    found = {}
    for suffix, divisor in (("", "k_plus_1"), ("_mean", "mean")):
        for name, values in (
            ("comprehensiveness", comp),
            ("sufficiency", suff),
            ("csd", faithfulness.csd(comp, suff)),
        ):
            found[name + suffix] = float(faithfulness.aopc(values, divisor=divisor).mean())  # type: ignore[arg-type]
    for index, budget in enumerate(records[0].budgets):
        found[f"comprehensiveness@{budget:g}"] = float(comp[index].mean())
        found[f"sufficiency@{budget:g}"] = float(suff[index].mean())
    return found


def plausibility_metrics(records: Sequence[Record]) -> dict[str, float]:
    """Whether the rationales are what a person marked; only over texts somebody marked something in.

    Paper: counts [CLS] and [SEP] as unmarked tokens too; here only tokens that can be selected count.
    """
    marked = [[one for one in record.sequences if one.gold and any(one.gold)] for record in records]
    marked = [sequences for sequences in marked if sequences]
    if not marked:
        return {}

    def average(metric: Callable[[Any, Any], float], predicted: Callable[[Scored], Any]) -> float:
        """Over the sequences of an example, then over examples."""
        return mean(
            mean(metric(predicted(one), np.array(one.gold, dtype=bool)) for one in sequences)
            for sequences in marked
        )

    found = {
        "auprc": average(plausibility.auprc, lambda one: np.array(one.scores)),
        "token_f1_macro2": average(plausibility.token_f1_macro2, lambda one: np.array(one.scores) > 0),
        "token_f1": average(plausibility.token_f1, lambda one: np.array(one.scores) > 0),
    }
    for index, budget in enumerate(records[0].budgets):
        found[f"token_f1@{budget:g}"] = average(
            plausibility.token_f1,
            lambda one, index=index: np.isin(np.arange(len(one.scores)), one.selected[index]),  # type: ignore[misc]
        )
    return found


def mean(values: Iterable[float]) -> float:
    """The plain average."""
    return float(np.mean(list(values)))


def as_jsonl(records: Iterable[Record]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def read_records(path: Path) -> list[Record]:
    """Records written by `Results.save`."""
    return [record_from(json.loads(line)) for line in path.read_text("utf-8").split("\n") if line]


def record_from(plain: Mapping[str, Any]) -> Record:
    """A record from its JSON form."""

    def frozen(value: Any) -> Any:
        return tuple(frozen(one) for one in value) if isinstance(value, list) else value

    values = {name: frozen(value) for name, value in plain.items() if name != "sequences"}
    sequences = tuple(
        Scored(**{name: frozen(value) for name, value in one.items()}) for one in plain["sequences"]
    )
    return Record(sequences=sequences, **values)


def shown(
    batches: Iterable[tuple[list[int], list[Encoded], Batch]], total: int, progress: bool
) -> Iterator[tuple[list[int], list[Encoded], Batch]]:
    """The batches, with a progress bar on a terminal."""
    if not progress:
        yield from batches
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("evaluating", total=total)
        for numbers, encoded, batch in batches:
            yield numbers, encoded, batch
            bar.advance(task, len(numbers))
