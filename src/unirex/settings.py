"""Settings from many places (a method, a file, the caller) to one checked `Config`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser

from unirex.config import Config
from unirex.errors import UserError, one_line
from unirex.gold import check_fraction, gold_share


def merge(base: Mapping[str, Any], diff: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with what `diff` says otherwise; tables are merged, everything else replaced.

    >>> merge({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 5}})
    {'a': {'x': 1, 'y': 5}, 'b': 3}
    """
    merged = dict(base)
    for key, value in diff.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def build_config(settings: Mapping[str, Any]) -> Config:
    """The checked configuration; a key or value it does not know is a `UserError`."""
    parser = ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_class_arguments(Config)
    check_keys(settings, plain(Config()))
    try:
        parsed = parser.parse_object(_listed(dict(settings)))
        config = parser.instantiate(parsed)
    except Exception as error:  # jsonargparse raises several kinds
        raise UserError(f"settings: {one_line(error)}") from error
    return check_values(Config(**vars(config)))


def check_keys(settings: Mapping[str, Any], known: Mapping[str, Any], place: str = "") -> None:
    """Every key exists; free-form tables (`extractor_options`) are checked where they are used."""
    for key, value in settings.items():
        if key not in known:
            near = get_close_matches(str(key), list(known), n=1)
            hint = f"did you mean '{place}{near[0]}'?" if near else f"known: {', '.join(known)}."
            raise UserError(f"unknown setting '{place}{key}'; {hint}")
        if isinstance(value, Mapping) and known[key] and isinstance(known[key], Mapping):
            check_keys(value, known[key], f"{place}{key}.")


def check_values(config: Config) -> Config:
    """The configuration, if its numbers make sense."""
    check_budgets(config.budgets)
    if config.training_budgets is not None:
        check_budgets(config.training_budgets)
    some, trained = config.budgets_per_step, config.training_budgets or config.budgets
    if some is not None and not 1 <= some <= len(trained):
        raise UserError(f"budgets_per_step {some}: give a number from 1 to {len(trained)}.")
    if config.temperature <= 0:
        raise UserError(f"temperature {config.temperature}: must be above 0.")
    training = config.training
    for name in ("epochs", "batch_size", "accumulate"):
        if getattr(training, name) < 1:
            raise UserError(f"training.{name} {getattr(training, name)}: must be at least 1.")
    if training.max_batches is not None and training.max_batches < 1:
        raise UserError(f"training.max_batches {training.max_batches}: must be at least 1.")
    if not 0 <= training.warmup <= 1:
        raise UserError(f"training.warmup {training.warmup}: give a share from 0 to 1.")
    if training.learning_rate is not None and training.learning_rate <= 0:
        raise UserError(f"training.learning_rate {training.learning_rate}: must be above 0.")
    check_fraction(training.gold_fraction)
    if training.gold_fraction < 100:
        gold_share(training.batch_size, training.gold_factor)
    if config.stride is not None and config.stride < 1:
        raise UserError(f"stride {config.stride}: windows must move on; give at least 1.")
    if config.max_length is not None and config.max_length < 3:
        raise UserError(f"max_length {config.max_length}: must be at least 3.")
    return config


def check_budgets(budgets: Sequence[float]) -> None:
    """Budgets are shares of the tokens in per cent."""
    if not budgets or not all(0 < budget <= 100 for budget in budgets):
        raise UserError(f"budgets {list(budgets)}: give per cents above 0 and up to 100.")


def read_settings(path: str | Path) -> dict[str, Any]:
    """Settings from a YAML file."""
    try:
        content = yaml.safe_load(Path(path).read_text("utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such configuration file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({one_line(error)}).") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML ({one_line(error)}).") from error
    if content is not None and not isinstance(content, dict):
        raise UserError(f"{path}: expected `setting: value` lines, found {type(content).__name__}.")
    return content or {}


def plain(config: Config) -> dict[str, Any]:
    """The configuration as nested tables of plain values, ready for YAML."""
    return _listed(asdict(config))


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(one) for key, one in value.items()}
    return [_listed(one) for one in value] if isinstance(value, tuple) else value


def flat(settings: Mapping[str, Any], *, keep: Sequence[str] = (), place: str = "") -> dict[str, Any]:
    """Nested tables as dotted names, but for the tables called in `keep`.

    >>> flat({"a": {"x": 1}, "b": {"y": 2}}, keep=["b"])
    {'a.x': 1, 'b': {'y': 2}}
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and key not in keep:
            found |= flat(value, keep=keep, place=f"{place}{key}.")
        else:
            found[place + str(key)] = value
    return found


def nearest_option(message: str, known: Sequence[str]) -> str:
    """A parser's complaint about an option, with the nearest one that exists.

    >>> nearest_option("Unrecognized arguments: --epoch", ["training.epochs", "data"])
    "Unrecognized arguments: --epoch; did you mean 'training.epochs'?"
    """
    match = re.search(r"(?:[Uu]nrecognized arguments: --|Option ['\"]?)([\w.]+)", message)
    if not match:
        return message
    ends = {name.rpartition(".")[2]: name for name in known}
    near = get_close_matches(match[1], known, n=1) or get_close_matches(
        match[1].rpartition(".")[2], list(ends), n=1
    )
    return f"{message}; did you mean '{ends.get(near[0], near[0])}'?" if near else message
