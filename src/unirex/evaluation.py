"""Evaluation: one record per example first, averages after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path

from unirex.batch import Batch, Encoded
from unirex.data.example import Example, Label
from unirex.encode import warn_cut
from unirex.errors import UserError
from unirex.extractors.heuristic import Random
from unirex.files import new_folder, replace_file, write_file
from unirex.progress import Progress
from unirex.records import Record, as_jsonl, as_line, batch_records
from unirex.report.table import table
from unirex.settings import check_budgets
from unirex.streaming import EVALUATED, Advance
from unirex.system import System
from unirex.tally import Tally, aggregate

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

Pair = tuple[Record, Record | None]  # of the system, and of random scores under the same classifier


@dataclass(frozen=True)
class Summary:
    """What an evaluation comes to: the metrics of the system and, beside it, of random scores."""

    rows: dict[str, dict[str, float]]
    count: int  # texts

    def table(self) -> str:
        """The three desiderata as text."""
        shown = [name for name in COLUMNS if any(name in row for row in self.rows.values())]
        return table(self.rows, columns=shown)

    def save(self, folder: Path) -> None:
        """Write `metrics.json`, whole or not at all."""
        write_file(folder / "metrics.json", json.dumps(self.rows, indent=2) + "\n")


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
        return rows(self.name, self.metrics, aggregate(self.floor, self.labels) if self.floor else None)

    def table(self) -> str:
        """The three desiderata as text."""
        return Summary(self.rows, len(self.records)).table()

    def save(self, folder: Path) -> None:
        """Write `records.jsonl`, `random_records.jsonl` and `metrics.json`, each whole or not at all."""
        write_file(folder / "records.jsonl", as_jsonl(self.records))
        if self.floor:
            write_file(folder / "random_records.jsonl", as_jsonl(self.floor))
        Summary(self.rows, len(self.records)).save(folder)


def rows(name: str, system: dict[str, float], floor: dict[str, float] | None) -> dict[str, dict[str, float]]:
    """The rows of a table: the system's, and the floor's if there is one."""
    return {name: system} | ({} if floor is None else {f"{name}: {FLOOR}": floor})


def evaluate(
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    floor: bool = True,
    name: str | None = None,
    batch_size: int = EVALUATED,
    progress: bool = False,
) -> Results:
    """Score a system on labelled examples; beside it a floor of random scores under the same classifier.

    All records are in memory after; for files of any size see `evaluate_to`, or `evaluated`.

    Args:
        system: what is scored.
        examples: with labels; those with a gold rationale count for plausibility.
        budgets: other than the system's own, in per cent.
        removal: how tokens are taken out, if not as the system says.
        floor: evaluate random scores too.
        name: of the row in tables.
        batch_size: texts at once.
        progress: say how far it is, on standard error.
    """
    total = len(examples) if isinstance(examples, Sized) else None
    with Progress("evaluating", total=total, shown=progress) as shown:
        pairs = list(
            evaluated(
                system,
                examples,
                budgets=budgets,
                removal=removal,
                floor=floor,
                batch_size=batch_size,
                advance=shown.advance,
            )
        )
    return Results(
        name=name or system.name,
        labels=system.labels,
        records=tuple(record for record, _ in pairs),
        floor=tuple(chance for _, chance in pairs if chance is not None),
    )


def evaluate_to(
    folder: Path,
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    batch_size: int = EVALUATED,
    advance: Advance | None = None,
) -> Summary:
    """Evaluate a stream of any length into `records.jsonl`, `random_records.jsonl` and `metrics.json`.

    The records are written and counted as they come, so memory stays flat; the files appear when they are
    complete, and a mistake in the examples leaves nothing behind.
    """
    pairs = evaluated(
        system, examples, budgets=budgets, removal=removal, batch_size=batch_size, advance=advance
    )
    tallies = Tally(system.labels), Tally(system.labels)

    def write(*drafts: Path) -> None:
        with drafts[0].open("w", encoding="utf-8") as own, drafts[1].open("w", encoding="utf-8") as chance:
            for pair in pairs:
                for record, tally, file in zip(pair, tallies, (own, chance), strict=True):
                    if record is not None:
                        tally.add(record)
                        file.write(as_line(record))

    with new_folder(folder):
        replace_file(
            folder / "records.jsonl",
            lambda own: replace_file(folder / "random_records.jsonl", lambda chance: write(own, chance)),
        )
    summary = Summary(rows(system.name, *(tally.metrics() for tally in tallies)), tallies[0].count)
    summary.save(folder)
    return summary


def evaluated(
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    floor: bool = True,
    batch_size: int = EVALUATED,
    advance: Advance | None = None,
) -> Iterator[Pair]:
    """The records of each example, in the order of the examples, one window of them in memory at a time."""
    if budgets is not None:
        check_budgets(budgets)
    chosen = removal or system.model.config.eval_removal

    def answer(some: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterable[Pair]:
        step = system.model.step(batch, budgets=budgets, removal=chosen)
        records = batch_records(step, some, encoded, system.answers)
        if not floor:
            return ((record, None) for record in records)
        chance = batch_records(replace(step, extractor=Random(None)), some, encoded, system.answers)
        return zip(records, chance, strict=True)

    pairs = system.stream(labelled(examples), answer, batch_size=batch_size, advance=advance)
    return told_truncation(pairs, system)


def labelled(examples: Iterable[Example]) -> Iterator[Example]:
    """Evaluation needs examples, and each a label."""
    example = None
    for example in examples:
        if example.label is None:
            raise UserError(f"example {example.id} has no label; evaluation needs one.")
        yield example
    if example is None:
        raise UserError("there are no examples to evaluate on.")


def told_truncation(pairs: Iterable[Pair], system: System) -> Iterator[Pair]:
    """The records as they come; after the last, a warning if texts were cut."""
    config, texts, cut, tokens = system.model.config, 0, 0, 0
    for pair in pairs:
        texts, cut, tokens = texts + 1, cut + bool(pair[0].truncated), tokens + pair[0].truncated
        yield pair
    warn_cut(cut, texts, tokens, config.max_length, windows=config.truncation == "windows")
