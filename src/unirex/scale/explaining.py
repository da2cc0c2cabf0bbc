"""Explain a corpus: shards of texts in, shards of explanations out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from unirex.data.formats.table import Columns
from unirex.data.validate import tolerating, with_known_labels
from unirex.errors import UserError, unknown
from unirex.explanation import Explanation
from unirex.files import Advance, Progress
from unirex.scale.crew import Memory, Opened, Outcome, run_shards
from unirex.scale.engines import Staff
from unirex.scale.manifest import Manifest, note_finished
from unirex.scale.places import Folder, absolute
from unirex.scale.shards import SHARD_ROWS, Shard, find_shards, total_rows

if TYPE_CHECKING:
    from unirex.data.example import Example
    from unirex.system import System

ENDINGS = ("jsonl", "parquet")
GROUP = 512  # rows of a Parquet file in memory at once


@dataclass(frozen=True)
class ExplainWork:
    """The explanations of a shard, written as one part.

    Args:
        out: folder of the parts.
        load: gives the system; a function of a module, or a `partial` of one, so that it can be sent.
        options: keyword arguments of `System.explain_all`; targets may be "all".
        columns: of the files.
        on_error: what a bad row does: `stop`, `skip` or `clip`.
        ending: of the parts: `jsonl` or `parquet`.
    """

    out: str
    load: Callable[[], System]
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns = field(default_factory=Columns)
    on_error: str = "stop"
    ending: str = "jsonl"

    def open(self) -> Opened:
        """Load the system."""
        from unirex.system import BATCH_SIZE

        system = self.load()
        options = dict(self.options)
        if options.get("targets") == "all":
            options["targets"] = list(system.labels)
        memory = worker_memory(system, batch_size=BATCH_SIZE)
        return Opened(lambda shard, advance: self.run(shard, system, options, advance), memory)

    def run(self, shard: Shard, system: System, options: Mapping[str, Any], advance: Advance) -> Outcome:
        """Explain one shard, write its part, and note that it is done."""
        folder, name, texts, rows = Folder(self.out), f"{shard.part}.{self.ending}", Count(), Count()
        with measured() as cost, tolerating(self.on_error) as problems:
            examples: Iterable[Example] = texts.passing(shard.read(self.columns))
            if system.wrapped:
                examples = with_known_labels(examples, system.labels, str(shard))
            found = rows.passing(system.explain_all(examples, advance=advance, **options))
            written = folder.write(name, lambda draft: _write(draft, found, system))
        if shard.rows is not None and texts.number + len(problems.skipped) != shard.rows:
            raise UserError(
                f"{shard}: has {texts.number} texts now; it was changed meanwhile. Use another --out."
            )
        facts = {
            "files": [written.named(name)],
            "texts": texts.number,
            "rows": rows.number,
            "bytes": written.bytes,
            "skipped": len(problems.skipped),
            "skipped_rows": list(problems.skipped),
            "clipped": problems.clipped,
            **cost,
        }
        return Outcome(note_finished(folder, shard, facts))


class Count:
    """How many items have passed by."""

    def __init__(self) -> None:
        self.number = 0

    def passing(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, each counted."""
        for item in items:
            self.number += 1
            yield item


@contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """What the work inside costs this process: filled in at the end."""
    from unirex.models.plan import peak_memory  # imports torch, which the system has done by now

    cost: dict[str, Any] = {}
    begin, busy = time.perf_counter(), time.process_time()
    yield cost
    cost["seconds"] = round(time.perf_counter() - begin, 3)
    cost["cpu_seconds"] = round(time.process_time() - busy, 3)
    cost["peak_memory_bytes"] = peak_memory()
    cost["process"] = os.getpid()


def worker_memory(system: System, *, batch_size: int) -> Memory:
    """What this process will hold, by the planner's bound for the model that it has loaded."""
    from unirex.training.memory import explaining_bound, held_bytes

    loaded, bound = held_bytes(system.model), explaining_bound(system.model, batch_size=batch_size)
    return Memory(loaded, None if bound is None else max(0, bound - loaded))


def _write(draft: Path, explanations: Iterable[Explanation], system: System) -> None:
    if draft.suffix == ".jsonl":
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{json_line(explanation)}\n" for explanation in explanations)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, rows = _schema(system), list[dict[str, Any]]()
    with pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        for explanation in explanations:
            rows.append(explanation.to_dict())
            if len(rows) == GROUP:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                rows.clear()
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def json_line(explanation: Explanation) -> str:
    """An explanation as a line of JSON Lines."""
    return json.dumps(explanation.to_dict(), ensure_ascii=False)


def _schema(system: System) -> Any:
    """The columns of explanations in Parquet: the fields of `Explanation`, labels of the system's type."""
    import pyarrow as pa

    from unirex.evaluation.record_files import arrow_type, native_label

    labels = () if system.model.config.built_layout().choice else system.labels
    label = native_label(labels) if labels else pa.string()  # choices have letters
    if label is None:
        raise UserError(
            "this system has labels of several types, which no column of Parquet holds; use --parts jsonl."
        )
    columns = {
        name: arrow_type(hint, label=label, integer=pa.int32())
        for name, hint in get_type_hints(Explanation).items()
        if name != "probabilities"
    }
    if system.multi_label:
        columns |= dict.fromkeys(("label", "gold_label"), pa.list_(label))
    columns["probabilities"] = pa.list_(pa.struct({"label": label, "probability": pa.float64()}))
    return pa.schema(columns)


def explain_corpus(
    files: str,
    out: str,
    load: Callable[[], System],
    *,
    staff: Staff | None = None,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    on_error: str = "stop",
    ending: str = "jsonl",
    shard_rows: int = SHARD_ROWS,
    verify: bool = False,
    shown: bool = True,
) -> dict[str, Any]:
    """Explain all texts of some files into a folder of parts; the totals of its manifest.

    The same call again does what is not done. A folder that holds something else is refused.

    Args:
        files: a path, an address (`s3://…`), or a pattern of them: `folder/*.parquet`.
        out: folder or address of the parts and `manifest.json`.
        load: gives the system, once in every worker: `partial(unirex.load, "runs/slm")`.
        staff: who does it; one process by default.
        settings: what tells this run from others beside all below, such as the digest of the system.
        options: keyword arguments of `System.explain_all`.
        columns: of the files.
        on_error: what a bad row does: `stop`, `skip` or `clip`.
        ending: of the parts: `jsonl` or `parquet`.
        shard_rows: rows of a shard, at most; multiples of 1,024 keep the batches of the uncut file.
        verify: compare the digests of parts that are done already, not their sizes alone.
        shown: report progress.
    """
    if ending not in ENDINGS:
        raise unknown("format of parts", ending, ENDINGS)
    columns, staff = columns or Columns(), staff or Staff()
    sources, shards = find_shards(files, rows=shard_rows)
    described = {
        **(settings or {}),
        "options": dict(options or {}),
        "columns": columns_given(columns),
        "parts": ending,
        "shard_rows": shard_rows,
    }
    folder = Folder(absolute(out))
    manifest = Manifest(folder, described, sources, verify)
    work = ExplainWork(folder.address, load, options or {}, columns, on_error, ending)
    with folder.held():
        manifest.open()
        done = {shard.number: facts for shard in shards if (facts := manifest.finished(shard))}
        left = [shard for shard in shards if shard.number not in done]
        before = sum(facts["texts"] for facts in done.values())
        with Progress("explaining", total=total_rows(shards), done=before, shown=shown) as progress:
            if left:
                with staff.crew(work) as (crew, workers):
                    count = min(workers, len(left))
                    done_now = run_shards(
                        left, crew, workers=count, advance=progress.advance, tell=progress.say
                    )
                    for _ in done_now:
                        pass
        return manifest.complete(shards)


def columns_given(columns: Columns) -> dict[str, str]:
    """The columns that have other names than the usual ones."""
    usual = Columns()
    names = Columns.__dataclass_fields__
    return {name: getattr(columns, name) for name in names if getattr(columns, name) != getattr(usual, name)}
