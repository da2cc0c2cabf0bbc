"""Costs of this library beside the alternatives, measured side by side: `unirex bench`.

Seconds on a shared machine mean little, but ratios measured in one run mean a lot: every group of
measurements runs its cases in turn, repetition by repetition, and compares like with like.
"""

from __future__ import annotations

from unirex.registry import Registry

# In the order they run. Loaded on first use, so that the command line can list the names at once.
GROUPS = Registry(
    "group",
    {
        "training": "unirex.bench.cases:measure_training",
        "evaluation": "unirex.bench.cases:measure_evaluation",
        "explain": "unirex.bench.cases:measure_explain",
        "attribution": "unirex.bench.attribution:measure_attribution",
        "lengths": "unirex.bench.cases:measure_lengths",
        "threads": "unirex.bench.cases:measure_threads",
        "start": "unirex.bench.processes:measure_start",
        "growth": "unirex.bench.processes:measure_growth",
    },
)
