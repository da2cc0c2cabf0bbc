"""One batch seen by one system: everything an objective, an explanation or a metric needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unirex.data.example import AnswerNumbers
from unirex.encoding.batch import Batch
from unirex.errors import UserError
from unirex.models.labelling import Labelling
from unirex.models.task import Pass
from unirex.perturb import Perturber
from unirex.select import SELECTORS, Selector, faded, top_k


@dataclass(frozen=True)
class Step:
    """A batch and a system; each view is computed on first use and kept, and unused views are never run."""

    full: Pass
    given_target: Tensor | None  # [B]  gold labels in training; [B, 2] a contrast; None: the most probable
    extractor: Any  # (pass, target) -> scores [D, T]; some offer more, see below
    perturber: Perturber
    budgets: Sequence[float]
    class_weights: Tensor | None = None  # [C]
    views: Sequence[str] = ("kept", "dropped")  # those sure to be needed: they are run together
    selector: Selector = field(default_factory=Selector)
    progress: float = 1.0  # share of the training that is done
    number: int = 0  # of training steps before this one

    @property
    def batch(self) -> Batch:
        """The whole texts."""
        return self.full.batch

    @property
    def logits(self) -> Tensor:  # [B, C]
        """The prediction of the system."""
        return self.full.logits

    @cached_property
    def target(self) -> Tensor:  # [B]
        """The label whose logit is explained and whose probability is compared between views."""
        return self.logits.argmax(-1) if self.given_target is None else self.given_target

    @cached_property
    def scores(self) -> Tensor:  # [D, T]
        """How much each token matters; 0 at padding."""
        return self._scored() * self.batch.attention_mask

    def _scored(self) -> Tensor:
        if self._two_scores is None:
            return self.extractor(self.full, self.target)
        return self.extractor.blend(self.full, *self._two_scores)

    @cached_property
    def _two_scores(self) -> tuple[Tensor, Tensor] | None:  # [D, T] each
        """Marks and order, of an extractor that has both: see `LearntScores`; a contrast has one score."""
        if not getattr(self.extractor, "order", False) or self.target.dim() == 2:
            return None
        return self.extractor.both(self.full, self.target)

    @property
    def marks(self) -> Tensor:  # [D, T]
        """The scores that should be what people mark: those of a head of their own, or the scores."""
        return self.scores if self._two_scores is None else self._two_scores[0] * self.batch.attention_mask

    @property
    def order(self) -> Tensor:  # [D, T]
        """The scores that should be in the classifier's order: those of their own head, or the scores."""
        return self.scores if self._two_scores is None else self._two_scores[1] * self.batch.attention_mask

    def attributions(self, attribution: Any) -> Tensor:  # [D, T]
        """How the classifier itself ranks the tokens for the target at present; a constant.

        Dropout is off meanwhile: noise in the passes of an attribution does not average out.
        """
        task = self.full.task
        self.full.embeds  # noqa: B018  (kept from first use on: that must not be inside `no_grad`)
        modes = [(part, part.training) for part in task.modules()]
        task.eval()
        try:
            with torch.no_grad():
                return attribution(self.full, self.target)
        finally:
            for part, training in modes:
                part.training = training

    @cached_property
    def masks(self) -> Tensor:  # [K, D, T]
        """One rationale per budget. No gradient flows through the choice itself."""
        return top_k(self._drawn, self.batch.selectable, self.budgets)

    @cached_property
    def _drawn(self) -> Tensor:  # [D, T]
        """The scores that tokens are selected by: with noise, if the selector explores."""
        return self.selector.drawn(self.scores)

    @cached_property
    def kept_logits(self) -> Tensor:  # [K, B, C]
        """The prediction from the rationale alone."""
        return self._view("kept")

    @cached_property
    def dropped_logits(self) -> Tensor:  # [K, B, C]
        """The prediction from the text without its rationale."""
        return self._view("dropped")

    @cached_property
    def soft_logits(self) -> Tensor:  # [B, C]
        """The prediction from the whole text weighed by the scores, where the extractor makes one (A2R)."""
        return self.extractor.soft_logits(self.full, self.scores)

    @cached_property
    def gates(self) -> Any:
        """The distribution over rationales, of an extractor that has one (HardKuma)."""
        return self.extractor.gates(self.full)

    @cached_property
    def completeness_errors(self) -> Tensor | None:  # [B]
        """By how much scores fail to add up to what they explain; None if the extractor does not claim it.

        With choices, the mean over the sequences of an example.
        """
        if not hasattr(self.extractor, "convergence_delta"):
            return None
        errors = self.extractor.convergence_delta(self.full, self.target, self.scores).abs()
        owner = self.batch.example
        if owner is None:
            return errors
        sums = errors.new_zeros(self.batch.examples()).index_add(0, owner, errors)
        return sums / owner.bincount(minlength=len(sums))

    def _view(self, name: str) -> Tensor:
        return self._planned[name] if name in self.views else self._run([name])[name]

    @cached_property
    def _planned(self) -> dict[str, Tensor]:
        return self._run(self.views)

    def _run(self, names: Sequence[str]) -> dict[str, Tensor]:  # [K, B, C] each
        if self.selector.passes_gradients:
            return {name: self._answers(self._shown(name), self._gated(name)) for name in names}
        logits = self._answers(torch.cat([self._shown(name) for name in names]))
        return dict(zip(names, logits.chunk(len(names)), strict=True))

    def _shown(self, name: str) -> Tensor:  # [K, D, T]
        """The tokens a view shows."""
        return self.masks if name == "kept" else ~self.masks

    def _gated(self, name: str) -> Tensor:  # [D, T, H]
        """Word embeddings through which the gradient of a loss reaches the score of each shown token."""
        return self.selector.gated(self.full, self._drawn, kept=name == "kept")

    def _answers(self, shown: Tensor, embeds: Tensor | None = None) -> Tensor:  # [K, B, C]
        return self.full.task.answer(self.batch, self.perturber.logits(self.full, shown, embeds=embeds))

    @property
    def task_loss(self) -> Tensor:  # [B]
        """The loss of the system's answer."""
        return self.answer_loss(self.full.logits)

    @cached_property
    def full_loss(self) -> Tensor:  # [B]
        """The loss of the explained label from the whole text."""
        return self.target_loss(self.full.logits)

    @cached_property
    def kept_loss(self) -> Tensor:  # [K, B]
        """The loss of the explained label from the rationale alone."""
        return self.target_loss(self.kept_logits)

    @cached_property
    def dropped_loss(self) -> Tensor:  # [K, B]
        """The loss of the explained label from the text without its rationale."""
        return self.target_loss(self.dropped_logits)

    @property
    def gold(self) -> Tensor:  # [B], or [B, C] where texts have sets of labels
        """The right answers."""
        return self.target if self.batch.labels is None else self.batch.labels

    def answer_loss(self, logits: Tensor) -> Tensor:
        """Cross-entropy of a whole answer, with class weights as in every term (spec/known-errors.md#d-9)."""
        return self.labelling.loss(logits, self.gold, self.class_weights)

    def target_loss(self, logits: Tensor) -> Tensor:
        """Cross-entropy of the explained label; where texts have one label, that of the answer."""
        return self.labelling.target_loss(logits, self.target, self.gold, self.class_weights)

    @property
    def labelling(self) -> Labelling:
        """What logits mean: one label for each text, or a set of them."""
        return self.full.task.labelling

    @property
    def predicted(self) -> list[AnswerNumbers]:  # [B]
        """The numbers of the labels that are predicted.

        Finite weights can lead to logits that are not, if they or numbers in the configuration are far off.
        """
        if not self.logits.isfinite().all():
            raise UserError(
                "the model answers with NaN or infinity: its weights or its config.json are damaged."
            )
        return self.labelling.predicted(self.logits)


@dataclass(frozen=True)
class SelectPredictStep(Step):
    """A batch seen by a system that predicts from the rationale alone.

    Its prediction from the rest of a text would mean nothing, as it never saw such inputs in training. So
    `dropped` is the empty text here: the rationale is compared with no text at all.
    """

    select: str = "top-k"
    answer_budget: float = 100.0  # of the rationale that is predicted from
    sampled: bool = False  # in training: draw the rationale, where the extractor is a distribution (HardKuma)

    @cached_property
    def sample(self) -> Tensor:  # [D, T]
        """A rationale drawn from the gates: exact zeros, exact ones, and values between with gradients."""
        return self.gates.sample()

    def _scored(self) -> Tensor:
        if hasattr(self.extractor, "gates"):
            return self.gates.scores()
        # The rationale comes before the prediction, so these extractors ignore the target.
        ignored = self.batch.input_ids.new_zeros(self.batch.examples())
        return self.extractor(self.full, ignored)

    @cached_property
    def masks(self) -> Tensor:  # [K, D, T]
        """One rationale per budget."""
        return self._masks(self.budgets)

    def _masks(self, budgets: Sequence[float]) -> Tensor:
        if self.sampled and hasattr(self.extractor, "gates"):
            return ((self.sample > 0) & self.batch.selectable).expand(len(budgets), *self.sample.shape)
        return SELECTORS[self.select](self._drawn, self.batch.selectable, budgets)

    @cached_property
    def logits(self) -> Tensor:  # [B, C]
        """The answer: the prediction from the rationale of the largest budget it was trained with."""
        if self.answer_budget in self.budgets:
            return self.kept_logits[list(self.budgets).index(self.answer_budget)]
        return self._answers(self._masks([self.answer_budget]))[0]

    @property
    def task_loss(self) -> Tensor:  # [B]
        """The loss of the answers from the rationales, averaged over budgets."""
        return self.answer_loss(self.kept_logits).mean(0)

    def _shown(self, name: str) -> Tensor:
        return self.masks if name == "kept" else torch.zeros_like(self.masks)

    def _run(self, names: Sequence[str]) -> dict[str, Tensor]:
        if not (self.sampled and hasattr(self.extractor, "gates")):
            return super()._run(names)
        embeds = faded(self.full, (1 - self.sample) * self.batch.selectable)
        return {name: self._answers(self._shown(name), embeds) for name in names}
