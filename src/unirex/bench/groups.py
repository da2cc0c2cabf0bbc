"""The groups of measurements by name, in the order they are run; loaded when they are."""

from __future__ import annotations

from unirex.registry import Registry

GROUPS = Registry(
    "group",
    {
        "training": "unirex.bench.training:measure",
        "evaluation": "unirex.bench.metrics_cost:measure",
        "explain": "unirex.bench.explaining:measure",
        "attribution": "unirex.bench.attribution:measure",
        "lengths": "unirex.bench.lengths:measure",
        "threads": "unirex.bench.threads:measure",
        "start": "unirex.bench.start:measure",
        "growth": "unirex.bench.growth:measure",
    },
)
