"""What objectives share: annotation names that are light to import, requirements on the extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unirex.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from unirex.step import Step
else:
    Step = Tensor = Any

__all__ = ["Step", "Tensor"]


def require(step: Step, offer: str, *, objective: str, extractor: str) -> None:
    """Refuse an extractor that does not offer what the objective is about, and name the one that does."""
    if not hasattr(step.extractor, offer):
        raise UserError(
            f"objective '{objective}' trains the extractor '{extractor}', not"
            f" {type(step.extractor).__name__}; set extractor to {extractor}, or {objective}.weight to 0."
        )
