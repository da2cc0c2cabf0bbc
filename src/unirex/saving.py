"""The folder of an evaluation: records and what they come to, written as they come, there when complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from unirex.errors import unknown
from unirex.files import new_folder, replace_file
from unirex.record_files import FORMATS, NAME, Write, writing
from unirex.records import Record
from unirex.summary import Summary


def save_stream(
    folder: Path,
    records: Iterable[Record],
    summary: Summary,
    *,
    formats: Sequence[str] = FORMATS,
    told: Callable[[], Mapping[str, object]] = dict,
) -> None:
    """Every record into the files of a folder and into the summary, which is then saved beside them.

    `told` says the facts of the run when it is over.
    """
    for ending in formats:
        if ending not in FORMATS:
            raise unknown("format of records", ending, FORMATS)
    with new_folder(folder):
        record_to([folder / f"{NAME}.{ending}" for ending in dict.fromkeys(formats)], records, summary)
        summary.facts = told()
        summary.save(folder)


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
