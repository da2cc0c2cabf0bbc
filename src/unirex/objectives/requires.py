"""What an objective needs of the extractor it trains."""

from __future__ import annotations

from unirex.errors import UserError
from unirex.light import Step


def require(step: Step, offer: str, *, objective: str, extractor: str) -> None:
    """Refuse an extractor that does not offer what the objective is about, and name the one that does."""
    if not hasattr(step.extractor, offer):
        raise UserError(
            f"objective '{objective}' trains the extractor '{extractor}', not"
            f" {type(step.extractor).__name__}; set extractor to {extractor}, or {objective}.weight to 0."
        )
