"""Methods by name: each is a small YAML diff of the default settings, merged with the user's settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from unirex.config import Config, build_config, check_keys, merge, plain, read_settings
from unirex.data.validate import at
from unirex.errors import UserError, unknown
from unirex.extractors import extractor_name, known_options

ORDER = ("vanilla", "aa", "dlm", "slm", "sgt", "l2e", "fresh", "a2r", "hard")
NOT_SETTINGS = ("about", "stages", "variants")  # keys of a method's file


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


def resolve(
    method: str, config: str | Path | Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Config:
    """The configuration of a method: defaults, then the method, then a file or table, then settings."""
    file = dict(read_settings(config) if isinstance(config, str | Path) else config or {})
    named = file.pop("method", method)
    with at(config) if isinstance(config, str | Path) else nullcontext():
        check_keys(file, plain(Config()))
    if named != method:
        raise UserError(f"the configuration is for method '{named}', not '{method}'.")
    check_variant(method, file, settings)
    user = merge(file, settings)
    diff = method_diff(method, user)
    if "extractor" in user:
        user["extractor"] = extractor_name(user["extractor"])
    extractor = user.get("extractor", diff["extractor"])
    if extractor != diff["extractor"]:  # it may not have all the options of the method's own
        diff["extractor_options"] = known_options(extractor, diff.get("extractor_options", {}))
    return build_config(merge(diff, user))


def method_diff(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """How a method differs from the default settings, in the variant that the user's settings choose.

    >>> method_diff("sgt", {})["extractor"], method_diff("sgt", {"sgt": {"variant": "original"}})["extractor"]
    ('integrated-gradients', 'gradient')
    """
    file = method_settings(name)
    diff = {key: value for key, value in file.items() if key not in NOT_SETTINGS}
    return merge(diff, file.get("variants", {}).get(variant_of(name, settings), {}))


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
