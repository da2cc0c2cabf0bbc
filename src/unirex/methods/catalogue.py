"""Methods by name: each a small YAML diff of the default settings, and how the settings come together."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from unirex.config import Config, build_config, merge, read_settings
from unirex.errors import UserError, unknown
from unirex.extractors import extractor_name, known_options

ORDER = ("vanilla", "aa", "dlm", "slm", "sgt", "l2e", "fresh", "a2r", "hard")
APART = ("about", "stages", "variants")  # of a method's file: not settings


def method_names() -> list[str]:
    """The methods that can be fitted."""
    found = [file.name for file in files(__package__).iterdir() if file.name.endswith(".yaml")]
    names = [name.removesuffix(".yaml") for name in found]
    return sorted(names, key=lambda name: (ORDER.index(name.split("-")[0]), len(name), name))


def method_settings(name: str) -> dict[str, Any]:
    """A method's file: what it sets differently from the defaults.

    And `about`: what it is; `stages`: the module that trains it, if one training is not enough; `variants`:
    what its named variants set differently again.
    """
    if name not in method_names():
        raise unknown("method", name, method_names())
    return yaml.safe_load((files(__package__) / f"{name}.yaml").read_text("utf-8"))


def method_diff(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a method sets differently from the defaults, in the variant that is asked for.

    >>> method_diff("sgt", {})["extractor"], method_diff("sgt", {"sgt": {"variant": "original"}})["extractor"]
    ('integrated-gradients', 'gradient')
    """
    file = method_settings(name)
    diff = {key: value for key, value in file.items() if key not in APART}
    return merge(diff, file.get("variants", {}).get(variant_of(name, asked), {}))


def variant_of(name: str, asked: Mapping[str, Any]) -> str | None:
    """The variant of a method that is asked for: `a2r.variant` for a2r and a2r-p."""
    group = family(name)
    usual = getattr(getattr(Config(), group, None), "variant", None)
    given = asked.get(group)
    return given.get("variant", usual) if isinstance(given, Mapping) else usual


def check_variant(name: str, given: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """A file of settings is for the variant that is asked for: its settings would make a hybrid otherwise."""
    group = family(name)
    for_variant, wanted = given.get(group), asked.get(group)
    if not isinstance(for_variant, Mapping) or not isinstance(wanted, Mapping):
        return
    if for_variant.get("variant", wanted.get("variant")) != wanted.get("variant", for_variant.get("variant")):
        raise UserError(
            f"the configuration is for {group}.variant '{for_variant['variant']}', not '{wanted['variant']}'."
        )


def family(name: str) -> str:
    """The settings that belong to a method.

    >>> family("a2r-p"), family("fresh")
    ('a2r', 'fresh')
    """
    return name.removesuffix("-p").replace("-", "_")


def resolve(
    method: str, config: str | Path | Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Config:
    """Defaults, then the method, then a configuration file or table, then single settings."""
    given = dict(read_settings(config) if isinstance(config, str | Path) else config or {})
    named = given.pop("method", method)
    if named != method:
        raise UserError(f"the configuration is for method '{named}', not '{method}'.")
    check_variant(method, given, settings)
    asked = merge(given, settings)
    diff = method_diff(method, asked)
    if "extractor" in asked:
        asked["extractor"] = extractor_name(asked["extractor"])
    extractor = asked.get("extractor", diff["extractor"])
    if extractor != diff["extractor"]:  # it may not have all the options of the method's own
        diff["extractor_options"] = known_options(extractor, diff.get("extractor_options", {}))
    return build_config(merge(diff, asked))
