"""Methods by name: each is a small YAML diff of the default settings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from unirex.config import Config, merge
from unirex.errors import UserError, unknown

ORDER = ("vanilla", "aa", "dlm", "slm", "sgt", "l2e", "fresh", "a2r", "hard")
NOT_SETTINGS = ("about", "stages", "variants")  # keys of a method's file
FAMILIES = ("sgt", "l2e", "fresh", "a2r")  # methods with a group of settings of their own


def method_names() -> list[str]:
    """The methods that can be fitted."""
    names = [file.name[:-5] for file in files(__package__).iterdir() if file.name.endswith(".yaml")]
    return sorted(names, key=lambda name: (ORDER.index(name.split("-")[0]), len(name), name))


def method_settings(name: str) -> dict[str, Any]:
    """A method's file: its settings where they differ from the defaults.

    It also has `about`: a description; `stages`: the module that trains it, if it takes several trainings;
    `variants`: the settings of its named variants.
    """
    if name not in method_names():
        raise unknown("method", name, method_names())
    return yaml.safe_load((files(__package__) / f"{name}.yaml").read_text("utf-8"))


def method_diff(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """How a method differs from the default settings, in the variant that the user's settings choose.

    >>> method_diff("sgt", {})["extractor"], method_diff("sgt", {"sgt": {"variant": "original"}})["extractor"]
    ('integrated-gradients', 'gradient')
    """
    file = method_settings(name)
    diff = {key: value for key, value in file.items() if key not in NOT_SETTINGS}
    return merge(diff, file.get("variants", {}).get(str(variant_of(name, settings)), {}))


def variant_of(name: str, settings: Mapping[str, Any]) -> str | None:
    """The variant of a method that settings choose: `a2r.variant` for a2r and a2r-p."""
    group = family(name)
    default = getattr(getattr(Config(), group, None), "variant", None)
    table = settings.get(group)
    return table.get("variant", default) if isinstance(table, Mapping) else default


def check_variant(name: str, file: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse a configuration file for another variant than single settings choose: it would be a hybrid."""
    group = family(name)
    tables = [table.get(group) for table in (file, settings)]
    variants = [table["variant"] for table in tables if isinstance(table, Mapping) and "variant" in table]
    if len(variants) == 2 and variants[0] != variants[1]:
        raise UserError(f"the configuration is for {group}.variant '{variants[0]}', not '{variants[1]}'.")


def family(name: str) -> str:
    """The group of settings that belongs to a method.

    >>> family("a2r-p"), family("fresh")
    ('a2r', 'fresh')
    """
    return name.removesuffix("-p").replace("-", "_")
