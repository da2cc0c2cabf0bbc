"""Evaluation: one record per example, and everything computed from records.

Only `run`, `recording` and `probes` need torch; the rest works on records alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unirex.evaluation.run import Results, evaluate, evaluate_to, evaluated

__all__ = ["Results", "evaluate", "evaluate_to", "evaluated"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from unirex.evaluation import run

        return getattr(run, name)
    raise AttributeError(f"module 'unirex.evaluation' has no attribute '{name}'")
