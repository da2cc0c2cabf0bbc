"""Shared by objectives: names for annotations without importing torch, and a check of the extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unirex.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from unirex.step import Step
else:
    Step = Tensor = Any

__all__ = ["Step", "Tensor", "require"]


def require(step: Step, method: str, *, objective: str, extractor: str) -> None:
    """Refuse an extractor without a method that the objective needs, and name the extractor that has it."""
    if not hasattr(step.extractor, method):
        raise UserError(
            f"objective '{objective}' trains the extractor '{extractor}', not"
            f" {type(step.extractor).__name__}; set extractor to {extractor}, or {objective}.weight to 0."
        )
