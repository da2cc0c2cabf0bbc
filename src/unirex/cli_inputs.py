"""What commands read: the system, the examples, and how much of them there is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence, Sized
from itertools import islice
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from unirex.cli_data import READING, check_apart
from unirex.data.example import Example, Label, Splits
from unirex.data.load import DATASETS, load_dataset, load_records, stream_records
from unirex.data.rows import about_how_many
from unirex.errors import UserError
from unirex.extractors import extractor_name
from unirex.system import System, load

THREADS = "UNIREX_THREADS"
USUAL: dict[str, Any] = {  # how data is read if nobody says otherwise
    "root": None,
    "format": "auto",
    "columns": {},
    "rationale_format": "auto",
    "annotators": "union",
    "data_options": {},
    "data_seed": 0,
}


def use_threads(given: int | None) -> None:
    """As many CPU threads as were asked for, by option or else by environment; torch's own choice if not."""
    asked, said = (given, f"--threads {given}") if given is not None else _from_environment()
    if asked is None:
        return
    if asked < 1:
        raise UserError(f"{said}: give a whole number of threads, at least 1.")
    import torch

    torch.set_num_threads(asked)
    os.environ.setdefault("RAYON_NUM_THREADS", str(asked))  # the tokenizer's


def _from_environment() -> tuple[int | None, str]:
    value = os.environ.get(THREADS, "").strip()
    if not value:
        return None, ""
    return int(value) if value.isdecimal() else 0, f"{THREADS}={value}"


def asked_data(options: Namespace) -> Splits:
    """The dataset an option `--data` names, read as the others say."""
    check_apart(options.data_options)
    return load_dataset(options.data, seed=options.data_seed, **reading(options), **options.data_options)


def reading(options: Namespace) -> dict[str, Any]:
    """How data is to be read."""
    return {name: options[name] for name in READING}


def as_typed(options: Namespace) -> str:
    """The reading options that were given, for the next command."""
    given = [(name, options[name]) for name in USUAL if options[name] != USUAL[name]]
    words = []
    for name, value in given:
        table = value.items() if isinstance(value, dict) else [("", value)]
        words += [f" --{name}{'.' if key else ''}{key} {shlex.quote(str(one))}" for key, one in table]
    return "".join(words)


def evaluated_examples(options: Namespace) -> Iterable[Example]:
    """The examples of the chosen split, or every row of a file: of a table as they are asked for."""
    path = Path(options.data)
    if options.data not in DATASETS and (options.split == "all" or path.is_file()):
        given = {name: value for name, value in reading(options).items() if name != "root"}
        if options.split == "all":
            found = stream_records(options.data, **given, **options.data_options)
            return (record.example for record in found)
        records = load_records(options.data, **given, **options.data_options)
        if {record.split for record in records} == {options.split}:
            return [record.example for record in records]  # a file of nothing but test texts
    data = asked_data(options)
    if options.split == "all":
        return [example for part in data.values() for example in part]
    if options.split not in data:
        raise UserError(f"{options.data} has no split '{options.split}'; it has: {', '.join(data)}, all.")
    return data[options.split]


def first(examples: Iterable[Example], number: int | None) -> Iterable[Example]:
    """The first so many."""
    if number is not None and number < 1:
        raise UserError(f"--number {number}: give how many, at least 1.")
    return examples[:number] if isinstance(examples, Sequence) else islice(examples, number)


def expected(examples: Iterable[Example], source: str | None, number: int | None = None) -> dict[str, Any]:
    """How many examples there will be, for `Progress`: counted, or seen from the file they are read from."""
    if isinstance(examples, Sized):
        return {"total": len(examples)}
    total = about_how_many(Path(source)) if source and Path(source).is_file() else None
    if total is None or number is None or number >= total:
        return {"total": total, "about": True}
    return {"total": number}


def asked_system(options: Namespace) -> System:
    """The system or the classifier that was named, with another extractor if one was asked for."""
    return explained_by(load(options.run or options.model, labels=options.labels), options)


def explained_by(system: System, options: Namespace) -> System:
    """The system, with another extractor if one was asked for."""
    if options.extractor is None and system.wrapped and options.extractor_options:
        return system.with_extractor(system.model.config.extractor, **options.extractor_options)
    if options.extractor is None:
        if options.extractor_options:
            raise UserError("--extractor_options are for --extractor; name one.")
        return system
    config = system.model.config
    name = extractor_name(options.extractor)
    # Naming the one a plain classifier has anyway changes nothing about it.
    usual = config.extractor_options if system.wrapped and name == config.extractor else {}
    return system.with_extractor(name, **{**usual, **options.extractor_options})


def fitting(system: System, examples: Iterable[Example], source: str) -> Iterable[Example]:
    """The examples, if their labels are the system's: of a list all are seen before anything is run."""
    if not system.wrapped:
        return examples
    if isinstance(examples, Sequence):
        check_labels(system, labels_of(examples), source)
        return examples
    return (_checked(system, one, source) for one in examples)


def _checked(system: System, example: Example, source: str) -> Example:
    check_labels(system, labels_of([example]), source)
    return example


def check_labels(system: System, found: Sequence[Label], source: str) -> None:
    """Somebody's classifier has names of its own for the classes; the data must have the same."""
    known = {(type(one), one) for one in system.labels}
    if any((type(one), one) not in known for one in found):
        raise UserError(
            f"{source}: has labels {named(found)}, but those of the model are {named(system.labels)}; name "
            """the model's classes in their order as the data does: --labels '["first", "second"]'"""
        )


def named(labels: Iterable[Label]) -> str:
    """Labels with their types."""
    return ", ".join(map(repr, labels))


def labels_of(examples: Iterable[Example]) -> list[Label]:
    """The labels that occur, in their order: numbers by size, all else by name."""
    found = {one.label for one in examples if one.label is not None}
    return sorted(found, key=lambda one: (0, one, "") if isinstance(one, int | float) else (1, 0, one))
