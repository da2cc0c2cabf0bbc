"""Errors the user can fix, with messages that say how."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user gave; its message names the value, the place and the fix.

    The command line prints the message as one line and exits with code 2; no traceback.
    """


def one_line(error: BaseException) -> str:
    """An exception's message without line breaks, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def unknown(kind: str, name: object, known: Iterable[object]) -> UserError:
    """The error for an unknown name: suggests the nearest known one and lists them all.

    >>> str(unknown("method", "slm-pf", ["slm-fp", "vanilla"]))
    "unknown method 'slm-pf'; did you mean 'slm-fp'? Known: slm-fp, vanilla."
    """
    names = [str(entry) for entry in known]
    near = get_close_matches(str(name), names, n=1)
    hint = f" did you mean '{near[0]}'?" if near else ""
    return UserError(f"unknown {kind} '{name}';{hint} Known: {', '.join(names) or 'none'}.")
