"""`unirex list`: what can be named in a setting, with a line on each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from jsonargparse import ArgumentParser, Namespace

from unirex.errors import unknown


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to list."""
    parser.add_argument("kind", type=str, help=" | ".join(KINDS))


def run(options: Namespace) -> int:
    """Print the names of one kind and their descriptions, aligned."""
    if options.kind not in KINDS:
        raise unknown("kind", options.kind, KINDS)
    rows = KINDS[options.kind]()
    width = max(map(len, rows))
    for name, about in rows.items():
        print(f"{name:<{width}}  {about}")
    return 0


def _methods() -> dict[str, str]:
    from unirex.methods import method_names, method_settings

    return {name: method_settings(name)["about"] for name in method_names()}


def _presets() -> dict[str, str]:
    from unirex.methods import preset, preset_names

    rows = {}
    for chosen in map(preset, preset_names()):
        rows[chosen.name] = chosen.about
        rows |= {f"  {line}": line.reason for line in chosen.lines}
    return rows


def _extractors() -> dict[str, str]:
    from unirex.extractors import ALIASES, EXTRACTORS

    rows = {}
    for name in EXTRACTORS:
        aliases = [alias for alias, meaning in ALIASES.items() if meaning == name]
        rows[", ".join([name, *aliases])] = EXTRACTORS.about(name)
    return rows


def _objectives() -> dict[str, str]:
    from unirex.objectives import OBJECTIVES

    return {name: _first_line(objective.__doc__) for name, objective in OBJECTIVES.items()}


def _criteria() -> dict[str, str]:
    from unirex.objectives import OBJECTIVES

    rows: dict[str, str] = {}
    for name, objective in OBJECTIVES.items():
        criteria = getattr(import_module(objective.__module__), "CRITERIA", {})
        rows |= {f"{name}: {criterion}": about for criterion, about in criteria.items()}
    return rows


def _datasets() -> dict[str, str]:
    from unirex.data.load import DATASETS

    return {name: _first_line(import_module(module).__doc__) for name, module in DATASETS.items()}


def _metrics() -> dict[str, str]:
    from unirex.metrics.registry import METRICS

    return {
        name: f"{metric.arrow} {metric.desideratum}: {metric.description}" for name, metric in METRICS.items()
    }


def _encoders() -> dict[str, str]:
    from unirex.models.encoders import ENCODERS

    return {
        **ENCODERS,
        "<folder>": "a folder saved by save_pretrained",
        "<id>": "any encoder on the Hugging Face Hub",
    }


def _removals() -> dict[str, str]:
    from unirex.removals import REMOVALS

    return dict(REMOVALS)


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n")[0]


KINDS = {
    "methods": _methods,
    "presets": _presets,
    "extractors": _extractors,
    "objectives": _objectives,
    "criteria": _criteria,
    "datasets": _datasets,
    "metrics": _metrics,
    "encoders": _encoders,
    "removals": _removals,
}
