"""What the options of several commands name, loaded: data and systems."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from unirex.cli import shared
from unirex.data import validate
from unirex.data.example import Example, Splits
from unirex.data.formats.table import as_columns
from unirex.data.load import DATASETS, load_dataset, load_records, stream_records, tell_tolerated
from unirex.data.rows import estimate_row_count
from unirex.data.validate import Problems, file_kind, tolerating
from unirex.errors import UserError, one_line, unknown
from unirex.extractors import EXTRACTORS, extractor_name
from unirex.files import say, write_file
from unirex.methods.presets import Preset, dataset_name, preset
from unirex.models.saved import check_saved

if TYPE_CHECKING:
    from unirex.scale.engines import Staff
    from unirex.system import System

STANDARD_INPUT = "-"  # as a name of a file


def use_preset(options: Namespace) -> Preset:
    """The preset that is named; what it says on reading the dataset joins the options that are given."""
    chosen = preset(options.preset)
    options.data_options = {**chosen.data_options(dataset_name(options.data)), **options.data_options}
    return chosen


def staff_of(options: Namespace) -> Staff | None:
    """Who `--engine` says; None: this process, without shards."""
    if options.engine is None:
        for name in shared.given_options(options, shared.engine_options):
            raise UserError(f"--{name} is for --engine local or --engine ray; it would do nothing here.")
        _check_local(options)
        return None
    from unirex.scale.engines import Staff

    threads = shared.given_threads(options.threads)
    return Staff(options.engine, options.workers, threads, options.address, options.device)


def _check_local(options: Namespace) -> None:
    """Refuse addresses where this process works alone, with paths."""
    from unirex.scale.places import is_remote

    for name in ("file", "out"):
        place = getattr(options, name, None)
        if place and is_remote(place):
            raise UserError(
                f"--{name} {place}: an address is for --engine local or --engine ray; give a path here."
            )


def found_anywhere(model: str) -> str:
    """A model as workers find it, whatever folder they work in."""
    return str(Path(model).absolute()) if Path(model).is_dir() else model


def system_settings(options: Namespace) -> dict[str, Any]:
    """What tells one system from another: a digest of its files, and how it is to explain."""
    from unirex import __version__
    from unirex.models.encoders import encoder_digest

    named = ("labels", "extractor", "extractor_options", "dial", "blend")
    files = encoder_digest(check_saved(options.run or options.model))
    return {"unirex": __version__, "system": files, **{name: options[name] for name in named}}


def as_json(value: Any) -> str:
    """JSON to print; numbers that are not finite become null, as JSON has none of them."""
    return json.dumps(_finite(value), ensure_ascii=False, indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def check_new(path: str | Path) -> None:
    """Refuse to overwrite a file."""
    if Path(path).exists():
        raise UserError(f"{path} exists already; move it away or choose another name.")


def read_dataset(source: str, options: Namespace, *, seed: int) -> Splits:
    """The dataset, read as the reading options say."""
    settings = reading_settings(options)
    for name in options.data_options:
        if name in settings or name == "seed":
            raise UserError(f"data_options.{name}: '{name}' is an option of its own.")
    with listing_skipped(source, options):
        data = load_dataset(source, seed=seed, **settings, **options.data_options)
    beside = {name: options[name] for name in ("root", "on_error")}  # kept with a run for `recall_reading`
    return replace(data, origin={**data.origin, **beside})


@contextmanager
def listing_skipped(source: str, options: Namespace) -> Iterator[None]:
    """Read inside as `--on_error` says; rows that are skipped are listed in a file."""
    with tolerating(options.on_error) as problems:
        yield
    list_skipped(source, problems)


def list_skipped(source: str, problems: Problems) -> None:
    """Say what was left out or cut, and list the rows that were skipped in a file."""
    tell_tolerated(source, problems)
    if problems.skipped:
        name = "standard-input" if source == STANDARD_INPUT else Path(source).name
        listed = Path(f"{name}.skipped.txt")
        write_file(listed, "".join(f"{problem}\n" for problem in problems.skipped))
        print(f"unirex: the bad rows that were skipped are listed in {listed}", file=sys.stderr)


def reading_settings(options: Namespace) -> dict[str, Any]:
    """The reading options but for `data_options`, passed on one by one, and `on_error`, see above."""
    others = ("data_options", "on_error")
    return {name: options[name] for name in shared.defaults_of(shared.reading_options) if name not in others}


def recall_reading(options: Namespace) -> None:
    """Complete the options of `recalled_options`: as given, else as the run was trained, else as usual.

    Names with values are completed one by one; `{}` takes none of them from the run.
    """
    trained, taken = _reading_in_training(options), {}
    for name, usual in shared.defaults_of(shared.dataset_options).items():
        given, before = options[name], trained.get(name, usual)
        if isinstance(usual, dict):
            new = {} if given == {} else {key: before[key] for key in before if key not in (given or {})}
            options[name] = {**new, **(given or {})}
        else:
            new = before if given is None else usual
            options[name] = before if given is None else given
        if new != usual:
            taken[name] = new
    options.recalled = _typed(taken)
    if options.recalled:
        say(f"note: read as in the training of {options.run}: {options.recalled}")


def _reading_in_training(options: Namespace) -> dict[str, Any]:
    """The dataset options that the run was trained with, as far as they can be used for what is read now."""
    file = Path(options.run or "", "run.json")
    if not file.is_file():
        return {}
    try:
        read = json.loads(file.read_text("utf-8"))["data"]["read"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is damaged ({one_line(error)}).") from error
    if not read:
        return {}  # trained on data in memory
    columns = {role: name for role, name in read.pop("columns", {}).items() if name != role}
    if not options.data and not has_columns(options.file):
        return {}
    if not options.data:  # a file of texts to explain, which need no labels
        return {"columns": {role: columns[role] for role in ("text", "choices") if role in columns}}
    source, seed = read.pop("source"), read.pop("seed", 0)
    if options.data != source and {options.data, source} & DATASETS.keys():
        return {}
    settings = {name: read.pop(name) for name in shared.defaults_of(shared.reading_options) if name in read}
    return {**settings, "columns": columns, "data_seed": seed, "data_options": read}


def has_columns(file: str) -> bool:
    """Whether a file of texts has columns: all but plain text, and what comes by standard input may."""
    return file_kind(Path(file)) != ".txt"


def _typed(options: Mapping[str, Any]) -> str:
    """Options as they are typed."""
    words = []
    for name, value in options.items():
        values = value if isinstance(value, dict) else {"": value}
        words += [f"--{name}{key and f'.{key}'} {shlex.quote(str(item))}" for key, item in values.items()]
    return " ".join(words)


@contextmanager
def naming_recalled(options: Namespace) -> Iterator[None]:
    """Say in errors raised inside what was taken from the run, and how to change it."""
    try:
        yield
    except UserError as error:
        if not options.recalled:
            raise
        raise UserError(
            f"{error} (Read with {options.recalled}, as in the training of {options.run}; what is given here "
            "wins, and --columns '{}' stands for the usual names.)"
        ) from error


def selected_examples(options: Namespace) -> Iterable[Example]:
    """The examples of `--split` of `--data`; with `all`, the rows of a table are streamed."""
    with naming_recalled(options):
        examples = _selected_examples(options)
    return examples if isinstance(examples, Sequence) else named_stream(examples, options)


def named_stream(examples: Iterable[Example], options: Namespace) -> Iterator[Example]:
    """A stream of examples whose errors name what was taken from the run."""
    with naming_recalled(options):
        yield from examples


def _selected_examples(options: Namespace) -> Iterable[Example]:
    from unirex.scale.places import is_remote

    path = Path(options.data)
    if is_remote(options.data):
        return _of_addresses(options)
    if options.split == "all" and any(mark in options.data for mark in "*?[") and not path.exists():
        return _all_of_files(options)
    if options.data not in DATASETS and (options.split == "all" or path.is_file()):
        settings = reading_settings(options)
        del settings["root"]
        if options.split == "all" and options.on_error == "stop":
            stream = stream_records(options.data, **settings, **options.data_options)
            return (record.example for record in stream)
        with tolerating(options.on_error) as problems:
            records = load_records(options.data, **settings, **options.data_options)
        only = {record.split for record in records} == {options.split}  # a file of nothing but test texts
        if only or options.split == "all":
            list_skipped(options.data, problems)
            return [record.example for record in records]
    data = read_dataset(options.data, options, seed=options.data_seed)
    if options.split == "all":
        return [example for part in data.values() for example in part]
    if options.split not in data:
        raise UserError(f"{options.data} has no split '{options.split}'; it has: {', '.join(data)}, all.")
    return data[options.split]


def _all_of_files(options: Namespace) -> Iterator[Example]:
    """Every row of all files that a pattern stands for, one file after the other."""
    from unirex.scale.places import matching

    for name in matching(options.data):
        part = Namespace(options)
        part.data = name
        yield from _selected_examples(part)


def _of_addresses(options: Namespace) -> Iterable[Example]:
    """Every row of all files at an address, or at those that a pattern of addresses stands for."""
    from unirex.scale.places import matching
    from unirex.scale.shards import remote_records

    if options.split != "all":
        raise UserError(f"--data {options.data}: what is at an address is read as a whole; give --split all.")
    if options.format not in ("auto", "table") or options.data_options:
        what = "--data_options" if options.data_options else f"--format {options.format}"
        raise UserError(f"{what}: at an address there are tables only; leave it out, or copy the data here.")
    given = shared.load_options(options)
    reading = {name: given[name] for name in ("rationale_format", "annotators") if name in given}
    columns = as_columns(options.columns)
    stream = (
        record.example
        for name in matching(options.data)
        for record in remote_records(name, columns=columns, **reading)
    )
    if options.on_error == "stop":
        return stream
    with tolerating(options.on_error) as problems:
        examples = list(stream)
    list_skipped(options.data, problems)
    return examples


def first_examples(examples: Iterable[Example], number: int | None) -> Iterable[Example]:
    """At most `number` examples; a stream stays one."""
    if number is not None and number < 1:
        raise UserError(f"--number {number}: give how many, at least 1.")
    return examples[:number] if isinstance(examples, Sequence) else islice(examples, number)


def progress_size(
    examples: Iterable[Example], source: str | None, number: int | None = None
) -> dict[str, Any]:
    """Arguments of `Progress` for the number of examples: counted, or estimated from the file's size."""
    if isinstance(examples, Sized):
        return {"total": len(examples)}
    total = estimate_row_count(Path(source)) if source and Path(source).is_file() else None
    if total is None or number is None or number >= total:
        return {"total": total, "about": True}
    return {"total": number}


def load_system(options: Namespace) -> System:
    """The system or classifier that is named, with another extractor if one is."""
    if options.extractor is not None and extractor_name(options.extractor) not in EXTRACTORS:
        raise unknown("extractor", options.extractor, EXTRACTORS)
    say(f"loading {check_saved(options.run or options.model)} …")
    return build_system(options)


def build_system(options: Namespace) -> System:
    """The system of `load_system`, without a word: for workers."""
    from unirex.system import load

    system = load(options.run or options.model, device=options.device, labels=options.labels)
    if options.dial is not None or options.blend is not None:
        return _blended(system, options)
    config, given = system.model.config, options.extractor_options
    if options.extractor is None:
        if given and not system.wrapped:
            raise UserError("--extractor_options are for --extractor; name one.")
        return system.with_extractor(config.extractor, **given) if given else system
    name = extractor_name(options.extractor)
    # Naming the extractor that a plain classifier has anyway keeps its options.
    usual = config.extractor_options if system.wrapped and name == config.extractor else {}
    return system.with_extractor(name, **{**usual, **given})


def _blended(system: System, options: Namespace) -> System:
    """The system with its dial turned, or with an attribution blended in."""
    dials = options.dial if isinstance(options.dial, list) else [options.dial]
    if dials != [None]:
        if options.extractor is not None and options.blend is None:
            raise UserError("--dial is for the system's own scores; leave out --extractor.")
        turned = [system.with_dial(dial) for dial in dials]  # refuses positions that do not exist
        system = turned[0] if len(turned) == 1 else system
    if options.blend is None:
        return system
    if len(dials) > 1:
        raise UserError("--blend goes with one position of the dial; give one, or leave --blend out.")
    name = extractor_name(options.extractor or "integrated-gradients")
    print(f"note: --blend {options.blend:g} also runs {name} on every text.", file=sys.stderr)
    return system.with_blend(options.blend, name, **options.extractor_options)


def with_known_labels(system: System, examples: Iterable[Example], source: str) -> Iterable[Example]:
    """The examples, once their labels are known to be the system's; a list is checked as a whole."""
    if not system.wrapped:  # our own systems check labels themselves
        return examples
    return validate.with_known_labels(examples, system.labels, source)
