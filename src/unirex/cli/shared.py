"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.config import DEFAULT_PRESET
from unirex.data.formats import Format
from unirex.data.rationales import RationaleFormat
from unirex.data.validate import OnError
from unirex.errors import UserError
from unirex.methods.presets import preset_names

THREADS = "UNIREX_THREADS"


def root_option(parser: ArgumentParser) -> None:
    """Where the named datasets are."""
    parser.add_argument("--root", type=str, help="folder of the named datasets, if not that of UNIREX_DATA")


def format_options(parser: ArgumentParser) -> None:
    """How files are laid out."""
    add = parser.add_argument
    add("--format", choices=get_args(Format), default="auto", help="of the files")
    add("--columns", type=dict[str, str], default={}, help="what a table calls text, label, …")
    add("--rationale_format", choices=get_args(RationaleFormat), default="auto", help="of marks in a table")


def reading_options(parser: ArgumentParser) -> None:
    """How a dataset is read: the keyword arguments of `load_dataset` but for its seed."""
    root_option(parser)
    format_options(parser)
    said = "whose marks are gold: union (the usual), majority, intersection, or of N people"
    parser.add_argument("--annotators", type=str, help=said)
    on_error_option(parser)
    further_data_options(parser)


def on_error_option(parser: ArgumentParser) -> None:
    """What happens to rows that cannot be read."""
    said = "what a bad row does: stop, skip it, or clip marks that lie outside their text"
    parser.add_argument("--on_error", choices=get_args(OnError), default="stop", help=said)


def further_data_options(parser: ArgumentParser) -> None:
    """Options that only some datasets or formats know."""
    parser.add_argument(
        "--data_options", type=dict[str, Any], default={}, help="those of the dataset or format"
    )


def preset_option(parser: ArgumentParser) -> None:
    """Choices that belong together."""
    names = ", ".join(preset_names())
    said = f"choices that belong together: {names}; or one of them: parity:NAME; see unirex list presets"
    parser.add_argument("--preset", type=str, default=DEFAULT_PRESET, help=said)


def given_preset(options: Namespace) -> list[str]:
    """The preset as words of a command line, unless it is the usual one."""
    return [] if options.preset == DEFAULT_PRESET else typed_option("preset", options.preset)


def dataset_options(parser: ArgumentParser) -> None:
    """How `--data` is read; the seed has a name of its own beside the settings of a system."""
    reading_options(parser)
    parser.add_argument("--data_seed", type=int, default=0, help="for splits and samples that are drawn")


def recalled_options(parser: ArgumentParser) -> None:
    """The options of `dataset_options`; those not given are as in the training of the run."""
    dataset_options(parser)
    parser.set_defaults(dict.fromkeys(defaults_of(dataset_options)))


def example_options(parser: ArgumentParser) -> None:
    """Which examples of `--data` are explained."""
    recalled_options(parser)
    parser.add_argument("--split", type=str, help="of --data; test if not given")
    parser.add_argument("--number", type=int, help="of --data: how many, from the first on")


def system_options(
    parser: ArgumentParser, *, run: str = "folder of a trained system, or of any classifier"
) -> None:
    """Which system or classifier to use; `run` says in the help what the first argument may be."""
    add = parser.add_argument
    add("run", type=str, nargs="?", help=run)
    add("--model", type=str, help="a Hugging Face sequence classifier: a folder or a Hub id")
    add("--labels", type=list[bool | int | str], help="of --model: names of its classes, in their order")
    add("--device", type=str, help="where it runs, such as cuda (default: the CPU)")


def extractor_options(parser: ArgumentParser) -> None:
    """Another extractor than the system's own."""
    parser.add_argument("--extractor", type=str, help="explain by another algorithm than the system's own")
    parser.add_argument("--extractor_options", type=dict[str, Any], default={}, help="its options")


def rationale_options(parser: ArgumentParser) -> None:
    """How large the rationale of an explanation is, how it is selected and by which scores."""
    add = parser.add_argument
    add("--budget", type=float, help="size of the rationale, in per cent of the tokens (default: 20)")
    add("--selector", type=str, help="top-k (default), or best-span for one run of words")
    extractor_options(parser)
    said = "of systems with two scores: from 0, as a person would mark, to 1, as the classifier went by"
    add("--dial", type=float, help=said)
    blend_option(parser)


def blend_option(parser: ArgumentParser) -> None:
    """An attribution beside the learnt scores."""
    parser.add_argument(
        "--blend", type=float, help="add this much of an attribution to learnt scores; costs its passes"
    )


def threads_option(parser: ArgumentParser) -> None:
    """How many processor cores are used at once."""
    parser.add_argument("--threads", type=int, help="CPU threads, if not as UNIREX_THREADS or torch says")


def server_options(parser: ArgumentParser, *, key: str) -> None:
    """Where a server listens, and its key, whose help is `key`."""
    add = parser.add_argument
    away = "any but this machine's needs a key"
    add("--host", type=str, default="127.0.0.1", help=f"address to listen at; {away}")
    add("--port", type=int, default=8000, help="to listen at; 0: any that is free")
    add("--api_key", type=str, help=key)


def engine_options(parser: ArgumentParser) -> None:
    """Who does the work, where it is more than this process."""
    add = parser.add_argument
    add("--engine", type=str, help="in shards: local (worker processes) or ray (a cluster)")
    add("--workers", type=int, help="of --engine: how many (default: 1; of ray as many as have room)")
    add("--address", type=str, help="of --engine ray: the cluster (default: RAY_ADDRESS, else one here)")
    add("--shard_rows", type=int, help="of --engine: rows of a shard; multiples of 1024 keep batches equal")
    add("--verify", action="store_true", help="of --engine: compare checksums of finished parts, not sizes")


def defaults_of(add_options: Callable[[ArgumentParser], None]) -> dict[str, Any]:
    """Names and defaults of the options that a function adds to a parser."""
    parser = ArgumentParser()
    add_options(parser)
    return parser.get_defaults().as_dict()


def given_options(options: Namespace, add_options: Callable[[ArgumentParser], None]) -> dict[str, Any]:
    """Those of the options that a function adds whose values are not their defaults."""
    usual = defaults_of(add_options)
    return {name: options[name] for name in usual if options[name] != usual[name]}


def load_options(options: Namespace) -> dict[str, Any]:
    """The keyword arguments of `load_dataset` that differ from the usual ones."""
    given = given_options(options, reading_options)
    further = given.pop("data_options", {})
    return {**given, **further}


def use_threads(threads: int | None) -> None:
    """Use this many CPU threads, else as many as UNIREX_THREADS says; torch decides if neither is given."""
    wanted = given_threads(threads)
    if wanted is None:
        return
    import torch

    torch.set_num_threads(wanted)
    os.environ.setdefault("RAYON_NUM_THREADS", str(wanted))  # the tokenizer's


def given_threads(threads: int | None) -> int | None:
    """CPU threads by the option `--threads`, else by UNIREX_THREADS; None if neither is given."""
    from_environment = os.environ.get(THREADS, "").strip()
    setting = f"--threads {threads}"
    if threads is None:
        if not from_environment:
            return None
        setting = f"{THREADS}={from_environment}"
        threads = int(from_environment) if from_environment.isdecimal() else 0
    if threads < 1:
        raise UserError(f"{setting}: give a whole number of threads, at least 1.")
    return threads


def check_page(html: str | None) -> None:
    """Refuse a page that is a folder, before anything is computed for it."""
    if html and Path(html).is_dir():
        raise UserError(f"--html {html}: is a folder; give a file.")


def typed_option(name: str, value: str) -> list[str]:
    """An option and its value as words of a command line.

    >>> typed_option("data", "my reviews.csv"), typed_option("data", "-x.csv")
    (['--data', 'my reviews.csv'], ['--data=-x.csv'])
    """
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]
