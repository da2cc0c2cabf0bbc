"""Tokens taken out by their scores, more and more of them, and each by itself."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from unirex.probing.seen import Found, Seen, views


def empty(seen: Seen) -> Iterator[Found]:
    """With every selectable token removed: one view."""
    found = views(seen.step, 1, lambda _: torch.zeros_like(seen.rank, dtype=torch.bool)[None])
    return ({"empty": one} for (one,) in seen.told(found))


def curves(seen: Seen, *, points: int) -> Iterator[Found]:
    """With the highest tokens removed, and with only these: 2·J views, and without the very first: one more.

    J is the number of tokens (of the longest sequence), at most `points`. At step j the highest j·n/J of n
    tokens count, half-way cases rounded to the even number.
    """
    sizes, counts = steps(seen, points)
    # Without the first and without any are most often on the curve too, and equal views are run once.
    around = torch.cat([torch.ones_like(seen.tokens)[None], counts, seen.tokens[None]])  # [1 + J + 1, D]
    removed = views(seen.step, len(around), lambda some: seen.rank >= around[some][..., None])
    kept = views(seen.step, len(counts), lambda some: seen.rank < counts[some][..., None])
    for size, deletion, insertion in zip(sizes, seen.told(removed), seen.told(kept), strict=True):
        yield {
            "first": deletion[0],
            "deletion": deletion[1 : size + 1],
            "empty": deletion[-1],
            "insertion": insertion[:size],
        }


def steps(seen: Seen, points: int) -> tuple[list[int], Tensor]:
    """J of every example [B], and how many tokens of every sequence count at each step [J, D]."""
    longest = [max(int(tokens.selectable.sum()) for tokens in one.sequences) for one in seen.encoded]
    sizes = [min(points, one) for one in longest]
    of_rows = [size for size, one in zip(sizes, seen.encoded, strict=True) for _ in one.sequences]
    last = seen.tokens.new_tensor(of_rows)  # [D]; a text with fewer steps than others stays at its last
    number = torch.arange(1, max(sizes) + 1, device=last.device)[:, None]  # [J, 1]
    shares = torch.minimum(number, last).double() * seen.tokens / last.clamp(min=1)
    return sizes, shares.round().long()  # torch.round takes halves to the even number


def leave_one_out(seen: Seen) -> Iterator[Found]:
    """Without each token alone: as many views as there are tokens. Nothing for multiple choice."""
    if seen.choice:
        return ({} for _ in seen.encoded)
    number = seen.step.batch.selectable.cumsum(-1) - 1  # [D, T]
    found = views(seen.step, int(seen.tokens.max()), lambda some: number != some[:, None, None])
    rows = zip(seen.of_target(found).T.tolist(), seen.tokens.tolist(), strict=True)
    return ({"left_out": tuple(one[:size])} for one, size in rows)
