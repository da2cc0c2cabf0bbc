"""What the option parser complains about, in plain words: the option, what was given, what is expected."""

from __future__ import annotations

import re
from argparse import Action
from collections.abc import Iterable, Iterator, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from unirex.errors import nearest, one_line, unknown

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "null"}
LISTS = {
    int: "a list of whole numbers like [0, 1]",
    float: "a list of numbers like [1, 5]",
    str: 'a list of texts like ["a", "b"]',
}
QUOTES = "a text with blanks needs quotes around it"
LONGEST = 60  # characters of a value that are shown
OTHER_NAMES = {"file": "data"}  # options of one command that another calls otherwise

# Messages of argparse and jsonargparse.
BAD_VALUE = re.compile(r'Parser key "([^"]+)"[^:"]*: (?!.*Parser key)(.*)')
GIVEN = re.compile(r".*(?:Got value:|Given value:) ?(.*)|Unable to load config (.*?)(?: - .*)?$")
BAD_CHOICE = re.compile(r"argument (\S+): invalid choice: (.*) \(choose from (.*)\)")
UNKNOWN = re.compile(r"[Uu]nrecognized arguments: (\S*)")
UNKNOWN_SETTING = re.compile(r"(?:accept option|[Kk]ey) ['\"]([\w.]+)")
NO_VALUE = re.compile(r"argument (\S+): expected (?:one|at least one|\d+) argument")
FLAG = re.compile(r"argument (\S+): ignored explicit argument (.*)")
REQUIRED = re.compile(r"the following arguments are required: ([\w.]+)")


def plain_message(
    error: BaseException, parser: ArgumentParser, arguments: Sequence[str] = (), known: Iterable[str] = ()
) -> str:
    """The message of a parser's error without anything about the parser itself.

    Args:
        error: what the parser raised.
        parser: the one whose options were read, of the innermost command.
        arguments: the command line, if there is one.
        known: names of the options that an unknown one may have meant.
    """
    said = one_line(error)
    if found := BAD_VALUE.search(said):
        given = GIVEN.search(found[2])
        value = "" if given is None else given[1] or (given[2] or "").strip("'\"")
        return f"{_named(found[1], arguments)} {_shown(value)}: {_expected_of(parser, found[1], value)}"
    if found := BAD_CHOICE.search(said):
        return _bad_choice(*found.groups())
    if found := UNKNOWN.search(said):
        word, option = found[1], found[1].startswith("-")
        return _unknown_option(word, known) if option else f"'{word}' is one argument too many; {QUOTES}."
    if found := UNKNOWN_SETTING.search(said):
        return _unknown_option(found[1], known)
    if found := NO_VALUE.search(said):
        action = _action(parser, found[1].lstrip("-"))
        words = "" if action is None or _hint(action) in (None, str) else f"; give {expected(_hint(action))}"
        return f"{found[1]}: a value is missing{words}."
    if found := FLAG.search(said):
        return f"{found[1]}: takes no value; leave out {found[2]}."
    if found := REQUIRED.search(said):
        return _missing(parser, found[1])
    return said


def expected(hint: Any) -> str:
    """The values of a type, in words.

    >>> expected(int | None), expected(tuple[float, ...]), expected(Literal["cls", "mean"])
    ('a whole number or null', 'a list of numbers like [1, 5]', 'one of cls, mean')
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(map(expected, parts))
    if kind is Literal:
        return f"one of {', '.join(map(str, parts))}" if len(parts) > 1 else str(parts[0])
    if kind in (list, tuple):
        return LISTS.get(parts[0], "a list like [a, b]") if parts else "a list like [a, b]"
    if kind is dict:
        return "names with values like {name: value}"
    return WORDS.get(kind, "another value")


def nearest_option(name: str, known: Iterable[str]) -> str | None:
    """The known option that a name is most like, as a whole or in what follows its last dot.

    >>> nearest_option("epoch", ["training.epochs", "data"])
    'training.epochs'
    """
    names = list(known)
    ends = {option.rpartition(".")[2]: option for option in names}
    near = nearest(name, names) or nearest(name.rpartition(".")[2], list(ends))
    return ends.get(near, near) if near else None


def _unknown_option(word: str, known: Iterable[str]) -> str:
    names, word = list(known), word.lstrip("-")
    other = OTHER_NAMES.get(word)
    near = other if other in names else nearest_option(word, names)
    hint = f"did you mean '--{near}'?" if near else "--help lists the options."
    return f"unknown option '--{word}'; {hint}"


def _bad_choice(argument: str, given: str, choices: str) -> str:
    names, value = re.findall(r"'([^']*)'", choices), given.strip("'\"")
    if not argument.startswith("-"):  # the name of a command
        return str(unknown("command", value, names))
    return f"{argument} {_shown(value)}: {_one_of(names, value)}"


def _missing(parser: ArgumentParser, dest: str) -> str:
    *commands, name = dest.split(".")
    action = _action(parser, name)
    option = action.option_strings[0] if action and action.option_strings else name.upper()
    about = f": {action.help}" if action and action.help else ""
    return f"{' '.join(commands)} needs {option}{about}."


def _named(key: str, arguments: Sequence[str]) -> str:
    """The option as it was typed, or the setting of the configuration file that was named."""
    names = [argument.partition("=")[0].rstrip("+") for argument in arguments]  # `--budgets+` adds one
    if any(name == f"--{parent}" for name in names for parent in _parents(key)):
        return f"--{key}"
    file = next(
        (value for name, value in zip(names, arguments[1:], strict=False) if name == "--config"), None
    )
    return f"{file}: {key}" if file else key


def _parents(key: str) -> Iterator[str]:
    """A dotted name, and the names of the groups it is in."""
    while key:
        yield key
        key = key.rpartition(".")[0]


def _expected_of(parser: ArgumentParser, key: str, value: str) -> str:
    action = _action(parser, key)
    hint = None if action is None else _hint(action)
    if hint is None:
        members = [each.dest for each in parser._actions if each.dest.startswith(f"{key}.")]
        first = members[0].removeprefix(f"{key}.") if members else "name"
        return f"must be settings like {{{first}: value}}."
    if get_origin(hint) is Literal:
        return _one_of([str(name) for name in get_args(hint)], value)
    return f"must be {expected(hint)}."


def _one_of(names: Sequence[str], value: str) -> str:
    near = nearest(value, names)
    return f"must be one of {', '.join(names)}" + (f"; did you mean '{near}'?" if near else ".")


def _action(parser: ArgumentParser, name: str) -> Action | None:
    """The option or argument with a name."""
    return next((action for action in parser._actions if action.dest == name), None)


def _hint(action: Action) -> Any:
    return getattr(action, "_typehint", None)


def _shown(value: str) -> str:
    """A value as it is typed, cut if it is long."""
    value = {"": "''", "None": "null"}.get(value.strip(), value.strip())
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
