"""Texts longer than an encoder takes, read in overlapping windows and put together again.

A window holds the special tokens, the short segments (a question, a hypothesis) and a part of the long one.
The long segment is read whole; the short ones get at most half of every window. A token's state is the mean
over the windows that contain it. The text's logits are the mean over its windows, weighted by the number of
tokens of the long segment that each shows; a window whose tokens were all removed has no weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from unirex.encoding.batch import Batch


@dataclass(frozen=True)
class Windows:
    """The windows of a batch of texts. Shapes: R windows of at most W tokens, of D texts of T tokens."""

    rows: Batch  # R sequences
    text: Tensor  # [R]  the text each window is of
    place: Tensor  # [R, W]  the positions of its tokens in the text; 0 at padding
    shape: tuple[int, int]  # D, T

    def gather(self, values: Tensor) -> Tensor:
        """Flags of the texts' tokens [..., D, T] as flags of the windows' tokens [..., R, W]."""
        return values[..., self.text[:, None], self.place] & self.rows.attention_mask

    def embeddings(self, embeds: Tensor) -> Tensor:
        """Embeddings of the texts [D, T, H] as the windows have them: [R, W, H]."""
        return pick(embeds, self.text, self.place)

    def merge_states(self, states: Tensor) -> Tensor:
        """States of the windows' tokens [R, W, H] as states of the texts' tokens [D, T, H]."""
        texts, tokens = self.shape
        seen = self.rows.attention_mask
        index = (self.text[:, None] * tokens + self.place)[seen]
        counts = torch.zeros(texts * tokens, device=index.device).index_add(
            0, index, torch.ones_like(index, dtype=torch.float)
        )
        shares = states[seen].float() / counts[index, None]  # in full precision: sums of many
        summed = shares.new_zeros(texts * tokens, states.shape[-1]).index_add(0, index, shares)
        return summed.view(texts, tokens, -1).to(states.dtype)

    def merge_logits(self, logits: Tensor, shown: Tensor) -> Tensor:
        """Logits of the windows [..., R, C] as logits of the texts [..., D, C].

        Args:
            logits: of every window.
            shown: [..., R, W] bool, the tokens each window shows.
        """
        sliding = self.rows.sliding
        weights = (shown if sliding is None else shown & sliding).sum(-1).float()  # [..., R]
        # Equal weights where a text fits one window, or nothing of its long segment is left.
        weights = torch.where(self._per_text(weights)[..., self.text] > 0, weights, torch.ones_like(weights))
        # Divided before summing, as sums overflow in half precision.
        shares = weights / self._per_text(weights)[..., self.text]
        return self._per_text(logits.float() * shares[..., None], dim=-2).to(logits.dtype)

    def _per_text(self, values: Tensor, dim: int = -1) -> Tensor:
        size = list(values.shape)
        size[dim] = self.shape[0]
        return values.new_zeros(size).index_add(dim, self.text, values)


def split(batch: Batch, size: int, stride: int | None = None) -> Windows | None:
    """The windows of a batch; None if every text fits in one.

    Args:
        batch: the texts.
        size: tokens in a window.
        stride: how far windows are apart on the long segment; None: three quarters of what one shows of it.
            The last window ends with the text.
    """
    if batch.sliding is None or batch.attention_mask.shape[1] <= size:
        return None
    places, texts = [], []
    for text, (present, slides) in enumerate(zip(batch.attention_mask, batch.sliding, strict=True)):
        for place in _positions(present, slides & present, size, stride):
            places.append(place)
            texts.append(text)
    return _windows(batch, places, torch.tensor(texts, device=batch.input_ids.device))


def _positions(present: Tensor, slides: Tensor, size: int, stride: int | None) -> list[Tensor]:
    """The positions in the text of each window's tokens."""
    if int(present.sum()) <= size:
        return [present.nonzero().flatten()]
    fixed, moving = (present & ~slides).nonzero().flatten(), slides.nonzero().flatten()
    room = max(1, size - len(fixed))
    step = min(room, stride or max(1, room * 3 // 4))
    starts = [*range(0, max(1, len(moving) - room), step), max(0, len(moving) - room)]
    return [torch.cat([fixed, moving[start : start + room]]).sort()[0] for start in dict.fromkeys(starts)]


def _windows(batch: Batch, places: list[Tensor], text: Tensor) -> Windows:
    place = torch.nn.utils.rnn.pad_sequence(places, batch_first=True)
    lengths = torch.tensor([len(positions) for positions in places], device=place.device)
    present = torch.arange(place.shape[1], device=place.device) < lengths[:, None]
    where = text[:, None], place
    rows = Batch(
        # The token at padding is masked, so any will do; position numbers start anew in every window.
        input_ids=batch.input_ids[where],
        attention_mask=present & batch.attention_mask[where],
        special=batch.special[where] & present,
        selectable=batch.selectable[where] & present,
        sliding=None if batch.sliding is None else batch.sliding[where] & present,
    )
    return Windows(rows, text, place, (batch.input_ids.shape[0], batch.input_ids.shape[1]))


def pick(embeds: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """The vectors [R, W, H] at these places [R, W] of these rows [R] of a table [D, T, H]."""
    # An embedding lookup: its gradient is much faster than that of indexing.
    return F.embedding(rows[:, None] * embeds.shape[1] + places, embeds.flatten(0, 1))
