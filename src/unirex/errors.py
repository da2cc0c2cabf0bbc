"""Errors the user can fix, with messages that say how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user gave; its message names the value, the place and the fix.

    The command line prints the message as one line and exits with code 2; no traceback.
    """


def one_line(error: BaseException) -> str:
    """An exception's message without line breaks, or its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most like another; one of the same letters, if there is one.

    >>> nearest("slm-pf", ["slm-p", "slm-fp"]), nearest("slm-fpo", ["SLM-FPO"]), nearest("xyz", ["slm-p"])
    ('slm-fp', 'SLM-FPO', None)
    """
    lower = {other.lower(): other for other in reversed(known)}
    if name.lower() in lower:
        return lower[name.lower()]
    near = get_close_matches(name, known) or [lower[key] for key in get_close_matches(name.lower(), lower)]
    return next((other for other in near if sorted(other) == sorted(name)), near[0] if near else None)


def unknown(kind: str, name: object, known: Iterable[object]) -> UserError:
    """The error for an unknown name: suggests the nearest known one and lists them all.

    >>> str(unknown("method", "slm-pf", ["slm-fp", "vanilla"]))
    "unknown method 'slm-pf'; did you mean 'slm-fp'? Known: slm-fp, vanilla."
    """
    names = [str(entry) for entry in known]
    near = nearest(str(name), names)
    hint = f"; did you mean '{near}'?" if near else "."
    return UserError(f"unknown {kind} '{name}'{hint} Known: {', '.join(names) or 'none'}.")
