"""Other people's algorithms on the same classifier: captum's and shap's, as their users would call them.

Each is given what makes it fast: several perturbed copies of a text are run at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unirex.bench.references import PlainClassifier, reading
from unirex.encoding.batch import Batch
from unirex.system import System

TOGETHER = 64  # perturbed copies run at once


class Peers:
    """The classifier of a system as captum sees it, and algorithms on it."""

    def __init__(self, system: System) -> None:
        self.model, self.tokenizer = PlainClassifier(system).eval(), system.tokenizer
        self.pad = int(system.tokenizer.pad_token_id)

    def from_embeddings(self, embeds: Tensor, mask: Tensor) -> Tensor:
        """Logits of word embeddings."""
        return self.model(mask, inputs_embeds=embeds)

    def from_ids(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits of token ids."""
        with torch.no_grad():
            return self.model(mask, input_ids=ids)

    def integrated_gradients(
        self, batch: Batch, target: Tensor, *, steps: int, internal: int | None = None
    ) -> Tensor:
        """Scores [B, T] of captum's Integrated Gradients from padding, special tokens staying."""
        from captum.attr import IntegratedGradients

        words = self.model.encoder.get_input_embeddings()
        start = batch.input_ids.masked_fill(~batch.special, self.pad)
        with torch.no_grad():
            embeds, baseline = words(batch.input_ids), words(start)
        found = IntegratedGradients(self.from_embeddings).attribute(
            embeds,
            baseline,
            target=target,
            additional_forward_args=(batch.attention_mask.long(),),
            n_steps=steps,
            method="gausslegendre",
            internal_batch_size=internal,
        )
        return found.sum(-1)

    def occlusion(self, batch: Batch, target: Tensor) -> Tensor:
        """Scores [B, T]: how the logit falls when a token becomes padding, one token after the other."""
        from captum.attr import FeatureAblation

        together = max(1, TOGETHER // len(batch.input_ids))
        return FeatureAblation(self.from_ids).attribute(
            batch.input_ids,
            baselines=self.pad,
            target=target,
            additional_forward_args=(batch.attention_mask.long(),),
            perturbations_per_eval=together,
        )

    def surrogate(
        self, name: str, texts: Sequence[str], targets: Sequence[int], samples: int
    ) -> list[Tensor]:
        """Scores of captum's `Lime` or `KernelShap`, which take one text at a time."""
        import captum.attr

        explainer = getattr(captum.attr, name)(self.from_ids)
        found = []
        for text, target in zip(texts, targets, strict=True):
            inputs: Any = self.tokenizer(text, **reading(self.model))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = explainer.attribute(
                    inputs["input_ids"],
                    baselines=self.pad,
                    target=target,
                    additional_forward_args=(inputs["attention_mask"],),
                    n_samples=samples,
                    perturbations_per_eval=TOGETHER,
                )
            found.append(scores)
        return found

    def shap(self, samples: int) -> Any:
        """`shap`'s explainer for texts: `explain(texts)`."""
        import shap

        def logits(texts: Any) -> Any:
            inputs: Any = self.tokenizer([str(text) for text in texts], **reading(self.model))
            return self.from_ids(inputs["input_ids"], inputs["attention_mask"]).numpy()

        explainer = shap.Explainer(logits, shap.maskers.Text(self.tokenizer))
        return lambda texts: explainer(list(texts), max_evals=samples, batch_size=TOGETHER, silent=True)
