"""Texts whose embeddings fade by score: nothing is cut out, but much is set to 0 by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unirex.models.task import chunked
from unirex.plan import device_limits
from unirex.probing.seen import Found, Seen, distributions
from unirex.step import Step


def soft(seen: Seen, *, draws: int, seed: int) -> Iterator[Found]:
    """With all embeddings 0, and with some kept or removed by score: 1 + 2·draws passes.

    Nothing for multiple choice.
    """
    if seen.choice:
        return ({} for _ in seen.encoded)
    found = seen.of_target(distributions(faded(seen.step, draws=draws, seed=seed)))  # [1 + 2·draws, B]
    return (
        {"zero": zero, "soft_kept": tuple(drawn[:draws]), "soft_removed": tuple(drawn[draws:])}
        for zero, *drawn in found.T.tolist()
    )


def faded(step: Step, *, draws: int, seed: int) -> Tensor:
    """The logits [1 + 2·draws, D, C] of texts with all embeddings 0, kept by score, and removed by score."""
    batch, task, texts = step.batch, step.full.task, len(step.batch.input_ids)
    chance = Chance.of(step, draws, seed)
    owner = torch.arange(texts, device=batch.input_ids.device).repeat(1 + 2 * draws)

    def work(rows: Tensor, width: int) -> tuple[Tensor]:
        stays = torch.stack([chance.stays(row % texts, row // texts)[:width] for row in rows.tolist()])
        embeds = step.full.embeds[:, :width].index_select(0, owner[rows]) * stays.to(owner.device)
        return (task(batch.rows(owner[rows], width), embeds),)

    chunks = chunked(task.encoder, batch.lengths()[owner], batch.input_ids.shape[1])
    return chunks.run(work, device_limits(task.encoder))[0].unflatten(0, (1 + 2 * draws, texts))


@dataclass(frozen=True)
class Chance:
    """What becomes of every embedding dimension of every token, the same for the same text and seed."""

    ids: list[list[int]]  # of every text, without padding
    selectable: Tensor  # [D, T]
    shares: Tensor  # [D, T]
    width: int  # H
    draws: int
    seed: int

    @classmethod
    def of(cls, step: Step, draws: int, seed: int) -> Chance:
        """By the scores of a step."""
        rows = zip(step.batch.input_ids.tolist(), step.batch.lengths().tolist(), strict=True)
        ids = [row[:length] for row, length in rows]
        likely = shares(step.scores, step.batch.selectable).cpu()
        return cls(ids, step.batch.selectable.cpu(), likely, step.full.embeds.shape[-1], draws, seed)

    def stays(self, text: int, view: int) -> Tensor:
        """Which dimensions stay in a view: [T, H] bool. Special tokens, as all that cannot be removed, do.

        View 0 keeps nothing else; then come the draws that keep by score, then those that remove by score:
        there goes what stayed in the same draw of keeping.
        """
        inside = self.selectable[text]
        stays = (~inside)[:, None].repeat(1, self.width)
        if view:
            removes, draw = divmod(view - 1, self.draws)
            source = np.random.default_rng([self.seed, draw, *self.ids[text]])
            drawn = torch.from_numpy(source.random((int(inside.sum()), self.width)))
            stays[inside] = (drawn < self.shares[text, inside, None]) ^ bool(removes)
        return stays


def shares(scores: Tensor, selectable: Tensor) -> Tensor:
    """Scores as chances [D, T]: the lowest selectable token of a text 0, the highest 1; equal ones all 1.

    So the scores of any extractor, whatever their size, use the whole scale, and their order stays. Their
    mean, which says how much of the text is kept, does not become comparable by this.

    >>> shares(torch.tensor([[9.0, 2.0, 6.0, 4.0]]), torch.tensor([[False, True, True, True]])).tolist()
    [[1.0, 0.0, 1.0, 0.5]]
    """
    lowest = scores.masked_fill(~selectable, float("inf")).amin(-1, keepdim=True)
    highest = scores.masked_fill(~selectable, float("-inf")).amax(-1, keepdim=True)
    spread = selectable & (highest > lowest)
    return torch.where(spread, (scores - lowest) / (highest - lowest), torch.ones_like(scores)).double()
