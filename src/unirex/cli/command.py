"""How commands are declared, parsed and called: one mechanism for `unirex COMMAND` and for sub-commands.

A command is a line for the help, `options(parser, arguments)`, which adds its options, and `run(options)`,
which does the work and returns the exit code. Modules of commands import heavy libraries inside `run`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_origin

import yaml
from jsonargparse import ArgumentParser, Namespace

from unirex.errors import UserError

AddOptions = Callable[[ArgumentParser, Sequence[str]], None]
Run = Callable[[Namespace], int]
OPTION = re.compile(r"--[A-Za-z][\w.-]*(=|$)")  # not a text that begins with dashes


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Args:
        about: its line in the help.
        options: adds its options to a parser. It also gets the raw arguments of the command line, as the
            method named there decides the defaults of `train`.
        run: does the work with the parsed options; returns the exit code.
    """

    about: str
    options: AddOptions
    run: Run


def command_module(name: str, about: str) -> Command:
    """The command in the module `unirex.cli.<name>`, which is imported when the command is used."""
    path = f"unirex.cli.{name}"
    return Command(
        about,
        options=lambda parser, arguments: import_module(path).options(parser, arguments),
        run=lambda options: import_module(path).run(options),
    )


def sub_commands(name: str, commands: Mapping[str, Command]) -> tuple[AddOptions, Run]:
    """`options` and `run` of the command `name`, which has sub-commands and nothing else."""

    def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
        add_commands(parser, commands, arguments, dest="action")

    def run(options: Namespace) -> int:
        if options.action is None:
            raise UserError(f"{name} needs to know what to do: unirex {name} {' | '.join(commands)}")
        return commands[options.action].run(options[options.action])

    return options, run


def add_commands(
    parser: ArgumentParser, commands: Mapping[str, Command], arguments: Sequence[str], *, dest: str
) -> None:
    """Add the commands to a parser; only the one that is called gets its options, as they take a while."""
    group = parser.add_subcommands(required=False, dest=dest)
    called = called_command(commands, arguments)
    for name, command in commands.items():
        sub = ArgumentParser(exit_on_error=False, allow_abbrev=False, description=command.about)
        group.add_subcommand(name, sub, help=command.about)
        if name == called:
            # Only now: jsonargparse needs nested sub-commands to be added from the outside in.
            command.options(sub, arguments)


def called_command(commands: Iterable[str], arguments: Sequence[str]) -> str | None:
    """The first of the arguments that names a command."""
    return next((argument for argument in arguments if argument in commands), None)


def called_parser(parser: ArgumentParser, arguments: Sequence[str]) -> ArgumentParser:
    """The parser of the innermost sub-command that is called."""
    choices = parser._subcommands_action.choices if parser._subcommands_action else {}
    name = called_command(choices, arguments)
    return called_parser(choices[name], arguments) if name else parser


def underscored(arguments: Sequence[str]) -> list[str]:
    """The same arguments with underscores for the dashes in names of options.

    >>> underscored(["--on-error", "skip", "--max-length=30", "--", "--as-it-is"])
    ['--on_error', 'skip', '--max_length=30', '--', '--as-it-is']
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [_underscored(argument) for argument in arguments[:end]] + list(arguments[end:])


def _underscored(argument: str) -> str:
    if not OPTION.match(argument):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def positionals_first(arguments: Sequence[str], parser: ArgumentParser) -> list[str]:
    """The same arguments with positional ones before options, as argparse takes them in one run only.

    An option that takes any number of values takes all that follow it, up to the next option.

    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("--extractor"), parser.add_argument("--json", action="store_true")
    >>> positionals_first(["runs/a", "--extractor", "ig", "a fine film", "--json", "so dull"], parser)
    ['runs/a', 'a fine film', 'so dull', '--extractor', 'ig', '--json']
    """
    sizes = {option: action.nargs for action in parser._actions for option in action.option_strings}
    positionals: list[str] = []
    options: list[str] = []
    rest = deque(arguments)
    while rest:
        argument = rest.popleft()
        if argument == "--":  # everything after it is positional
            return [*options, argument, *positionals, *rest]
        if not OPTION.match(argument):
            positionals.append(argument)
            continue
        options.append(argument)
        size = 0 if "=" in argument else sizes.get(argument)
        most = size if isinstance(size, int) else len(rest) if size == "+" else 1
        while most and rest and not (size == "+" and OPTION.match(rest[0])):
            options.append(rest.popleft())
            most -= 1
    return [*positionals, *options]


def joined_tables(arguments: Sequence[str], parser: ArgumentParser) -> list[str]:
    """The same arguments with `--settings.a.b 1 --settings.a.c 2` as one `--settings.a`, where the last was.

    jsonargparse keeps only the last of those that share a part; what is one level deep it keeps.

    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("--settings", type=dict)
    >>> joined_tables(["--settings.a.b", "1", "--settings.d=x", "--settings.a.c=2", "main"], parser)
    ['--settings.d=x', '--settings.a={"b": 1, "c": 2}', 'main']
    """
    for action in parser._actions:
        hint = getattr(action, "_typehint", None)
        if action.option_strings and dict in (hint, get_origin(hint)):
            arguments = _joined_table(arguments, action.option_strings[0])
    return list(arguments)


def _joined_table(arguments: Sequence[str], table: str) -> Sequence[str]:
    """See `joined_tables`; the arguments themselves if a value is missing, which the parser says better."""
    from unirex.config import merge

    joined: list[str] = []
    places: dict[str, int] = {}  # of the joined options, by their first part
    dropped: set[int] = set()  # places of those that a later one repeats
    given: dict[str, Any] = {}
    rest = deque(arguments)
    while rest and rest[0] != "--":
        argument = rest.popleft()
        name, equals, value = argument.partition("=")
        if name != table and not name.startswith(f"{table}."):
            joined.append(argument)
            continue
        if not equals and (not rest or OPTION.match(rest[0])):
            return arguments
        words = [argument] if equals else [argument, rest.popleft()]
        part = _value(value if equals else words[1])
        path = [] if name == table else name[len(table) + 1 :].split(".")
        for key in reversed(path):
            part = {key: part}
        if not isinstance(part, dict):
            return arguments
        given = merge(given, part)
        if len(path) < 2:
            joined += words
            continue
        if path[0] in places:
            dropped.add(places[path[0]])
        places[path[0]] = len(joined)
        joined.append(f"{table}.{path[0]}={json.dumps(given[path[0]])}")
    return [*(word for place, word in enumerate(joined) if place not in dropped), *rest]


def _value(text: str) -> Any:
    """A value as JSON can hold it: what YAML reads, else the text itself."""
    try:
        value = yaml.safe_load(text)
        json.dumps(value, allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError):
        return text
    return value
