"""Evaluate a system: one record per example, then averages; in memory or streamed into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

from unirex.config import EVALUATION_BATCH_SIZE, RANDOM_DRAWS, TARGETS, check_budgets
from unirex.data.example import Example, Label
from unirex.data.formats.objects import examples_of
from unirex.encoding.batch import Batch, Encoded
from unirex.encoding.encode import warn_cut
from unirex.errors import UserError, unknown
from unirex.evaluation.probes import check_probes
from unirex.evaluation.record_files import FORMATS, NAME, WriteRecord, write_records, writing
from unirex.evaluation.recording import EvaluationProtocol, batch_records, measured_cost
from unirex.evaluation.records import Record
from unirex.evaluation.summary import Summary
from unirex.files import Advance, Progress, new_folder, replace_file
from unirex.models.plan import peak_memory
from unirex.registry import late
from unirex.report import notebook
from unirex.system import System

HELD_OUT = ("mask_token", "pad_token", "delete", "attention_mask")  # the first that training did not see


@dataclass(frozen=True)
class Results:
    """The records of a system and the metrics computed from them."""

    name: str
    labels: tuple[Label, ...]
    records: tuple[Record, ...]
    facts: Mapping[str, object] = field(default_factory=dict)  # of the system and its run

    def __repr__(self) -> str:
        return f"<Results of {self.name} on {len(self.records)} texts>"

    def _repr_html_(self) -> str:
        return notebook.tables(self.summary.grids())

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
    def confusion(self) -> list[list[int]] | None:
        """Texts by gold label (row) and predicted label (column), in the order of `labels`; see `Summary`."""
        return self.summary.confusion

    @property
    def floor(self) -> tuple[tuple[Record, ...], ...]:
        """The records of random scores, one tuple per draw."""
        draws = len(self.records[0].draws) if self.records else 0
        return tuple(tuple(record.drawn(number) for record in self.records) for number in range(draws))

    def table(self, columns: Sequence[str] = ()) -> str:
        """The three desiderata as text; `columns` are shown beside the performance if not the usual ones."""
        return self.summary.table(columns)

    def plot(self, kind: str = "curves") -> Any:
        """A matplotlib figure: `curves`, `calibration`, `classes` or `lengths`."""
        return late("unirex.comparison:compare")({self.name: self}).plot(kind)

    def save(self, folder: Path) -> None:
        """Write `records.jsonl`, `records.parquet` and `metrics.json`, each whole or not at all."""
        for ending in FORMATS:
            replace_file(folder / f"{NAME}.{ending}", lambda draft: write_records(draft, self.records))
        self.summary.save(folder)


class EvaluationOptions(TypedDict, total=False):
    """How a system is evaluated; see `evaluated`."""

    budgets: Sequence[float] | None
    removal: str | None
    beside: Sequence[str] | None
    draws: int
    probes: Sequence[str]
    target: str
    batch_size: int


def evaluate(
    system: System,
    examples: Any,
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: bool = False,
    **options: Unpack[EvaluationOptions],
) -> Results:
    """Score a system on labelled examples, beside a floor of random scores under the same classifier.

    All records are kept in memory; for files of any size see `evaluate_to`, or `evaluated`.

    Args:
        system: the system to score.
        examples: with labels, as `Example`s, or as a frame, a dataset or rows; those with a gold rationale
            count for plausibility.
        name: of the row in tables.
        columns: names of the columns of a frame, a dataset or rows: `{"text": "review"}`.
        progress: show progress on standard error, or in the notebook.
        options: those of `evaluated`: budgets, removal, beside, draws, probes, target, batch_size.
    """
    examples = examples_of(examples, columns)
    total = len(examples) if isinstance(examples, Sized) else None
    with Progress("evaluating", total=total, shown=progress) as shown:
        records = tuple(evaluated(system, examples, advance=shown.advance, **options))
    return Results(name or system.name, system.labels, records, system_facts(system))


def evaluate_to(
    folder: Path,
    system: System,
    examples: Iterable[Example],
    *,
    formats: Sequence[str] = FORMATS,
    about: Mapping[str, object] | None = None,
    advance: Advance | None = None,
    **options: Unpack[EvaluationOptions],
) -> Summary:
    """Evaluate a stream of any length into `records.jsonl`, `records.parquet` and `metrics.json`.

    The records are written and counted as they come, so only their values stay in memory; the files appear
    when they are complete, and an error in the examples leaves nothing behind. `about` is kept with the
    settings in `metrics.json`. Options as in `evaluated`.
    """
    records = evaluated(system, examples, advance=advance, **options)
    summary = Summary(system.name, system.labels)
    # The facts include peak memory, so they are taken when all records are written.
    save_stream(
        folder, records, summary, formats=formats, facts=lambda: {**system_facts(system), **(about or {})}
    )
    return summary


def evaluated(
    system: System,
    examples: Iterable[Example],
    *,
    budgets: Sequence[float] | None = None,
    removal: str | None = None,
    beside: Sequence[str] | None = None,
    draws: int = RANDOM_DRAWS,
    probes: Sequence[str] = (),
    target: str = "predicted",
    batch_size: int = EVALUATION_BATCH_SIZE,
    advance: Advance | None = None,
) -> Iterator[Record]:
    """The record of each example, in the order of the examples, one window of them in memory at a time.

    Args:
        system: the system to score.
        examples: with labels; those with a gold rationale count for plausibility.
        budgets: other than the system's own, in per cent.
        removal: how tokens are removed for the main metrics, if not as the system says.
        beside: further ways of removing them; by default the one training used and one it never saw.
        draws: how often random scores are drawn; 0 for none.
        probes: further edits, for further metrics: `curves`, `leave-one-out`, `naopc`, `soft`, `empty`.
        target: whose probability is followed: of the `predicted` label, or of the `gold` one.
        batch_size: texts at once.
        advance: progress callback: number of examples just finished.
    """
    main_removal = removal or system.model.evaluated_removal
    protocol = checked_protocol(system, main_removal, beside=beside, draws=draws, probes=probes)
    if budgets is not None:
        check_budgets(budgets)
        system.check_budgets(budgets)
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    if target == "gold" and system.multi_label:
        raise UserError("target gold: a text may have several gold labels or none; follow the predicted one.")

    def answer(window: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Record]:
        followed = batch.labels if target == "gold" else None
        with measured_cost(system.model) as cost:
            step = system.model.step(batch, target=followed, budgets=budgets, removal=main_removal)
            step.scores  # noqa: B018  (computed on access; all that follows is the price of measuring)
        return batch_records(step, window, encoded, system.label_names, protocol=protocol, cost=cost)

    records = system.stream(labelled(examples), answer, batch_size=batch_size, advance=advance)
    return _warning_of_cuts(records, system)


def labelled(examples: Iterable[Example]) -> Iterator[Example]:
    """The examples, of which there must be some, each with a label."""
    example = None
    for example in examples:
        if example.label is None:
            raise UserError(f"example {example.id} has no label; evaluation needs one.")
        yield example
    if example is None:
        raise UserError("there are no examples to evaluate on.")


def _warning_of_cuts(records: Iterable[Record], system: System) -> Iterator[Record]:
    """The records as they come; after the last, a warning if texts were truncated."""
    config, texts, cut, tokens = system.model.config, 0, 0, 0
    for record in records:
        texts, cut, tokens = texts + 1, cut + bool(record.truncated), tokens + record.truncated
        yield record
    warn_cut(cut, texts, tokens, config.max_length, windows=config.truncation == "windows")


def checked_protocol(
    system: System, main_removal: str, *, beside: Sequence[str] | None, draws: int, probes: Sequence[str]
) -> EvaluationProtocol:
    """What is measured beside the main metrics, refused where the system cannot be measured so."""
    if draws < 0:
        raise UserError(f"draws {draws}: give how often random scores are drawn, 0 or more.")
    check_probes(probes)
    model = system.model
    if model.config.predict_from == "rationale" and main_removal != model.config.removal:
        raise UserError(
            f"removal {main_removal}: this system predicts from a rationale taken out by "
            f"'{model.config.removal}'; another would change its answers. "
            "--beside shows what it would come to."
        )
    if probes and model.config.predict_from == "rationale":
        raise UserError(
            "probes edit whole texts; this system predicts from its rationale and reads no others."
        )
    trained = model.config.removal if model.trained_views() else None
    others = _held_out(system, main_removal, trained) if beside is None else beside
    perturbers = [model.perturber(name) for name in dict.fromkeys(others) if name != main_removal]
    return EvaluationProtocol(perturbers, draws, tuple(probes), trained)


def _held_out(system: System, main_removal: str, trained: str | None) -> list[str]:
    """The removal that training used, and one that neither it nor the main metrics use.

    Faithfulness can be learnt for one way of removing tokens alone
    (spec/metrics.md#critiques-to-keep-in-mind).
    """
    found = [trained] if trained else []
    for name in HELD_OUT:
        if name in (main_removal, trained):
            continue
        try:
            system.model.perturber(name)
        except UserError:  # no mask token
            continue
        return [*found, name]
    return found


def save_stream(
    folder: Path,
    records: Iterable[Record],
    summary: Summary,
    *,
    formats: Sequence[str] = FORMATS,
    facts: Callable[[], Mapping[str, object]] = dict,
) -> None:
    """Write every record into the files of a folder, add it to the summary, and save that beside them.

    `facts` is called after the last record and returns the facts of the run.
    """

    def put(ending: str, fill: Callable[[Path], object]) -> None:
        replace_file(folder / f"{NAME}.{ending}", fill)

    with new_folder(folder):
        write_stream(put, records, summary, formats=formats)
        summary.facts = facts()
        summary.save(folder)


def write_stream(
    put: Callable[[str, Callable[[Path], object]], object],
    records: Iterable[Record],
    summary: Summary,
    *,
    formats: Sequence[str] = FORMATS,
) -> None:
    """Write every record into a file of each format, all of them or none, and add it to the summary.

    `put` is called with the ending of a file and a function that fills a draft of it, and keeps the draft.
    """
    for ending in formats:
        if ending not in FORMATS:
            raise unknown("format of records", ending, FORMATS)
    endings = list(dict.fromkeys(formats))

    def fill(drafts: list[Path]) -> None:
        if len(drafts) < len(endings):  # nest one draft in the other, so that all succeed or none
            put(endings[len(drafts)], lambda draft: fill([*drafts, draft]))
            return
        with ExitStack() as stack:
            writers: list[WriteRecord] = [stack.enter_context(writing(draft)) for draft in drafts]
            for record in records:
                summary.add(record)
                for write in writers:
                    write(record)

    fill([])


def system_facts(system: System) -> dict[str, object]:
    """What is the same for every text, and the peak memory so far."""
    model = system.model
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "encoder": system.encoder_name,
        "extractor": model.config.extractor,
        "extractor_options": dict(model.config.extractor_options or {}),
        "peak_memory_bytes": peak_memory(str(model.device)),
    }
