"""What a search varies: settings with their choices or ranges, read from a YAML file and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import yaml

from unirex.config import is_number, merge, read_settings
from unirex.errors import UserError, one_line, unknown
from unirex.experiments.cells import OF_SYSTEM, check_measuring
from unirex.experiments.definition import MEASURE, SEED, Settings, nested
from unirex.experiments.definition_file import LIBRARY

DEFAULT = "search/default.yaml"  # in the library
RANGE = ("low", "high", "log", "step")  # keys of a range
DIAL = f"{MEASURE}dial"
Value = None | bool | int | float | str


@dataclass(frozen=True)
class Choice:
    """One of a list of values."""

    values: tuple[Value, ...]

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values to check before a search begins."""
        return self.values


@dataclass(frozen=True)
class Range:
    """A number between two others; whole if both are.

    Args:
        low: smallest value.
        high: largest value.
        log: whether small numbers are as likely as large ones.
        step: from one value to the next; None: any number, or every whole one.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values to check before a search begins."""
        return (self.low, self.high)


Space = Mapping[str, Choice | Range]  # by the dotted name of a setting


def read_space(
    path: str | None, method: str, settings: Settings, *, preset: str, dataset: str
) -> dict[str, Choice | Range]:
    """The space in a file, whose values are checked with the method; or the default one for the method.

    Args:
        path: a YAML file; None: the weights of the paper.
        method: what is trained.
        settings: of every training, under those of the space.
        preset: of settings.
        dataset: what is trained on.
    """
    from unirex.methods.resolving import resolve

    usual = {"preset": preset, "dataset": dataset}
    place = path or "the default search"
    content = read_settings(path) if path else yaml.safe_load((LIBRARY / DEFAULT).read_text("utf-8"))
    space = {name: _part(name, content[name], place) for name in content}
    if SEED in space:
        raise UserError(f"{place}: {SEED}: all trials have that of --seed, so that settings are compared.")
    if path is None:
        config = resolve(method, None, settings, **usual)
        active = [f"objectives.{name}.weight" for name, _ in config.objectives.active()]
        if config.extractor_options.get("order"):
            active.append(DIAL)
        space = {name: part for name, part in space.items() if name in active}
    if not space:
        raise UserError(
            f"{place}: has nothing to search for {method}; give a file of settings with --search, such as "
            "`training.learning_rate: {low: 1.0e-5, high: 1.0e-3, log: true}`."
        )
    for name, value in _values(space, place) if path else ():
        try:
            if name.startswith(MEASURE):
                check_measuring(nested({name.removeprefix(MEASURE): value}))
            else:
                resolve(method, None, merge(settings, nested({name: value})), **usual)
        except UserError as error:
            raise UserError(f"{place}: {name} {value!r}: {one_line(error)}") from error
    return space


def _values(space: Space, place: str) -> Iterator[tuple[str, Value]]:
    """All values to check; settings that a measurement does not have are an error."""
    for name, part in space.items():
        if name.startswith(MEASURE) and name.removeprefix(MEASURE).split(".")[0] not in OF_SYSTEM:
            known = [MEASURE + option for option in OF_SYSTEM]
            raise UserError(f"{place}: {unknown('setting', name, known)}")
        yield from ((name, value) for value in part.ends)


def _part(name: str, given: Any, place: str) -> Choice | Range:
    """What a setting may be; anything else than a list or a range is an error that names file and setting."""
    if isinstance(given, Mapping) and {"low", "high"} & set(given):
        return _range(name, given, place)
    if not isinstance(given, list) or not given:
        hint = " Write nested settings with dots." if isinstance(given, Mapping) else ""
        raise UserError(
            f"{place}: {name} is a list of values, or a range {{low: …, high: …}}, not {given!r}.{hint}"
        )
    for value in given:
        if not isinstance(value, Value):
            raise UserError(f"{place}: {name}: {value!r} is no single value.")
        if given.count(value) > 1:
            raise UserError(f"{place}: {name}: {value!r} is there twice; give each value once.")
    return Choice(tuple(given))


def _range(name: str, given: Mapping[str, Any], place: str) -> Range:
    for key, value in given.items():
        if key not in RANGE:
            raise UserError(f"{place}: {name}: {unknown('key', key, RANGE)}")
        right = isinstance(value, bool) if key == "log" else is_number(value)
        if not right:
            hint = "; in YAML 1e-5 is written 1.0e-5" if isinstance(value, str) else ""
            wanted = "true or false" if key == "log" else "a number"
            raise UserError(f"{place}: {name}.{key} is {wanted}, not {value!r}{hint}.")
    missing = [key for key in ("low", "high") if key not in given]
    if missing:
        raise UserError(f"{place}: {name}: a range needs {missing[0]}.")
    found = Range(**given)
    if found.low >= found.high:
        raise UserError(f"{place}: {name}: low {found.low} must be below high {found.high}.")
    if found.log and (found.low <= 0 or found.step is not None):
        raise UserError(f"{place}: {name}: log needs a low above 0, and no step.")
    if found.step is not None and found.step <= 0:
        raise UserError(f"{place}: {name}.step {found.step} must be above 0.")
    return found


def points_in(space: Space) -> int | None:
    """How many points a space of choices has; None if there is a range in it."""
    parts = list(space.values())
    return prod(len(part.values) for part in parts if isinstance(part, Choice)) if _finite(parts) else None


def points_of(space: Space) -> Iterator[dict[str, Value]]:
    """All points of a space of choices."""
    for values in product(*(part.ends for part in space.values())):
        yield dict(zip(space, values, strict=True))


def _finite(parts: Sequence[Choice | Range]) -> bool:
    return all(isinstance(part, Choice) for part in parts)


def distributions(space: Space) -> dict[str, Any]:
    """The space as Optuna's distributions."""
    made = import_module("optuna.distributions")
    found = {}
    for name, part in space.items():
        if isinstance(part, Choice):
            found[name] = made.CategoricalDistribution(part.values)
        elif all(isinstance(value, int) for value in (part.low, part.high, part.step or 1)):
            found[name] = made.IntDistribution(part.low, part.high, log=part.log, step=part.step or 1)
        else:
            found[name] = made.FloatDistribution(part.low, part.high, log=part.log, step=part.step)
    return found
