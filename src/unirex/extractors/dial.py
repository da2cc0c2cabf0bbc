"""The dial between two scores of a token: who marks, and who decides."""

from __future__ import annotations

from numbers import Real
from typing import Any

from unirex.errors import UserError


def check_dial(dial: Any) -> float:
    """The dial itself, if it is from 0 to 1."""
    if not isinstance(dial, Real) or isinstance(dial, bool) or not 0 <= float(dial) <= 1:
        raise UserError(
            f"dial {dial!r}: give a number from 0, as a person would, to 1, as the classifier did."
        )
    return float(dial)
