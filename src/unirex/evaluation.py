"""Evaluation: one record per example first, averages after."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypedDict, Unpack

import torch

from unirex.batch import Batch, Encoded
from unirex.data.example import Example, Label
from unirex.encode import warn_cut
from unirex.errors import UserError, unknown
from unirex.files import replace_file
from unirex.progress import Progress
from unirex.protocol import checked_protocol
from unirex.record_files import FORMATS, NAME, write_records
from unirex.recording import batch_records, costed
from unirex.records import Record
from unirex.saving import save_stream
from unirex.settings import check_budgets
from unirex.streaming import EVALUATED, Advance
from unirex.summary import Summary
from unirex.system import System

DRAWS = 5  # of random scores: SPEC D10


@dataclass(frozen=True)
class Results:
    """The records of a system and what they come to."""

    name: str
    labels: tuple[Label, ...]
    records: tuple[Record, ...]
    facts: Mapping[str, object] = field(default_factory=dict)  # of the system and its run

    @cached_property
    def summary(self) -> Summary:
        """All metrics, with those of random scores beside them."""
        summary = Summary.of(self.name, self.records, self.labels)
        summary.facts = self.facts
        return summary

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric of the system by name."""
        return self.summary.metrics

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """The metrics of the system and of random scores under the same classifier."""
        return self.summary.rows

    @property
    def floor(self) -> tuple[tuple[Record, ...], ...]:
        """The records of random scores, one tuple a draw."""
        draws = len(self.records[0].draws) if self.records else 0
        return tuple(tuple(record.drawn(number) for record in self.records) for number in range(draws))

    def table(self) -> str:
        """The three desiderata as text."""
        return self.summary.table()

    def save(self, folder: Path) -> None:
        """Write `records.jsonl`, `records.parquet` and `metrics.json`, each whole or not at all."""
        for ending in FORMATS:
            replace_file(folder / f"{NAME}.{ending}", lambda draft: write_records(draft, self.records))
        self.summary.save(folder)


class Options(TypedDict, total=False):
    """How a system is looked at; see `evaluated`."""

    budgets: Sequence[float] | None
    removal: str | None
    beside: Sequence[str] | None
    draws: int
    probes: Sequence[str]
    target: str
    batch_size: int


def evaluate(
    system: System,
    examples: Iterable[Example],
    *,
    name: str | None = None,
    progress: bool = False,
    **options: Unpack[Options],
) -> Results:
    """Score a system on labelled examples; beside it a floor of random scores under the same classifier.

    All records are in memory after; for files of any size see `evaluate_to`, or `evaluated`.

    Args:
        system: what is scored.
        examples: with labels; those with a gold rationale count for plausibility.
        name: of the row in tables.
        progress: say how far it is, on standard error.
        options: those of `evaluated`: budgets, removal, beside, draws, probes, target, batch_size.
    """
    total = len(examples) if isinstance(examples, Sized) else None
    with Progress("evaluating", total=total, shown=progress) as shown:
        records = tuple(evaluated(system, examples, advance=shown.advance, **options))
    return Results(name or system.name, system.labels, records, facts(system))


def evaluate_to(
    folder: Path,
    system: System,
    examples: Iterable[Example],
    *,
    formats: Sequence[str] = FORMATS,
    about: Mapping[str, object] | None = None,
    advance: Advance | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Evaluate a stream of any length into `records.jsonl`, `records.parquet` and `metrics.json`.

    The records are written and counted as they come, so only their values stay in memory; the files appear
    when they are complete, and a mistake in the examples leaves nothing behind. `about` is kept with the
    settings in `metrics.json`. Options as in `evaluated`.
    """
    records = evaluated(system, examples, advance=advance, **options)
    summary = Summary(system.name, system.labels)
    save_stream(folder, records, summary, formats=formats, told=lambda: {**facts(system), **(about or {})})
    return summary


def evaluated(
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    beside: Sequence[str] | None = None,
    draws: int = DRAWS,
    probes: Sequence[str] = (),
    target: str = "predicted",
    batch_size: int = EVALUATED,
    advance: Advance | None = None,
) -> Iterator[Record]:
    """The record of each example, in the order of the examples, one window of them in memory at a time.

    Args:
        system: what is scored.
        examples: with labels; those with a gold rationale count for plausibility.
        budgets: other than the system's own, in per cent.
        removal: how tokens are taken out for the main metrics, if not as the system says.
        beside: further ways of taking them out; by default the one training used and one it never saw.
        draws: how often random scores are drawn; 0 for none.
        probes: further edits, for further metrics: `curves`, `leave-one-out`, `naopc`, `soft`, `empty`.
        target: whose probability is followed: of the `predicted` label, or of the `gold` one.
        batch_size: texts at once.
        advance: hears how many more are done.
    """
    chosen = removal or system.model.evaluated_removal
    protocol = checked_protocol(system, chosen, beside=beside, draws=draws, probes=probes)
    if budgets is not None:
        check_budgets(budgets)
        system.check_budgets(budgets)
    if target not in ("predicted", "gold"):
        raise unknown("target", target, ("predicted", "gold"))

    def answer(some: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Record]:
        followed = batch.labels if target == "gold" else None
        with costed(system.model) as cost:
            step = system.model.step(batch, target=followed, budgets=budgets, removal=chosen)
            step.scores  # noqa: B018  (computed when asked for; what follows is the price of measuring)
        return batch_records(step, some, encoded, system.answers, protocol=protocol, cost=cost)

    records = system.stream(labelled(examples), answer, batch_size=batch_size, advance=advance)
    return told_truncation(records, system)


def facts(system: System) -> dict[str, object]:
    """What is the same for every text, and the most memory that was needed so far."""
    model = system.model
    return {
        "parameters": sum(one.numel() for one in model.parameters()),
        "encoder": getattr(model.config.encoder, "_name_or_path", "") or model.config.encoder.model_type,
        "extractor": model.config.extractor,
        "extractor_options": dict(model.config.extractor_options or {}),
        "peak_memory_bytes": peak_memory(model.device),
    }


def peak_memory(device: torch.device) -> int:
    """The most memory had at once, in bytes: on a GPU the tensors there, else the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    import resource  # not on Windows

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def labelled(examples: Iterable[Example]) -> Iterator[Example]:
    """Evaluation needs examples, and each a label."""
    example = None
    for example in examples:
        if example.label is None:
            raise UserError(f"example {example.id} has no label; evaluation needs one.")
        yield example
    if example is None:
        raise UserError("there are no examples to evaluate on.")


def told_truncation(records: Iterable[Record], system: System) -> Iterator[Record]:
    """The records as they come; after the last, a warning if texts were cut."""
    config, texts, cut, tokens = system.model.config, 0, 0, 0
    for record in records:
        texts, cut, tokens = texts + 1, cut + bool(record.truncated), tokens + record.truncated
        yield record
    warn_cut(cut, texts, tokens, config.max_length, windows=config.truncation == "windows")
