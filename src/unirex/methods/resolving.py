"""The configuration of a training: defaults, method, preset, file and single settings, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from unirex.config import DEFAULT_PRESET, Config, build_config, check_keys, merge, plain, read_settings
from unirex.data.validate import at
from unirex.errors import UserError
from unirex.extractors import extractor_name, known_options
from unirex.methods.catalogue import check_variant, method_diff
from unirex.methods.presets import Preset, preset

ConfigSource = str | Path | Mapping[str, Any] | None


def resolve(
    method: str,
    config: ConfigSource,
    settings: Mapping[str, Any],
    *,
    preset: str | None = None,
    dataset: str | None = None,
) -> Config:
    """The configuration of a method: defaults, then the method, a preset, a file or table, then settings.

    Args:
        method: its name.
        config: a YAML file or a table of settings; it may also name the `method` and the `preset`.
        settings: single settings.
        preset: its name; None: the one that `config` names, else `default`.
        dataset: the name of the dataset, if it has one; a preset may have settings for it.
    """
    chosen = chosen_preset(config, preset)
    file = _table(config)
    named, _ = file.pop("method", method), file.pop("preset", None)
    with at(config) if isinstance(config, str | Path) else nullcontext():
        check_keys(file, plain(Config()))
    if named != method:
        raise UserError(f"the configuration is for method '{named}', not '{method}'.")
    check_variant(method, file, settings)
    user = merge(file, settings)
    if "extractor" in user:
        user["extractor"] = extractor_name(str(user["extractor"]))
    base = base_settings(method, chosen, user, dataset=dataset)
    return build_config(merge(base, user))


def base_settings(
    method: str, chosen: Preset, user: Mapping[str, Any], *, dataset: str | None = None
) -> dict[str, Any]:
    """What the user's settings are merged into: the method in their variant, then the preset."""
    from_preset = chosen.settings(method, dataset, user=user)
    diff = method_diff(method, merge(from_preset, user))
    extractor = extractor_name(str(user.get("extractor", diff["extractor"])))
    if extractor != diff["extractor"]:  # it may not have all the options of the method's own
        diff["extractor_options"] = known_options(extractor, diff.get("extractor_options", {}))
    return merge(diff, from_preset)


def chosen_preset(config: ConfigSource, name: str | None) -> Preset:
    """The preset that is named, or else the one that a configuration names."""
    inside = _table(config).get("preset")
    if inside is not None and name is not None and inside != name:
        # A complete configuration would leave nothing of another preset.
        raise UserError(f"the configuration is for preset '{inside}', not '{name}'.")
    return preset(str(name or inside or DEFAULT_PRESET))


def _table(config: ConfigSource) -> dict[str, Any]:
    return dict(read_settings(config) if isinstance(config, str | Path) else config or {})
