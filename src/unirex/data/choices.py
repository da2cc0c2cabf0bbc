"""Choices to pick one from, and which of them a label means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from reprlib import repr as short

from unirex.data.example import Label, choice_label
from unirex.data.validate import check_text, is_missing
from unirex.errors import UserError


def parse_choices(value: object, *, column: str = "choices") -> tuple[str, ...] | None:
    """The choices of a cell, a list or one written as JSON; None where it says nothing.

    >>> parse_choices('["yes", "no"]')
    ('yes', 'no')
    """
    if is_missing(value):
        return None
    found = _from_json(value) if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or len(found) < 2:
        raise UserError(
            f'\'{column}\' must be a JSON list of two or more texts like ["yes", "no"], not {short(value)}; '
            "if this column holds something else, say so with an empty column name for choices"
        )
    return tuple(check_text(choice, column=f"{column}[{n}]") for n, choice in enumerate(found))


def pick(label: Label, choices: Sequence[str], *, column: str = "label") -> str:
    """The letter of the choice that a label means: by its letter, its number from 0, or its text.

    >>> pick("B", ["yes", "no"]), pick(1, ["yes", "no"]), pick("no", ["yes", "no"])
    ('B', 'B', 'B')
    """
    found = [number for number, choice in enumerate(choices) if _means(label, number, choice)]
    if len(found) == 1:
        return choice_label(found[0])
    known = ", ".join(f"{choice_label(number)} ({short(choice)})" for number, choice in enumerate(choices))
    if found:
        both = " and ".join(choice_label(number) for number in found)
        raise UserError(f"'{column}' {label!r} could mean the choices {both} of {known}; give the letter")
    raise UserError(
        f"'{column}' {label!r} is none of the choices {known}; give a letter, the text, or the number "
        f"from 0 to {len(choices) - 1}"
    )


def _means(label: Label, number: int, choice: str) -> bool:
    if isinstance(label, str):  # a CSV file has no numbers, only their digits
        return label.strip() in (choice.strip(), choice_label(number), str(number))
    return not isinstance(label, bool) and label == number


def _from_json(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # not a list either: told by whoever asked
