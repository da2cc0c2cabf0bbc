"""The options of `unirex data …`: list, stats, check, show, convert, download, cache; the work waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

from jsonargparse import ArgumentParser, Namespace

from unirex.data.formats import Format
from unirex.data.formats.annotators import How
from unirex.data.rationales import RationaleFormat
from unirex.errors import UserError

READING = ("root", "format", "columns", "rationale_format", "annotators")  # options of `load_dataset`
FOLDER = "data"  # where downloads go when nobody says


def data_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """The sub-commands of `data`."""
    commands = parser.add_subcommands(required=False, dest="action")
    for name, (make, about) in ACTIONS.items():
        sub = ArgumentParser(exit_on_error=False, allow_abbrev=False, description=about)
        make(sub)
        commands.add_subcommand(name, sub, help=about)


def data(options: Namespace) -> int:
    """`unirex data …`."""
    if options.action is None:
        raise UserError(f"data needs to know what to do: unirex data {' | '.join(ACTIONS)}")
    from unirex import cli_data_commands  # heavier

    return cli_data_commands.RUN[options.action](options[options.action])


def known_options(arguments: Sequence[str]) -> list[str]:
    """Every option of the action that was called, for "did you mean"."""
    parser = ArgumentParser(exit_on_error=False)
    for name in [one for one in arguments if one in ACTIONS][:1]:
        ACTIONS[name][0](parser)
    return [option.lstrip("-") for one in parser._actions for option in one.option_strings]


def root_option(parser: ArgumentParser) -> None:
    """Where the named datasets are."""
    parser.add_argument("--root", type=str, help="folder of the named datasets, if not that of UNIREX_DATA")


def source_options(parser: ArgumentParser, *, seed: int | None = 0) -> None:
    """What to read, and how."""
    parser.add_argument("source", type=str, help="a dataset name, a file or a folder")
    reading_options(parser)
    parser.add_argument("--seed", type=int, default=seed, help="for what is drawn: splits, samples")


def reading_options(parser: ArgumentParser) -> None:
    """How a dataset is read, wherever one is named."""
    root_option(parser)
    parser.add_argument("--format", choices=get_args(Format), default="auto", help="of the files")
    parser.add_argument(
        "--columns", type=dict[str, str], default={}, help="what a table calls text, label, …"
    )
    parser.add_argument(
        "--rationale_format", choices=get_args(RationaleFormat), default="auto", help="of marks in a table"
    )
    parser.add_argument("--annotators", choices=get_args(How), default="union", help="whose marks are gold")
    parser.add_argument(
        "--data_options", type=dict[str, Any], default={}, help="those of the dataset or format"
    )


def check_apart(given: dict[str, Any]) -> None:
    """What has an option of its own is not given among those of the dataset."""
    for name in given:
        if name in (*READING, "seed"):
            raise UserError(f"data_options.{name}: '{name}' is an option of its own.")


def stats_options(parser: ArgumentParser) -> None:
    """Options of `stats`."""
    source_options(parser)
    parser.add_argument("--encoder", type=str, help="whose tokens are counted; minilm if it is installed")
    parser.add_argument("--max_length", type=int, default=512, help="tokens beyond which a text is cut")
    parser.add_argument("--json", action="store_true", help="print JSON")


def show_options(parser: ArgumentParser) -> None:
    """Options of `show`."""
    source_options(parser, seed=None)
    parser.add_argument("--split", type=str, default="train", help="train, dev or test")
    parser.add_argument("--ids", type=str, help="ids of the examples, with commas between them")
    parser.add_argument("--number", type=int, default=5, help="how many: the first, or some drawn by --seed")
    parser.add_argument("--html", type=str, help="write a page")


def convert_options(parser: ArgumentParser) -> None:
    """Options of `convert`."""
    source_options(parser)
    parser.add_argument(
        "target", type=str, help="new file: .jsonl, .csv, .tsv, .parquet, .json (Label Studio)"
    )
    parser.add_argument("--split", type=str, help="only this split")
    parser.add_argument("--names", type=str, default="", help="columns for the texts: premise,hypothesis")


def download_options(parser: ArgumentParser) -> None:
    """Options of `download`."""
    parser.add_argument("name", type=str, help="a dataset name; `unirex data list` has them")
    parser.add_argument(
        "--root", type=str, help=f"folder to put it in, if not that of UNIREX_DATA, or {FOLDER}/"
    )
    parser.add_argument("--force", action="store_true", help="fetch it anew")


def cache_options(parser: ArgumentParser) -> None:
    """Options of `cache`."""
    parser.add_argument("--clear", action="store_true", help="remove everything in it")


ACTIONS: dict[str, tuple[Callable[[ArgumentParser], None], str]] = {
    "list": (root_option, "List the datasets known by name."),
    "stats": (stats_options, "Show a dataset in numbers."),
    "check": (source_options, "Find every mistake in a dataset."),
    "show": (show_options, "Show examples with their gold rationales."),
    "convert": (convert_options, "Write a dataset in another format."),
    "download": (download_options, "Fetch a public dataset."),
    "cache": (cache_options, "Show or clear what is kept of parsed and encoded data."),
}
