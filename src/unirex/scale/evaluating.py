"""Evaluate in shards: workers measure, this process reads the data and puts together what they found.

Sums and the columns of all examples are merged, never averages. The batches of a shard of whole windows are
those of an uncut evaluation, so its records are the same to the bit; means then differ by the order of
addition alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.config import EVALUATION_BATCH_SIZE
from unirex.data.example import Example
from unirex.evaluation.record_files import FORMATS, NAME, join_records, read_records
from unirex.evaluation.summary import METRICS, Summary
from unirex.files import Advance
from unirex.scale.crew import Opened, Outcome, run_shards
from unirex.scale.engines import Staff
from unirex.scale.explaining import measured, worker_memory
from unirex.scale.manifest import Manifest, note_finished
from unirex.scale.places import Folder, absolute
from unirex.scale.shards import WINDOW, Shard, example_shards

if TYPE_CHECKING:
    from unirex.system import System

PARTS = "parts"  # folder of the shards, removed when the evaluation is complete


@dataclass(frozen=True)
class EvaluateWork:
    """The records of a shard, and their values.

    Args:
        out: folder of the shards.
        load: gives the system; a function of a module, or a `partial` of one, so that it can be sent.
        options: those of `evaluated`.
        formats: of the records.
    """

    out: str
    load: Callable[[], System]
    options: Mapping[str, Any] = field(default_factory=dict)
    formats: Sequence[str] = FORMATS

    def open(self) -> Opened:
        """Load the system."""
        system = self.load()
        memory = worker_memory(system, batch_size=self.options.get("batch_size", EVALUATION_BATCH_SIZE))
        return Opened(lambda shard, advance: self.run(shard, system, advance), memory)

    def run(self, shard: Shard, system: System, advance: Advance) -> Outcome:
        """Evaluate one shard, write its records, and note that it is done."""
        from unirex.evaluation.run import evaluated, write_stream

        summary, folder, files = Summary(system.name, system.labels), Folder(self.out), []

        def put(ending: str, fill: Callable[[Path], object]) -> None:
            name = f"{shard.part}.{ending}"
            files.append(folder.write(name, fill).named(name))

        with measured() as cost:
            records = evaluated(system, shard.examples, advance=advance, **self.options)
            write_stream(put, records, summary, formats=self.formats)
        facts = {"files": files, "texts": summary.count, "rows": summary.count, **cost}
        return Outcome(note_finished(folder, shard, facts), summary)


def evaluate_shards(
    out: str | Path,
    system: System,
    examples: Iterable[Example],
    load: Callable[[], System],
    *,
    staff: Staff | None = None,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    formats: Sequence[str] = FORMATS,
    about: Mapping[str, object] | None = None,
    shard_rows: int = WINDOW,
    verify: bool = False,
    advance: Advance | None = None,
    tell: Callable[[str], object] | None = None,
) -> Summary:
    """Evaluate a stream of any length by several workers into the files of `evaluate_to`.

    The same call again does what is not done; the examples must be the same.

    Args:
        out: folder or address of the records and metrics; with several machines, one that all of them share.
        system: as `load` gives it.
        examples: read in this process, and sent to the workers shard by shard.
        load: gives the system, once in every worker.
        staff: who does it; one process by default.
        settings: what tells this evaluation from others beside the options, such as the digest of the system.
        options: those of `evaluated`.
        formats: of the records.
        about: kept with the settings in `metrics.json`.
        shard_rows: texts of a shard; multiples of 1,024 keep the batches of an uncut evaluation.
        verify: compare the digests of parts that are done already, not their sizes alone.
        advance: progress callback: number of examples just finished.
        tell: called with a line on memory, before the first text.
    """
    from unirex.evaluation.run import labelled, system_facts

    formats, folder = list(dict.fromkeys(formats)), Folder(absolute(str(out)))
    parts = folder.below(PARTS)
    described = {
        **(settings or {}),
        "options": dict(options or {}),
        "shard_rows": shard_rows,
        "records": formats,
    }
    manifest, summary = Manifest(parts, described, (), verify), Summary(system.name, system.labels)
    merged = _Merged(manifest, summary, advance or (lambda _: None))
    work = EvaluateWork(parts.address, load, options or {}, formats)
    with parts.held():
        manifest.open()
        shards = merged.unfinished(example_shards(labelled(examples), rows=shard_rows))
        with (staff or Staff()).crew(work) as (crew, workers):
            for shard, outcome in run_shards(shards, crew, workers=workers, advance=advance, tell=tell):
                merged.add(shard, outcome)
        for ending in formats:
            found = _local_copies(parts, [f"{name}.{ending}" for name in merged.names])
            folder.write(f"{NAME}.{ending}", partial(join_records, parts=found))
        facts: dict[str, Any] = {**system_facts(system), **(about or {})}
        facts["peak_memory_bytes"] = max(merged.peak, facts["peak_memory_bytes"])
        summary.facts = facts
        folder.write(METRICS, lambda draft: draft.write_bytes(summary.text().encode()))
    folder.remove(PARTS)
    return summary


def _local_copies(folder: Folder, names: Iterable[str]) -> Iterator[Path]:
    """Paths of files, one after the other; a copy of a remote one is gone when the next is asked for."""
    for name in names:
        with folder.local(name) as path:
            yield path


class _Merged:
    """Puts the values of shards together in the order of the examples, whichever is finished first."""

    def __init__(self, manifest: Manifest, summary: Summary, advance: Advance) -> None:
        self.manifest, self.summary, self.advance = manifest, summary, advance
        self.early: dict[int, Summary] = {}  # finished before one that comes before them
        self.names: list[str] = []
        self.peak = 0  # memory of the largest worker, in bytes

    def unfinished(self, shards: Iterable[Shard]) -> Iterator[Shard]:
        """The shards that are to be run; the values of the others are read from their records."""
        for shard in shards:
            facts = self.manifest.finished(shard)
            if facts is None:
                yield shard
                continue
            again = Summary(self.summary.name, self.summary.labels)
            with self.manifest.folder.local(facts["files"][0]["name"]) as path:
                for record in read_records(path):
                    again.add(record)
            self.advance(again.count)
            self.add(shard, Outcome(facts, again))

    def add(self, shard: Shard, outcome: Outcome) -> None:
        """Take the values of one shard, and append all whose turn has come."""
        self.early[shard.number] = outcome.value
        self.peak = max(self.peak, outcome.facts["peak_memory_bytes"])
        while (number := len(self.names)) in self.early:
            self.summary.extend(self.early.pop(number))
            self.names.append(Shard(number, "").part)
