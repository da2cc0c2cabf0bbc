"""Evaluation: one record per example first, averages after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from unirex.batch import Batch, Encoded
from unirex.data.example import Example, Label
from unirex.encode import warn_cut
from unirex.errors import UserError, unknown
from unirex.files import new_folder, replace_file
from unirex.perturb import REMOVALS, Perturber
from unirex.probing import check_probes
from unirex.progress import Progress
from unirex.record_files import FORMATS, NAME, Write, write_records, writing
from unirex.recording import Protocol, batch_records, costed
from unirex.records import Record
from unirex.settings import check_budgets
from unirex.streaming import EVALUATED, Advance
from unirex.summary import Summary
from unirex.system import System

DRAWS = 5  # of random scores: SPEC D10
HELD_OUT = ("mask_token", "pad_token", "delete", "attention_mask")  # the first that training did not see


@dataclass(frozen=True)
class Results:
    """The records of a system and what they come to."""

    name: str
    labels: tuple[Label, ...]
    records: tuple[Record, ...]

    @cached_property
    def summary(self) -> Summary:
        """All metrics, with those of random scores beside them."""
        return Summary.of(self.name, self.records, self.labels)

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


def evaluate(
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    beside: Sequence[str] | None = None,
    draws: int = DRAWS,
    probes: Sequence[str] = (),
    target: str = "predicted",
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
        removal: how tokens are taken out for the main metrics, if not as the system says.
        beside: further ways of taking them out; by default the one training used and one it never saw.
        draws: how often random scores are drawn; 0 for none.
        probes: further edits, for further metrics: `curves`, `leave-one-out`, `naopc`, `soft`, `empty`.
        target: whose probability is followed: of the `predicted` label, or of the `gold` one.
        name: of the row in tables.
        batch_size: texts at once.
        progress: say how far it is, on standard error.
    """
    total = len(examples) if isinstance(examples, Sized) else None
    with Progress("evaluating", total=total, shown=progress) as shown:
        records = evaluated(
            system,
            examples,
            budgets=budgets,
            removal=removal,
            beside=beside,
            draws=draws,
            probes=probes,
            target=target,
            batch_size=batch_size,
            advance=shown.advance,
        )
        return Results(name or system.name, system.labels, tuple(records))


def evaluate_to(
    folder: Path,
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
    formats: Sequence[str] = FORMATS,
    advance: Advance | None = None,
) -> Summary:
    """Evaluate a stream of any length into `records.jsonl`, `records.parquet` and `metrics.json`.

    The records are written and counted as they come, so only their values stay in memory; the files appear
    when they are complete, and a mistake in the examples leaves nothing behind.
    """
    for ending in formats:
        if ending not in FORMATS:
            raise unknown("format of records", ending, FORMATS)
    records = evaluated(
        system,
        examples,
        budgets=budgets,
        removal=removal,
        beside=beside,
        draws=draws,
        probes=probes,
        target=target,
        batch_size=batch_size,
        advance=advance,
    )
    summary = Summary(system.name, system.labels, facts=facts(system))
    with new_folder(folder):
        record_to([folder / f"{NAME}.{ending}" for ending in formats], records, summary)
        summary.save(folder)
    return summary


def record_to(paths: Sequence[Path], records: Iterable[Record], summary: Summary) -> None:
    """Every record to every file and into the summary; the files appear together, at the end."""

    def fill(drafts: list[Path]) -> None:
        if len(drafts) < len(paths):
            replace_file(paths[len(drafts)], lambda draft: fill([*drafts, draft]))
            return
        with ExitStack() as stack:
            writers: list[Write] = [stack.enter_context(writing(draft)) for draft in drafts]
            for record in records:
                summary.add(record)
                for write in writers:
                    write(record)

    fill([])


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
    """The record of each example, in the order of the examples, one window of them in memory at a time."""
    chosen = removal or system.model.config.eval_removal
    protocol = checked_protocol(system, chosen, beside=beside, draws=draws, probes=probes)
    if budgets is not None:
        check_budgets(budgets)
    if target not in ("predicted", "gold"):
        raise unknown("target", target, ("predicted", "gold"))

    def answer(some: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Record]:
        followed = batch.labels if target == "gold" else None
        with costed(system.model.task.encoder) as cost:
            step = system.model.step(batch, target=followed, budgets=budgets, removal=chosen)
            step.scores  # noqa: B018  (computed when asked for; what follows is the price of measuring)
        return batch_records(step, some, encoded, system.answers, protocol=protocol, cost=cost)

    records = system.stream(labelled(examples), answer, batch_size=batch_size, advance=advance)
    return told_truncation(records, system)


def checked_protocol(
    system: System, chosen: str, *, beside: Sequence[str] | None, draws: int, probes: Sequence[str]
) -> Protocol:
    """What is looked at beside the main metrics; a name nobody knows is a mistake."""
    if draws < 0:
        raise UserError(f"draws {draws}: give how often random scores are drawn, 0 or more.")
    check_probes(probes)
    trained = system.model.config.removal if system.model.objectives.views() else None
    others = held_out(system, chosen, trained) if beside is None else beside
    perturbers = [system.model.perturber(name) for name in dict.fromkeys(others) if name != chosen]
    return Protocol(perturbers, draws, tuple(probes), trained)


def held_out(system: System, chosen: str, trained: str | None) -> list[str]:
    """The way of removing tokens that training used, and one that neither it nor the main metrics use.

    Faithfulness can be learnt for one way of removing tokens alone (SPEC part D, Goodhart).
    """
    known = [name for name in HELD_OUT if name not in (chosen, trained) and _possible(system, name)]
    return [*([trained] if trained else []), *known[:1]]


def _possible(system: System, removal: str) -> bool:
    try:
        perturber = system.model.perturber(removal)
    except UserError:  # no mask token
        return False
    return isinstance(perturber, Perturber) and removal in REMOVALS


def facts(system: System) -> dict[str, object]:
    """What is the same for every text."""
    model = system.model
    return {
        "parameters": sum(one.numel() for one in model.parameters()),
        "encoder": getattr(model.config.encoder, "_name_or_path", "") or model.config.encoder.model_type,
        "extractor": model.config.extractor,
        "extractor_options": dict(model.config.extractor_options or {}),
    }


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
