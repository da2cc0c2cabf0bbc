"""What the library is compared with: a plain classifier, and the naive schedule of masked passes.

Only the passes of `NaiveModel` are naive: its losses are the library's own objectives, so that both sides of
a measurement compute the same numbers. The independent reference for these numbers is part of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unirex.data.example import Example
from unirex.encoding.batch import Batch
from unirex.models.encoders import quiet_transformers
from unirex.models.task import pool
from unirex.select import top_k
from unirex.system import System


class PlainClassifier(nn.Module):
    """The classifier without rationales: encoder, pooling and a linear layer, with the system's weights.

    Args:
        system: whose weights are used.
        copy: use a copy of them, to be trained.
    """

    def __init__(self, system: System, *, copy: bool = False) -> None:
        super().__init__()
        task = system.model.task
        self.encoder: Any = deepcopy(task.encoder) if copy else task.encoder
        self.head = deepcopy(task.head) if copy else task.head
        self.pooling, self.max_length = task.pooling, system.model.config.max_length
        self.tokenizer: Any = system.tokenizer

    def forward(self, attention_mask: Tensor, **words: Tensor) -> Tensor:
        """Logits [B, C] for `input_ids` or `inputs_embeds`."""
        output = self.encoder(attention_mask=attention_mask, **words)
        return self.head(pool(self.pooling, output, attention_mask))

    def loss(self, batch: Batch) -> Tensor:
        """The loss of plain fine-tuning."""
        logits = self(batch.attention_mask.long(), input_ids=batch.input_ids)
        return F.cross_entropy(logits, _labels(batch))

    def tokenized(self, texts: Sequence[str]) -> Any:
        """`input_ids` and `attention_mask` of the texts, padded to the longest."""
        return self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        )

    @torch.no_grad()
    def predict(self, texts: Sequence[str], batch_size: int) -> list[int]:
        """Tokenise and classify in the given order, each batch padded to its longest text."""
        labels: list[int] = []
        for start in range(0, len(texts), batch_size):
            inputs = self.tokenized(texts[start : start + batch_size])
            logits = self(inputs["attention_mask"], input_ids=inputs["input_ids"])
            # The softmax does not change the label, but a prediction includes the probabilities.
            labels += logits.softmax(-1).argmax(-1).tolist()
        return labels

    def predict_sorted(self, texts: Sequence[str], batch_size: int) -> list[int]:
        """The same labels, from batches of similar length: the usual hand-made speed-up."""
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        labels = self.predict([texts[index] for index in order], batch_size)
        by_index = dict(zip(order, labels, strict=True))
        return [by_index[index] for index in range(len(texts))]


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


class NaiveModel(nn.Module):
    """A Shared-LM system that runs its encoder anew for every view and for the extractor.

    Args:
        system: whose weights are used.
        copy: use a copy of them, to be trained.
    """

    def __init__(self, system: System, *, copy: bool = False) -> None:
        super().__init__()
        extractor: Any = system.model.extractor
        self.plain = PlainClassifier(system, copy=copy)
        self.scorer = deepcopy(extractor.head) if copy else extractor.head
        self.objectives: Any = system.model.config.built_objectives()
        self.budgets: tuple[float, ...] = system.model.config.budgets

    def logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, C] of the tokens under the mask."""
        return self.plain(mask.long(), input_ids=ids)

    def scores(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The extractor's scores [B, T], from a pass of its own."""
        hidden = self.plain.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return self.scorer(hidden).squeeze(-1) * mask

    def views(self, scores: Tensor, seen: Tensor, selectable: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Per budget the masks [B, T] of the rationale alone and of the text without it."""
        for rationale in top_k(scores, selectable, self.budgets):
            yield seen & (rationale | ~selectable), seen & ~rationale

    def loss(self, batch: Batch) -> Tensor:
        """The loss of one training step: 1 + 2·|K| masked passes and the extractor's."""
        ids, seen, labels = batch.input_ids, batch.attention_mask, _labels(batch)

        def cross_entropy(mask: Tensor) -> Tensor:
            return F.cross_entropy(self.logits(ids, mask), labels, reduction="none")

        scores, full = self.scores(ids, seen), cross_entropy(seen)
        views = list(self.views(scores, seen, batch.selectable))
        step = SimpleNamespace(  # what the objectives ask of a `Step`
            progress=1.0,
            batch=batch,
            marks=scores,
            task_loss=full,
            full_loss=full,
            kept_loss=torch.stack([cross_entropy(kept) for kept, _ in views]),
            dropped_loss=torch.stack([cross_entropy(dropped) for _, dropped in views]),
        )
        terms = [objective.weight * objective(step).mean() for _, objective in self.objectives.active()]
        return torch.stack(terms).sum()


def _labels(batch: Batch) -> Tensor:
    if batch.labels is None:
        raise ValueError("a training batch has labels")
    return batch.labels


def padded(batch: Batch, width: int, pad: int) -> Batch:
    """The batch padded to a static width."""
    more = width - batch.input_ids.shape[1]
    changes = {
        name: F.pad(value, (0, more), value=pad if name == "input_ids" else 0)
        for name, value in batch.tensors().items()
        if value.dim() == 2
    }
    return replace(batch, **changes)


@torch.no_grad()
def naive_evaluation(
    model: NaiveModel, examples: Sequence[Example], *, width: int, batch_size: int
) -> dict[str, list[list[float]]]:
    """Comprehensiveness and sufficiency per example and budget, batches in the order of the file."""
    metrics: dict[str, list[list[float]]] = {"comprehensiveness": [], "sufficiency": []}
    tokenizer = model.plain.tokenizer
    for start in range(0, len(examples), batch_size):
        inputs = tokenizer(
            [example.segments[0] for example in examples[start : start + batch_size]],
            padding="max_length",
            max_length=width,
            truncation=True,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        for name, values in _faithfulness(model, inputs, tokenizer.pad_token_id).items():
            metrics[name] += values.tolist()
    return metrics


def _faithfulness(model: NaiveModel, inputs: Any, pad: int) -> dict[str, Tensor]:
    """Both metrics of one batch, [B, K]: removed tokens are cut out and the rest padded to the full width."""
    ids, seen = inputs["input_ids"], inputs["attention_mask"].bool()
    selectable = seen & ~inputs["special_tokens_mask"].bool()
    full = model.logits(ids, seen).softmax(-1)
    target = full.argmax(-1, keepdim=True)

    def fall(mask: Tensor) -> Tensor:
        """How much the probability of the predicted class falls, [B]."""
        # The kept tokens move to the left, padding behind them.
        order = (~mask).byte().argsort(dim=-1, stable=True)
        kept = mask.gather(1, order)
        left = model.logits(ids.gather(1, order).masked_fill(~kept, pad), kept).softmax(-1)
        return (full - left).gather(-1, target).squeeze(-1)

    views = list(model.views(model.scores(ids, seen), seen, selectable))
    return {
        "comprehensiveness": torch.stack([fall(dropped) for _, dropped in views], dim=-1),
        "sufficiency": torch.stack([fall(kept) for kept, _ in views], dim=-1),
    }
