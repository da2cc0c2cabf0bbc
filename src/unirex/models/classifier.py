"""A third-party sequence classifier as a task model: its own encoder, pooling and head, nothing trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unirex.encoding.batch import Batch
from unirex.encoding.sequence import Frame
from unirex.errors import UserError
from unirex.models.labelling import Labelling, OneLabel
from unirex.models.task import TaskModel, full_attention_limit, position_offset


class Classifier(TaskModel):
    """A Hugging Face sequence classifier where a `TaskModel` is expected.

    Its logits are those of the model itself on what its tokenizer makes of a text, or of a pair of texts.

    Args:
        classifier: an `AutoModelForSequenceClassification`.
        frame: the special tokens its tokenizer puts around and between texts.
        types: whether token types tell the second text of a pair from the first.
        window: the most tokens it reads at once.
        stride: as in `TaskModel`.
        labelling: as in `TaskModel`.
    """

    def __init__(
        self,
        classifier: Any,
        *,
        frame: Frame,
        types: bool,
        window: int = 1 << 30,
        stride: int | None = None,
        labelling: Labelling | None = None,
    ) -> None:
        nn.Module.__init__(self)  # not TaskModel's: pooling and head are the classifier's own
        self.classifier = classifier
        self.frame, self.types = frame, types
        self.window, self.stride = window, stride
        self.labelling = labelling or OneLabel()

    @property
    def encoder(self) -> Any:
        """The encoder inside; a property, as a second child module would be visited twice by hooks."""
        return self.classifier.base_model

    def states(self, batch: Batch, embeds: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states [D, T, H] and logits [D, C] of sequences the encoder can take, from one pass."""
        output, logits = self._read(batch, embeds)
        return output.last_hidden_state, logits

    def encoded(self, batch: Batch, embeds: Tensor | None = None) -> Any:
        """The whole output of the encoder inside, with its attention if the config requests that."""
        return self._read(batch, embeds)[0]

    def planned(self, batch: Batch, embeds: Tensor, layers: int = 1, **options: Any) -> tuple[Tensor, Tensor]:
        """As in `TaskModel`; whole texts pass here, so the number of their segments is checked."""
        if bool((batch.special.sum(-1) > self.frame.size(2)).any()):
            raise UserError("this classifier reads one text or a pair of texts at a time, not more.")
        return super().planned(batch, embeds, layers, **options)

    def _read(self, batch: Batch, embeds: Tensor | None) -> tuple[Any, Tensor]:
        """The output of the encoder, and the logits."""
        limit = full_attention_limit(self.encoder.config)
        if limit is not None and batch.input_ids.shape[1] > limit:
            self.encoder.set_attention_type("block_sparse")  # as in `task.encode`
        with captured(self.encoder) as outputs:
            logits = self.classifier(**self.inputs(batch, embeds), return_dict=True).logits
        return outputs[-1], logits

    def inputs(self, batch: Batch, embeds: Tensor | None = None) -> dict[str, Tensor]:
        """The arguments of the classifier's forward for this batch."""
        inputs = {
            "inputs_embeds": self.embed(batch.input_ids) if embeds is None else embeds,
            "attention_mask": batch.attention_mask.long(),
        }
        if batch.position_ids is not None:
            inputs["position_ids"] = batch.position_ids + position_offset(self.encoder)
        if self.types:
            inputs["token_type_ids"] = self.token_types(batch)
        if hasattr(self.encoder.config, "attention_window"):
            # Longformer's own default, which it would derive from token ids only.
            first = torch.arange(batch.input_ids.shape[1], device=batch.input_ids.device) == 0
            inputs["global_attention_mask"] = first.long().expand_as(batch.input_ids)
        return inputs

    def token_types(self, batch: Batch) -> Tensor:  # [D, T]
        """0 up to and including the separator between two texts, 1 after it.

        Counted by special tokens, which are never removed, so it holds for every view of a text.
        """
        special = batch.special.long()
        before = special.cumsum(-1) - special  # special tokens to the left
        return (before >= len(self.frame.before) + len(self.frame.between)).long()


@contextmanager
def captured(encoder: Any) -> Iterator[list[Any]]:
    """The last output of an encoder that runs inside a larger model."""
    outputs: list[Any] = []

    def keep(_module: object, _inputs: object, output: Any) -> None:
        outputs[:] = [output]  # a hook of the model may have run other texts before

    handle = encoder.register_forward_hook(keep)
    try:
        yield outputs
    finally:
        handle.remove()
