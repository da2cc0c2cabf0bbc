"""How many numbers the backward pass needs of what a layer computed: the price of a token in memory."""

from __future__ import annotations

NUMBER = 4  # bytes, in single precision
HIDDEN = 20  # numbers of the hidden size that a layer keeps of a token
MATRICES = 3.2  # of heads × width numbers that attention keeps of a token where it is not fused; measured


def kept_numbers(hidden: int, heads: int = 0, width: float = 0) -> float:
    """What a layer keeps of a token for the backward pass.

    Args:
        hidden: size of its states.
        heads: of attention, where it keeps its matrices: on CPUs with dropout, for which torch has no fused
            kernel. 0: it is fused.
        width: tokens in a row.
    """
    return HIDDEN * hidden + MATRICES * heads * width
