"""`unirex experiment status | report | pack`: what of a study is finished."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import experiment_tune, shared
from unirex.errors import UserError

if TYPE_CHECKING:
    from unirex.experiments.results import Results, StudyResults

ENDING = ".zip"  # of packs


def folder_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Which study."""
    parser.add_argument("folder", type=str, help="of the study")


def report_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What is reported, and where to."""
    add = parser.add_argument
    add("places", type=str, nargs="+", help="folder of a study; or packs, and folders, to put together")
    add("--html", type=str, help="write a page")
    add("--out", type=str, help="folder for tables, figures and the page (default: that of the study)")


def pack_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Which study, and the file for it."""
    folder_options(parser, arguments)
    parser.add_argument("pack", type=str, nargs="?", help="file to write (default: FOLDER.zip)")


def status(options: Namespace) -> int:
    """Print how far every row is."""
    from unirex.experiments.status import status as status_of

    folder = _place(options.folder)
    if is_search(folder):
        return experiment_tune.status(folder)
    said, failed = status_of(_loaded(folder))
    print(said)
    return int(failed)


def _place(name: str) -> Path:
    """The folder or pack of this name, or the study of this name in the default folder of `run`."""
    from unirex.experiments.study import FILE, SEARCH_FILE

    usual = Path("studies") / name
    if not Path(name).exists() and any((usual / file).is_file() for file in (FILE, SEARCH_FILE)):
        return usual
    return Path(name)


def _loaded(folder: Path) -> StudyResults:
    from unirex.experiments.results import StudyResults
    from unirex.experiments.saved import load_study

    return StudyResults(load_study(folder), folder)


def report(options: Namespace) -> int:
    """Write and print the report of what is finished."""
    shared.check_page(options.html)
    folder = _place(options.places[0])
    if len(options.places) > 1 or folder.suffix == ENDING:
        return _report_packs(options)
    out = _report_folder(options) if options.out else folder
    if is_search(folder):
        return experiment_tune.report(folder, out, options.html)
    return print_report(_loaded(folder), out, options.html)


def _report_folder(options: Namespace) -> Path:
    """Where a report is written if not into the folder of its study, which must not be another study's."""
    from unirex.experiments.study import FILE

    folder = Path(options.out)
    own = [_place(place).resolve() for place in options.places] == [folder.resolve()]
    if not own and ((folder / FILE).is_file() or is_search(folder)):
        raise UserError(f"--out {folder}: holds a study; its report would be lost. Choose another folder.")
    return folder


def _report_packs(options: Namespace) -> int:
    """The report of packs and studies together; studies take part without their texts."""
    from unirex.experiments.pack import pack_of, read_pack
    from unirex.experiments.packed_results import PackedResults

    places = list(map(_place, dict.fromkeys(options.places)))
    packs = [pack_of(_loaded(place)) if place.is_dir() else read_pack(place) for place in places]
    out = _report_folder(options) if options.out else None
    return print_report(PackedResults(packs), out, options.html)


def pack(options: Namespace) -> int:
    """Write the finished measurements without texts."""
    from unirex.experiments.pack import write_pack
    from unirex.report.page import count

    folder = _place(options.folder)
    if is_search(folder):
        raise UserError(f"{folder}: a search; its report/trials.csv has all numbers and no texts.")
    path = Path(options.pack or folder.resolve())
    if options.pack and (path.is_dir() or path.name == ENDING):
        inside = path if path.is_dir() else path.parent
        raise UserError(f"{options.pack}: give a file, such as {inside / folder.resolve().name}{ENDING}.")
    path = path if path.suffix == ENDING else path.with_name(path.name + ENDING)
    results = _loaded(folder)
    number = write_pack(results, path)
    size = f"{path.stat().st_size / 1000:,.0f} kB"
    print(f"{number} of {count(len(results.planned), 'measurement')} in {path}, {size}, without texts")
    return 0


def is_search(folder: Path) -> bool:
    """Whether a folder holds a search."""
    from unirex.experiments.search import FILE

    return (folder / FILE).is_file()


def print_report(results: Results, folder: Path | None, html: str | None) -> int:
    """Print the tables; with a folder, write them, the figures and the page there."""
    from unirex.experiments.report import report as parts_of
    from unirex.experiments.report import state_notes, write_report
    from unirex.report.page import count

    notes = state_notes(results)
    if not results.finished:
        print("\n".join([*notes, "There is nothing to report yet, so no file is written."]))
        return 0
    sections = parts_of(results)
    for section in sections:
        for table in section.tables:
            print(f"{section.title}\n\n{table.text()}\n")
    print("\n".join(notes))
    if folder is not None or html is not None:
        paths, page = write_report(results, folder, html=html, sections=sections)
        print(f"{count(len(paths), 'file')} in {folder}; page in {page}" if paths else f"page in {page}")
    return 0
