"""The groups of measurements by name, in the order they are run; loaded when they are."""

from __future__ import annotations

from unirex.registry import Registry

GROUPS = Registry(
    "group",
    {
        "training": "unirex.bench.training:measure",
        "evaluation": "unirex.bench.explaining:measure_evaluation",
        "explain": "unirex.bench.explaining:measure_explaining",
        "attribution": "unirex.bench.attribution:measure",
        "lengths": "unirex.bench.lengths:measure",
        "threads": "unirex.bench.threads:measure",
        "start": "unirex.bench.processes:measure_start",
        "growth": "unirex.bench.processes:measure_growth",
    },
)
