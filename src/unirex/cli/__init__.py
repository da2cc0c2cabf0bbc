"""The command line: `unirex train | evaluate | compare | explain | …`, one module per command."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace

import unirex
from unirex.cli.command import (
    add_commands,
    called_command,
    called_parser,
    command_module,
    joined_tables,
    positionals_first,
    underscored,
)
from unirex.errors import UserError, one_line
from unirex.option_errors import plain_message
from unirex.printable import printable

COMMANDS = {
    name: command_module(name, about)
    for name, about in {
        "train": "Train a system on your data.",
        "evaluate": "Measure accuracy, faithfulness and plausibility.",
        "compare": "Compare systems: tables, tests, plots, a page.",
        "explain": "Classify texts and show the reasons.",
        "global": "Show the words that carry each label, over many texts.",
        "data": "Look at datasets: list, stats, check, show, convert, download.",
        "eraser": "ERASER submissions: export, check, score.",
        "nrg": "Normalised relative gain of the methods of a table.",
        "list": "List what can be named in a setting.",
        "demo": "Train and compare two systems on the embedded corpus.",
        "experiment": "Run whole studies: methods × settings × datasets × seeds, with their report.",
        "serve": "Answer over HTTP: labels, reasons, health, metrics.",
        "study": "Ask people: forward simulation and rating of rationales, with their report.",
        "annotate": "Let people mark the reasons in texts: the page, export, status, retrain.",
        "doctor": "Look at this machine: versions, extras, devices, folders, a run.",
        "bench": "Measure what training, evaluation and explaining cost.",
    }.items()
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    A mistake of the user is printed as one line and gives exit code 2; `--debug` adds the traceback.
    """
    # Not `list(…)`: once `unirex list` has run, that name is the submodule here.
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    debug = "--debug" in arguments
    arguments = underscored([argument for argument in arguments if argument != "--debug"])
    try:
        options = parse(arguments)
        if options.command is None:
            build_parser().print_help()
            return 0
        return COMMANDS[options.command].run(options[options.command])
    except BrokenPipeError:  # `unirex … | head`
        sys.stderr.close()
        return 0
    except (UserError, OSError) as error:  # OSError: a folder that cannot be written, a full disk
        if debug:
            traceback.print_exc()
        print(f"unirex: error: {printable(one_line(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nunirex: stopped.", file=sys.stderr)
        return 130


def parse(arguments: Sequence[str]) -> Namespace:
    """The parsed arguments; a mistake in them is an error that names the option and what is expected."""
    if arguments[:1] == ["experiment"]:
        from unirex.cli.experiment import with_action

        arguments = with_action(arguments)
    parser = build_parser(arguments)
    try:
        joined = joined_tables(arguments, called_parser(parser, arguments))
        if joined[:1] == ["explain"]:
            texts_and_options = positionals_first(joined[1:], called_parser(parser, arguments))
            return parser.parse_args(["explain", *texts_and_options])
        return parser.parse_args(joined)
    except argparse.ArgumentError as error:
        called = called_parser(parser, arguments)
        raise UserError(plain_message(error, called, arguments, known_options(arguments, parser))) from error


def build_parser(arguments: Sequence[str] = ()) -> ArgumentParser:
    """The parser; of the commands, only the one named in the arguments has its options."""
    parser = ArgumentParser(
        prog="unirex",
        description="Text classifiers that show their reasons.",
        epilog="`unirex COMMAND --help` has the options. --debug shows the traceback of an error.",
        exit_on_error=False,
        allow_abbrev=False,
        version=unirex.__version__,
    )
    add_commands(parser, COMMANDS, arguments, dest="command")
    return parser


def known_options(arguments: Sequence[str], parser: ArgumentParser | None = None) -> list[str]:
    """Names of the options of the command that is called; of `train` if none is.

    `parser` is that of the arguments, where it is built already: that of `train` takes a while.
    """
    if called_command(COMMANDS, arguments) is None:
        arguments, parser = ["train"], None
    actions = called_parser(parser or build_parser(arguments), arguments)._actions
    return [option.lstrip("-") for action in actions for option in action.option_strings]
