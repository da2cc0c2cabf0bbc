"""The command line: `unirex train | evaluate | compare | explain | …`; heavy imports wait."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import jsonargparse
import yaml
from jsonargparse import ArgumentParser, Namespace

import unirex
from unirex import cli_data
from unirex.bench.groups import GROUPS
from unirex.cli_data import READING, reading_options
from unirex.cli_list import KINDS, listed
from unirex.config import Config, check_keys, flat, nearest_option, plain, read_settings
from unirex.errors import UserError, one_line
from unirex.extractors import extractor_name
from unirex.methods.catalogue import check_variant, family, method_diff, method_names

METHOD = "slm-fp"
FLAGS = ("--json", "--pair", "--help")  # options of `explain` without a value
LIGHT = ("compare", "eraser", "nrg")  # commands in modules of their own that need no torch
OWN = (
    "method",
    "data",
    *READING,
    "data_options",
    "data_seed",
    "out",
    "resume",
    "force",
    "stages",
    "threads",
)  # of `train`, beside the settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; mistakes of the user are one line and exit code 2, `--debug` shows where they arose."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [one for one in arguments if one != "--debug"]
    if arguments[:1] == ["explain"]:
        arguments = ["explain", *texts_first(arguments[1:])]
    try:
        parsed = build_parser(arguments).parse_args(arguments)
        return run(parsed)
    except (UserError, argparse.ArgumentError, jsonargparse.ArgumentError) as error:
        if debug:
            traceback.print_exc()
        print(f"unirex: error: {nearest_option(one_line(error), known_options(arguments))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `unirex … | head`
        sys.stderr.close()
        return 0
    except OSError as error:  # a folder that cannot be written, a disk that is full
        if debug:
            traceback.print_exc()
        print(f"unirex: error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nunirex: stopped.", file=sys.stderr)
        return 130


def build_parser(arguments: Sequence[str] = ()) -> ArgumentParser:
    """The parser; a method named in the arguments sets the defaults of `train`."""
    parser = ArgumentParser(
        prog="unirex",
        description="Text classifiers that show their reasons.",
        epilog="`unirex COMMAND --help` has the options. --debug shows the traceback of an error.",
        exit_on_error=False,
        allow_abbrev=False,
        version=unirex.__version__,
    )
    commands = parser.add_subcommands(required=False, dest="command")
    called = next((one for one in arguments if one in COMMANDS), None)
    for name, (make, about) in COMMANDS.items():
        sub = ArgumentParser(exit_on_error=False, allow_abbrev=False, description=about)
        commands.add_subcommand(name, sub, help=about)
        if called == name or (called is None and name not in LIGHT):  # the others take a while to build
            make(sub, arguments)  # after, as jsonargparse takes levels of sub-commands from the outside in
    return parser


def train_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `train`: every setting, with the method's defaults."""
    parser.add_argument("--config", action="config", help="settings as a YAML file")
    parser.add_argument("--method", default=METHOD, help=f"one of {', '.join(method_names())}")
    parser.add_argument("--data", type=str, help="a dataset name, a file or a folder")
    dataset_options(parser)
    parser.add_argument("--out", type=str, help="folder for the run; must be new")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument(
        "--force", action="store_true", help="train anew what is there, stages included; replaces --out"
    )
    parser.add_argument(
        "--stages", type=str, help="folder for the stages of fresh and l2e, to share them (default: in --out)"
    )
    threads_option(parser)
    parser.add_class_arguments(Config)
    if "train" not in arguments:
        return
    given = checked_file(value_of("--config", arguments))
    method = value_of("--method", arguments) or given.get("method") or METHOD
    group = family(method)
    table = yaml.safe_load(value_of(f"--{group}", arguments) or "{}")
    variant = value_of(f"--{group}.variant", arguments) or (
        table.get("variant") if isinstance(table, dict) else None
    )
    if variant:
        check_variant(method, given, {group: {"variant": variant}})
    diff = method_diff(method, {group: {"variant": variant}} if variant else given)
    asked = value_of("--extractor", arguments) or given.get("extractor", diff["extractor"])
    if diff["extractor"] != extractor_name(asked):
        diff.pop("extractor_options", None)  # `resolve` keeps those the other extractor knows
    parser.set_defaults(flat(diff, keep=("extractor_options",)))


def dataset_options(parser: ArgumentParser) -> None:
    """How the data is read; named apart from the settings of a system."""
    reading_options(parser)
    parser.add_argument("--data_seed", type=int, default=0, help="for splits and samples that are drawn")


def threads_option(parser: ArgumentParser) -> None:
    """How many processor cores are used at once."""
    parser.add_argument("--threads", type=int, help="CPU threads, if not as UNIREX_THREADS or torch says")


def checked_file(path: str | None) -> dict[str, Any]:
    """The settings of a configuration file; a key nobody knows is an error that names the file."""
    if path is None:
        return {}
    settings = read_settings(path)
    try:
        check_keys(settings, plain(Config()) | dict.fromkeys(OWN))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return settings


def evaluate_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `evaluate`."""
    parser.add_argument("run", type=str, nargs="?", help="folder of a trained system, or of any classifier")
    parser.add_argument("--model", type=str, help="a Hugging Face sequence classifier: a folder or a Hub id")
    parser.add_argument(
        "--labels", type=list[bool | int | str], help="of --model: names of its classes, in their order"
    )
    parser.add_argument(
        "--from-records", type=str, help="no system: compute the metrics of these records again"
    )
    parser.add_argument(
        "--predictions", type=str, help="no system: score what another tool said, ERASER or simple JSONL"
    )
    parser.add_argument("--missing", type=str, default="error", help="of --predictions: error, or skip")
    parser.add_argument(
        "--above", type=float, help="of --predictions: words scored above this are selected (default: 0)"
    )
    parser.add_argument("--data", type=str, help="a dataset name, a file or a folder")
    dataset_options(parser)
    parser.add_argument(
        "--split", type=str, default="test", help="train, dev, test, or all: every row, read as a stream"
    )
    parser.add_argument(
        "--number", type=int, help="only the first so many; of sorted data that is no fair part"
    )
    parser.add_argument("--extractor", type=str, help="explain by another algorithm than the system's own")
    parser.add_argument("--extractor_options", type=dict[str, Any], default={}, help="its options")
    parser.add_argument(
        "--budgets", type=list[float], help="other budgets than the system's own, in per cent"
    )
    parser.add_argument("--removal", type=str, help="attention_mask, delete, mask_token or pad_token")
    parser.add_argument(
        "--beside",
        type=str,
        nargs="*",
        help="further removals (default: the one training used and one it never saw)",
    )
    parser.add_argument("--draws", type=int, default=5, help="of random scores, for the floor")
    parser.add_argument(
        "--probes", type=str, nargs="+", default=[], help="further metrics: all, or some of the probes"
    )
    parser.add_argument("--target", type=str, default="predicted", help="follow the predicted or gold label")
    parser.add_argument("--batch_size", type=int, default=128, help="texts at once")
    parser.add_argument(
        "--records", type=str, nargs="+", default=["jsonl", "parquet"], help="formats of the records"
    )
    parser.add_argument("--out", type=str, help="folder for records and metrics (default: in the run)")
    threads_option(parser)


def explain_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `explain`."""
    parser.add_argument("run", type=str, nargs="?", help="folder of a trained system, or of any classifier")
    parser.add_argument("--model", type=str, help="a Hugging Face sequence classifier: a folder or a Hub id")
    parser.add_argument(
        "--labels", type=list[bool | int | str], help="of --model: names of its classes, in their order"
    )
    parser.add_argument("--pair", action="store_true", help="of --model: two texts belong together")
    parser.add_argument("texts", type=str, nargs="*", help="texts to explain; for pairs, two for each")
    parser.add_argument(
        "--file", type=str, help="a file of texts: JSONL, CSV, TSV, Parquet, or one a line (.txt)"
    )
    parser.add_argument("--data", type=str, help="examples of a dataset: a name, a file or a folder")
    dataset_options(parser)
    parser.add_argument("--split", type=str, help="of --data; test if not given")
    parser.add_argument("--number", type=int, help="of --data: the first so many")
    parser.add_argument("--choices", type=list[str], help='answers to choose from: \'["sea", "sky"]\'')
    parser.add_argument(
        "--budget", type=float, help="size of the rationale, in per cent of the tokens (default: 20)"
    )
    parser.add_argument("--selector", type=str, help="top-k (default), or best-span for one run of words")
    parser.add_argument("--extractor", type=str, help="explain by another algorithm than the system's own")
    parser.add_argument("--extractor_options", type=dict[str, Any], default={}, help="its options")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.add_argument("--html", type=str, help="write a page")
    parser.add_argument(
        "--label_studio", type=str, help="write tasks for Label Studio, to be corrected there"
    )
    parser.add_argument("--out", type=str, help="write JSONL")
    threads_option(parser)


def list_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `list`."""
    parser.add_argument("kind", type=str, help=" | ".join(KINDS))


def demo_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `demo`."""
    parser.add_argument("--out", type=str, default="runs/demo", help="folder for the runs and the report")


def bench_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Options of `bench`."""
    parser.add_argument("--only", type=str, nargs="+", help=f"some groups: {', '.join(GROUPS)}")
    parser.add_argument("--data", type=str, help="a dataset name or a file (default: sst, or else demo)")
    parser.add_argument("--root", type=str, help="folder of the datasets, if not what UNIREX_DATA names")
    parser.add_argument("--encoder", type=str, default="minilm", help="minilm, a Hub id or a folder")
    parser.add_argument("--run", type=str, help="a trained system to explain and evaluate with")
    parser.add_argument("--batch_size", type=int, help="texts at once (default: 32; 8 with --quick)")
    parser.add_argument("--repetitions", type=int, help="of each measurement (default: 7; 2 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a rough look in a minute or two")
    parser.add_argument("--out", type=str, default="benchmarks/results", help="folder for the results")
    threads_option(parser)


def lazily(module: str, name: str) -> Callable[[ArgumentParser, Sequence[str]], None]:
    """Options that are kept beside their command, and imported when they are asked for."""

    def make(parser: ArgumentParser, arguments: Sequence[str]) -> None:
        getattr(import_module(f"unirex.{module}"), name)(parser, arguments)

    return make


COMMANDS: dict[str, tuple[Callable[[ArgumentParser, Sequence[str]], None], str]] = {
    "train": (train_options, "Train a system on your data."),
    "evaluate": (evaluate_options, "Measure accuracy, faithfulness and plausibility."),
    "compare": (lazily("cli_compare", "compare_options"), "Compare systems: tables, tests, plots, a page."),
    "explain": (explain_options, "Classify texts and show the reasons."),
    "data": (cli_data.data_options, "Look at datasets: list, stats, check, show, convert, download."),
    "eraser": (lazily("cli_eraser", "eraser_options"), "ERASER submissions: export, check, score."),
    "nrg": (lazily("cli_nrg", "nrg_options"), "Normalised relative gain of the methods of a table."),
    "list": (list_options, "List what can be named in a setting."),
    "demo": (demo_options, "Train and compare two systems on the embedded corpus."),
    "bench": (bench_options, "Measure what training, evaluation and explaining cost."),
}


def run(parsed: Namespace) -> int:
    """Carry out the parsed command."""
    if parsed.command is None:
        build_parser().print_help()
        return 0
    options = parsed[parsed.command]
    if parsed.command == "list":
        print(listed(options.kind))
        return 0
    if parsed.command == "data":
        return cli_data.data(options)
    if parsed.command in LIGHT:
        return getattr(import_module(f"unirex.cli_{parsed.command}"), parsed.command)(options)
    from unirex import cli_commands  # heavy

    cli_commands.use_threads(options.get("threads"))
    if parsed.command == "bench":
        from unirex.bench.command import bench

        return bench(options)
    return getattr(cli_commands, parsed.command)(options)


def texts_first(arguments: Sequence[str]) -> list[str]:
    """The same arguments with what is no option before what is: the parser takes texts in one run only.

    >>> texts_first(["runs/a", "--extractor", "ig", "a fine film", "--json"])
    ['runs/a', 'a fine film', '--extractor', 'ig', '--json']
    """
    texts: list[str] = []
    options: list[str] = []
    left = iter(arguments)
    for one in left:
        if one == "--":
            return [*options, one, *texts, *left]
        if not one.startswith("--"):
            texts.append(one)
            continue
        options.append(one)
        if "=" not in one and one not in FLAGS:
            options += [value for value in [next(left, None)] if value is not None]
    return [*texts, *options]


def known_options(arguments: Sequence[str]) -> list[str]:
    """Every option of the command that was called, for "did you mean"."""
    command = next((one for one in arguments if one in COMMANDS), "train")
    if command in ("data", "eraser"):
        return import_module(f"unirex.cli_{command}").known_options(arguments)
    parser = ArgumentParser(exit_on_error=False)
    COMMANDS[command][0](parser, ())
    return [option.lstrip("-") for action in parser._actions for option in action.option_strings]


def value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value given to an option, before anything is parsed.

    >>> value_of("--method", ["train", "--method=aa-f"]), value_of("--method", ["--method", "vanilla"])
    ('aa-f', 'vanilla')
    """
    for index, one in enumerate(arguments):
        if one.startswith(f"{option}="):
            return one.partition("=")[2]
        if one == option and index + 1 < len(arguments):
            return arguments[index + 1]
    return None


if __name__ == "__main__":
    sys.exit(main())
