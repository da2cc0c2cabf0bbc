"""What is compared with: a plain classifier, and the naive masked computation of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unirex.data.example import Example
from unirex.encoding.batch import Batch
from unirex.models.encoders import quiet_transformers
from unirex.models.task import pool
from unirex.objectives import Objectives
from unirex.select import top_k
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


class NaiveModel(nn.Module):
    """A shared-LM system that runs its encoder whenever it needs something."""

    def __init__(self, system: System, *, copy: bool = False) -> None:
        super().__init__()
        extractor: Any = system.model.extractor
        self.plain = PlainClassifier(system, copy=copy)
        self.scorer = deepcopy(extractor.head) if copy else extractor.head
        self.objectives: Objectives = system.model.config.built_objectives()
        self.budgets: tuple[float, ...] = system.model.config.budgets

    def logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """What the classifier says, [B, C]."""
        return self.plain(mask.long(), input_ids=ids)

    def scores(self, ids: Tensor, mask: Tensor) -> Tensor:
        """What the extractor says, [B, T], from a pass of its own."""
        hidden = self.plain.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return self.scorer(hidden).squeeze(-1) * mask

    def loss(self, batch: Batch) -> Tensor:
        """The loss of one training step: 1 + 2·|K| masked passes and the extractor's."""
        ids, seen, labels = batch.input_ids, batch.attention_mask, labels_of(batch)
        scores = self.scores(ids, seen)
        full = F.cross_entropy(self.logits(ids, seen), labels, reduction="none")
        kept: list[Tensor] = []
        dropped: list[Tensor] = []
        for chosen in top_k(scores, batch.selectable, self.budgets):
            for losses, mask in ((dropped, seen & ~chosen), (kept, seen & (chosen | ~batch.selectable))):
                losses.append(F.cross_entropy(self.logits(ids, mask), labels, reduction="none"))
        return self._total(full, torch.stack(kept), torch.stack(dropped), self._plausibility(scores, batch))

    def _total(self, full: Tensor, kept: Tensor, dropped: Tensor, plausibility: Tensor) -> Tensor:
        wanted = self.objectives
        comp, suff = wanted.comprehensiveness, wanted.sufficiency
        harder = (full - dropped).clamp(min=-comp.margin) + comp.margin
        as_easy = (kept - full).clamp(min=-suff.margin) + suff.margin
        total = wanted.task.weight * full.mean() + comp.weight * harder.mean() + suff.weight * as_easy.mean()
        return total + wanted.plausibility.weight * plausibility

    def _plausibility(self, scores: Tensor, batch: Batch) -> Tensor:
        """Binary cross-entropy over the tokens of texts with gold, gold tokens weighted up."""
        if batch.rationale is None or batch.has_rationale is None:
            return scores.sum() * 0
        valid = batch.attention_mask & batch.has_rationale[:, None]
        gold, total = (batch.rationale & valid)[valid].float(), valid.sum()
        if not bool(gold.any()):
            return scores.sum() * 0
        up = (total - gold.sum()) / gold.sum()
        return F.binary_cross_entropy_with_logits(scores[valid], gold, pos_weight=up)


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
    model: NaiveModel, tokenizer: Any, examples: Sequence[Example], *, width: int, batch_size: int
) -> dict[str, list[list[float]]]:
    """Comprehensiveness and sufficiency of every example and budget, batches in the order of the file."""
    found: dict[str, list[list[float]]] = {"comprehensiveness": [], "sufficiency": []}
    for start in range(0, len(examples), batch_size):
        texts = [one.segments[0] for one in examples[start : start + batch_size]]
        inputs = tokenizer(
            texts,
            padding="max_length",
            max_length=width,
            truncation=True,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        for name, values in faithfulness(model, inputs, tokenizer.pad_token_id).items():
            found[name] += values.tolist()
    return found


def faithfulness(model: NaiveModel, inputs: Any, pad: int) -> dict[str, Tensor]:
    """Both metrics of one batch, [B, K]: removed tokens are cut out and the rest padded to the full width."""
    ids, seen = inputs["input_ids"], inputs["attention_mask"].bool()
    selectable = seen & ~inputs["special_tokens_mask"].bool()
    full = model.logits(ids, seen).softmax(-1)
    target = full.argmax(-1, keepdim=True)
    masks = top_k(model.scores(ids, seen), selectable, model.budgets)
    parts: dict[str, list[Tensor]] = {"comprehensiveness": [], "sufficiency": []}
    for chosen in masks:
        for name, mask in (
            ("comprehensiveness", seen & ~chosen),
            ("sufficiency", seen & (chosen | ~selectable)),
        ):
            left = model.logits(*compacted(ids, mask, pad)).softmax(-1)
            parts[name].append((full - left).gather(-1, target).squeeze(-1))
    return {name: torch.stack(values, dim=-1) for name, values in parts.items()}


def compacted(ids: Tensor, kept: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """The kept tokens moved to the left, padding behind them."""
    order = (~kept).byte().argsort(dim=-1, stable=True)
    mask = kept.gather(1, order)
    return ids.gather(1, order).masked_fill(~mask, pad), mask
