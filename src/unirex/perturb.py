"""Logits of texts with tokens removed: the only place that removes tokens.

Removed tokens are not masked but dropped, and the shorter sequence is run. With the original position
numbers this equals attention masking (no other token attends to a masked one); with new ones it equals
deleting the words. Equal views of a batch are run once, and views of similar length run together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unirex.encoding.batch import Batch
from unirex.errors import UserError, unknown
from unirex.models.plan import device_limits
from unirex.models.task import Pass, TaskModel, chunked, encode, full_attention_limit
from unirex.models.windows import pick
from unirex.removals import REMOVALS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Perturber:
    """How tokens are removed from texts, for one task model."""

    removal: str = "attention_mask"  # one of REMOVALS
    mask_token_id: int | None = None
    pad_token_id: int = 0

    def __post_init__(self) -> None:
        if self.removal not in REMOVALS:
            raise unknown("removal", self.removal, REMOVALS)
        if self.removal == "mask_token" and self.mask_token_id is None:
            raise UserError(
                "removal 'mask_token': this encoder's tokenizer has no mask token; use 'pad_token'."
            )

    def logits(self, full: Pass, kept: Tensor, *, embeds: Tensor | None = None) -> Tensor:
        """The logits of every view of every sequence.

        In a text that is read in windows, tokens are removed from the windows, and windows that lose none
        are not run again; with `delete`, words are removed before the text is split into windows.

        Args:
            full: the whole texts, whose logits are reused for views that keep everything.
            kept: [V, D, T] bool, the tokens each view keeps; tokens that are not `selectable` always stay.
            embeds: [D, T, H], word embeddings to use instead of the texts' own.

        Returns:
            [V, D, C].
        """
        kept = (kept | ~full.batch.selectable) & full.batch.attention_mask
        own = embeds is None  # then the logits of whole texts are known
        words = full.embeds if embeds is None else embeds
        if full.windows is None or self.removal == "delete":
            known = (lambda: full.text_logits) if own else None
            return self._run(full, full.batch, words, kept, known)
        shown, known = full.windows.gather(kept), (lambda: full.row_logits) if own else None
        rows = full.row_embeds if own else full.windows.embeddings(words)
        return full.windows.merge_logits(self._run(full, full.rows, rows, shown, known), shown)

    def _run(
        self, full: Pass, batch: Batch, embeds: Tensor, kept: Tensor, known: Callable[[], Tensor] | None
    ) -> Tensor:
        """Logits [V, D, C] of all views [V, D, T]; `known` gives those of the whole texts."""
        source = torch.arange(kept.shape[1], device=kept.device).repeat(kept.shape[0])  # [V*D]
        rows, owner, back = distinct(kept.flatten(0, 1), source)
        whole = (rows == batch.attention_mask[owner]).all(-1)
        if known is None:
            whole = torch.zeros_like(whole)
        fewer, results = (~whole).nonzero().flatten(), []
        if len(fewer):
            results.append(self._planned(full, batch, embeds, rows[fewer], owner[fewer]))
        if known is not None and len(fewer) < len(rows):
            results.append(known()[owner[whole]])
        order = torch.cat([fewer, whole.nonzero().flatten()])
        return torch.cat(results)[order.argsort()][back].unflatten(0, kept.shape[:2])

    def _planned(self, full: Pass, batch: Batch, embeds: Tensor, kept: Tensor, owner: Tensor) -> Tensor:
        """Logits [R, C] of the texts `owner` [R] with only the tokens `kept` [R, T] in them."""
        task = full.task
        lengths = kept.sum(-1) if self._shortens(task, kept) else batch.lengths()[owner]
        chunks = chunked(task.encoder, lengths, kept.shape[1])

        def work(rows: Tensor, width: int) -> tuple[Tensor]:
            return (task(*self.view(task, batch, embeds, kept[rows], owner[rows], width)),)

        return chunks.run(work, device_limits(task.encoder), activations=full.activations)[0]

    def view(
        self, task: TaskModel, batch: Batch, embeds: Tensor, kept: Tensor, owner: Tensor, width: int
    ) -> tuple[Batch, Tensor]:
        """The texts `owner` [R] with only the tokens `kept` [R, T] in them, and their word embeddings."""
        if self._shortens(task, kept):
            stay = self.removal == "attention_mask"
            return dropped(batch, embeds, kept, owner, width=width, keep_positions=stay)
        if self.removal in ("mask_token", "pad_token"):
            token = self.mask_token_id if self.removal == "mask_token" else self.pad_token_id
            return substituted(task, batch, embeds, kept[:, :width], owner, int(token or 0))
        if self.removal == "previous_token":
            return repeated(batch, embeds, kept[:, :width], owner)
        return masked(batch, kept[:, :width], owner), embeds[:, :width].index_select(0, owner)

    def _shortens(self, task: TaskModel, kept: Tensor) -> bool:
        if self.removal == "attention_mask":
            return drops_exactly(task.encoder, kept.shape[1])
        return self.removal == "delete"


def distinct(kept: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct views: rows [U, T], their texts [U], and the number of the row of each view [R]."""
    keyed = torch.cat([source[:, None], kept.long()], dim=1)
    unique, back = torch.unique(keyed, dim=0, return_inverse=True)
    return unique[:, 1:].bool(), unique[:, 0], back


def dropped(
    batch: Batch, embeds: Tensor, kept: Tensor, owner: Tensor, *, width: int, keep_positions: bool
) -> tuple[Batch, Tensor]:
    """Only the kept tokens, at most `width`, moved together; with their old position numbers or new ones."""
    place = (~kept).to(torch.uint8).argsort(dim=-1, stable=True)[:, :width]  # kept first
    present = torch.arange(width, device=place.device) < kept.sum(-1, keepdim=True)
    # Position 0 for padding, as every table has it; it is masked.
    positions = torch.where(present, place, torch.zeros_like(place)) if keep_positions else None
    slides = batch.sliding
    texts = Batch(
        input_ids=batch.input_ids[owner].gather(1, place),
        attention_mask=present,
        special=batch.special[owner].gather(1, place) & present,
        selectable=batch.selectable[owner].gather(1, place) & present,
        position_ids=positions,
        sliding=None if slides is None else slides[owner].gather(1, place) & present,
    )
    # Zeros at padding: where no token is left, attention falls on the padding.
    return texts, pick(embeds, owner, place) * present[..., None]


def masked(batch: Batch, kept: Tensor, owner: Tensor) -> Batch:
    """All tokens in their places, the removed ones hidden by the attention mask."""
    return replace(batch.rows(owner, kept.shape[1]), attention_mask=kept)


def substituted(
    task: TaskModel, batch: Batch, embeds: Tensor, kept: Tensor, owner: Tensor, token: int
) -> tuple[Batch, Tensor]:
    """All tokens in their places, the removed ones replaced by `token`."""
    texts = batch.rows(owner, kept.shape[1])
    hole = texts.attention_mask & ~kept
    # Explicit positions, as RoBERTa does not count pad tokens.
    positions = torch.arange(kept.shape[1], device=kept.device).expand_as(kept)
    texts = replace(texts, input_ids=texts.input_ids.masked_fill(hole, token), position_ids=positions)
    filling = task.embed(texts.input_ids.new_tensor(token))  # [H]
    return texts, torch.where(hole[..., None], filling, embeds[:, : kept.shape[1]].index_select(0, owner))


def repeated(batch: Batch, embeds: Tensor, kept: Tensor, owner: Tensor) -> tuple[Batch, Tensor]:
    """All tokens in their places, each removed one replaced by the last kept one before it."""
    texts = batch.rows(owner, kept.shape[1])
    positions = torch.arange(kept.shape[1], device=kept.device).expand_as(kept)
    stays = kept | ~texts.attention_mask  # padding must not be repeated
    before = torch.where(stays, positions, torch.zeros_like(positions)).cummax(-1).values
    ids = texts.input_ids.gather(1, before)
    return replace(texts, input_ids=ids, position_ids=positions), pick(embeds, owner, before)


def drops_exactly(encoder: Any, length: int) -> bool:
    """Whether dropping tokens of a text this long equals masking them, for this encoder.

    It does for full attention with absolute or rotary positions. It does not for relative positions counted
    by index (MPNet, DeBERTa), nor beyond a local or sparse attention window (ModernBERT, BigBird). There the
    tokens are masked instead, which gives the same numbers and takes longer; a warning is logged once.
    """
    limit = getattr(encoder, "_unirex_drop_limit", None)
    if limit is None:
        limit = encoder._unirex_drop_limit = _drop_limit(encoder)
    if length > limit and not getattr(encoder, "_unirex_warned", False):
        encoder._unirex_warned = True
        where = f"in texts over {limit} tokens" if limit else "always"
        log.warning("%s: removed tokens are masked, not dropped, %s (slower)", type(encoder).__name__, where)
    return length <= limit


def _drop_limit(encoder: Any) -> int:
    limit = _window(encoder.config)
    return limit if limit and _probe(encoder, min(16, limit)) else 0


def _window(config: Any) -> int:
    """The longest text in which, by the configuration, every token sees every other; 0: none."""
    if getattr(config, "relative_attention", False) or hasattr(config, "relative_attention_num_buckets"):
        return 0
    sparse = full_attention_limit(config)
    if sparse is not None:
        return sparse
    windows = getattr(config, "attention_window", None)
    if windows:
        return min(windows if isinstance(windows, list) else [windows]) // 2 + 1
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        return int(config.sliding_window) + 1
    return 1 << 30


@torch.no_grad()
def _probe(encoder: Any, size: int) -> bool:
    """Whether a few tokens get the same states with others masked and with others dropped."""
    device = next(encoder.parameters()).device
    ids = torch.arange(size + 1, device=device)
    ids = ids[ids != (encoder.config.pad_token_id or 0)][None, :size]  # RoBERTa would not count a pad
    true = torch.ones_like(ids, dtype=torch.bool)
    batch = Batch(ids, true, ~true, true)
    kept = torch.arange(size, device=device)[None] % 3 != 1
    owner = torch.zeros(1, dtype=torch.long, device=device)
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.autocast(device.type, enabled=False):
            hidden = encode(encoder, masked(batch, kept, owner)).last_hidden_state[kept]
            embeds = encoder.get_input_embeddings()(ids)
            left = int(kept.sum())
            short = encode(encoder, *dropped(batch, embeds, kept, owner, width=left, keep_positions=True))
    finally:
        encoder.train(was_training)
    tolerance = max(1e-5, 8 * torch.finfo(hidden.dtype).eps)
    return bool(
        (hidden - short.last_hidden_state[0]).abs().max() <= tolerance * hidden.abs().max().clamp(min=1)
    )
