"""What is compared with: the same encoder and head as anybody would run them, without this library."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unirex.batch import Batch
from unirex.models.encoders import quiet_transformers
from unirex.models.task import pool
from unirex.system import System


class PlainClassifier(nn.Module):
    """An encoder, a pooling and a linear layer."""

    def __init__(self, system: System, *, copy: bool = False) -> None:
        super().__init__()
        task = system.model.task
        self.encoder: Any = deepcopy(task.encoder) if copy else task.encoder
        self.head = deepcopy(task.head) if copy else task.head
        self.pooling, self.limit = task.pooling, system.model.config.max_length

    def forward(self, attention_mask: Tensor, **words: Tensor) -> Tensor:
        """Logits [B, C] for `input_ids` or `inputs_embeds`."""
        output = self.encoder(attention_mask=attention_mask, **words)
        return self.head(pool(self.pooling, output, attention_mask))

    def loss(self, batch: Batch) -> Tensor:
        """What plain fine-tuning minimises."""
        logits = self(batch.attention_mask.long(), input_ids=batch.input_ids)
        return F.cross_entropy(logits, labels_of(batch))


def labels_of(batch: Batch) -> Tensor:
    """The labels of a training batch."""
    if batch.labels is None:
        raise ValueError("a training batch has labels")
    return batch.labels


@torch.no_grad()
def predict(model: PlainClassifier, tokenizer: Any, texts: Sequence[str], batch_size: int) -> list[int]:
    """Tokenise and classify in the order given, each batch padded to its longest text."""
    found: list[int] = []
    for start in range(0, len(texts), batch_size):
        found += answers(model, tokenizer(list(texts[start : start + batch_size]), **reading(model)))
    return found


def predict_sorted(
    model: PlainClassifier, tokenizer: Any, texts: Sequence[str], batch_size: int
) -> list[int]:
    """The same with texts of like length together: who cares for speed does this by hand."""
    order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
    found = predict(model, tokenizer, [texts[number] for number in order], batch_size)
    placed = dict(zip(order, found, strict=True))
    return [placed[number] for number in range(len(texts))]


def answers(model: PlainClassifier, inputs: Any) -> list[int]:
    """The most probable label of every text; the probabilities are made too, as they would be shown."""
    logits = model(inputs["attention_mask"], input_ids=inputs["input_ids"])
    return logits.softmax(-1).argmax(-1).tolist()


def reading(model: PlainClassifier) -> dict[str, Any]:
    """How a tokenizer is called."""
    return {"padding": True, "truncation": True, "max_length": model.limit, "return_tensors": "pt"}


def stock_pipeline(system: System, batch_size: int) -> Any:
    """The `text-classification` pipeline of transformers around the same encoder weights."""
    from transformers import AutoModelForSequenceClassification, pipeline

    config = deepcopy(system.model.config.encoder)
    config.num_labels = len(system.labels)
    with quiet_transformers():
        model = AutoModelForSequenceClassification.from_config(config).eval()
        state = system.model.task.encoder.state_dict()
        getattr(model, model.base_model_prefix).load_state_dict(state, strict=False)
        tokenizer: Any = system.tokenizer
        return pipeline(
            "text-classification",
            model=model,
            tokenizer=tokenizer,
            batch_size=batch_size,
            device=-1,
            truncation=True,
            max_length=system.model.config.max_length,
        )
