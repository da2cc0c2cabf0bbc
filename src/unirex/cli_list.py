"""What can be named in a setting, with a line on each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from unirex.errors import unknown


def listed(kind: str) -> str:
    """Names and descriptions of one kind, aligned."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    rows = KINDS[kind]()
    width = max(len(name) for name in rows)
    return "\n".join(f"{name:<{width}}  {about}" for name, about in rows.items())


def methods() -> dict[str, str]:
    """Methods of the paper."""
    from unirex.methods import method_names, method_settings

    return {name: method_settings(name)["about"] for name in method_names()}


def extractors() -> dict[str, str]:
    """Who scores the tokens."""
    from unirex.extractors import ALIASES, EXTRACTORS

    names = {name: [short for short, long in ALIASES.items() if long == name] for name in EXTRACTORS}
    return {", ".join([name, *short]): _first_line(EXTRACTORS[name].__doc__) for name, short in names.items()}


def objectives() -> dict[str, str]:
    """Terms of the loss."""
    from unirex.objectives import OBJECTIVES

    return {name: _first_line(kind.__doc__) for name, kind in OBJECTIVES.items()}


def criteria() -> dict[str, str]:
    """How each objective measures."""
    from unirex.objectives import OBJECTIVES

    found: dict[str, str] = {}
    for name, kind in OBJECTIVES.items():
        table = getattr(import_module(kind.__module__), "CRITERIA", {})
        found |= {f"{name}: {criterion}": about for criterion, about in table.items()}
    return found


def datasets() -> dict[str, str]:
    """Datasets by name; a path to a file works everywhere too."""
    from unirex.data.load import DATASETS

    return {
        name: _first_line(import_module(place.partition(":")[0]).__doc__) for name, place in DATASETS.items()
    }


def metrics() -> dict[str, str]:
    """What is measured."""
    from unirex.metrics.registry import METRICS

    return {name: f"{one.arrow} {one.desideratum}: {one.description}" for name, one in METRICS.items()}


def encoders() -> dict[str, str]:
    """Encoders by name; a folder or a Hub id works too."""
    from unirex.models.encoders import ENCODERS

    return {
        **ENCODERS,
        "<folder>": "a folder saved by save_pretrained",
        "<id>": "any encoder on the Hugging Face Hub",
    }


def removals() -> dict[str, str]:
    """How tokens are taken out of a text."""
    from unirex.perturb import REMOVALS

    return dict(REMOVALS)


KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "methods": methods,
    "extractors": extractors,
    "objectives": objectives,
    "criteria": criteria,
    "datasets": datasets,
    "metrics": metrics,
    "encoders": encoders,
    "removals": removals,
}


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().split("\n")[0]
