"""What a system is asked, and what it answers: labels, explanations, and how faithful these are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unirex.data.example import Answer, Example, Label
from unirex.encoding.batch import Batch, Encoded
from unirex.explanation import Explanation, RationaleRule, scored_sentences
from unirex.extractors.heuristic import Random
from unirex.metrics.faithfulness import comprehensiveness, sufficiency
from unirex.models.task import of_target
from unirex.select import budget_counts, ranks, reasons
from unirex.step import SelectPredictStep, Step
from unirex.system import System

Plain = dict[str, Any]  # of JSON types
ATTRIBUTION_PASSES = 50  # of an extractor without learnt scores, before it was measured
HOLDING = ("attention", "attention-rollout", "deeplift")  # they change how the encoder runs while they do


@dataclass(frozen=True)
class Ask:
    """A question to one system: to predict, or to explain by rules, one for each budget."""

    model: str
    extractor: str | None = None  # another than the system's own
    dial: float | None = None  # of a system with two scores, where it is not as it was saved
    rules: tuple[RationaleRule, ...] = ()  # none: predict
    target: tuple[int, ...] = ()  # the number of the label; two for a contrast; none: the predicted one
    faithfulness: bool = False
    floor: int = 0  # random rationales to compare with
    passes: int = 1
    holding: bool = (
        False  # whether the classifier runs in another way meanwhile: other modes, hooks of captum
    )

    @property
    def kind(self) -> Hashable:
        """What decides how long a token takes."""
        return self.model, self.extractor, len(self.rules), self.faithfulness, self.floor

    def lets_pass(self, other: Ask) -> bool:
        """Whether another question may run between two chunks of this one."""
        return not self.holding or other.model != self.model


def answered(
    system: System, ask: Ask, examples: Sequence[Example], encoded: Sequence[Encoded]
) -> list[Plain]:
    """The answer to every example, in plain JSON types."""

    def answer(part: Sequence[Example], items: Sequence[Encoded], batch: Batch) -> Iterator[Plain]:
        return explained(system, ask, part, items, batch) if ask.rules else predicted(system, items, batch)

    found: dict[int, Plain] = {}
    for numbers, answers in system.run_encoded(examples, encoded, answer):
        found.update(zip(numbers, answers, strict=True))
    return [found[number] for number in range(len(examples))]


def predicted(system: System, encoded: Sequence[Encoded], batch: Batch) -> Iterator[Plain]:
    """The labels of a batch with their probabilities."""
    pairs = zip(system.batch_predictions(encoded, batch), encoded, strict=True)
    for (label, row), item in pairs:
        names = system.label_names(len(item.sequences))
        yield prediction(label, dict(zip(names, row.tolist(), strict=True)), item.truncated)


def prediction(label: Answer, probabilities: dict[Label, float], truncated: int) -> Plain:
    """One label with the probabilities of all."""
    listed = [{"label": name, "probability": share} for name, share in probabilities.items()]
    return {"label": label, "probabilities": listed, "truncated": truncated}


def explained(
    system: System, ask: Ask, examples: Sequence[Example], encoded: Sequence[Encoded], batch: Batch
) -> Iterator[Plain]:
    """The labels of a batch with an explanation for each budget, all from the same scores."""
    step = system.model.step(batch)
    if ask.target:
        number = batch.input_ids.new_tensor(ask.target).squeeze()
        step = replace(step, given_target=number.expand(batch.examples(), *number.shape))
    columns = [list(system.batch_explanations(step, rule, examples, encoded)) for rule in ask.rules]
    measured = faithfulness(system, ask, step, columns, encoded) if ask.faithfulness else None
    for row, explanations in enumerate(zip(*columns, strict=True)):
        first = explanations[0]
        yield {
            **prediction(first.label, first.probabilities, first.truncated),
            "explanations": [explanation.to_dict() for explanation in explanations],
            "faithfulness": None if measured is None else measured[row],
        }


def faithfulness(
    system: System, ask: Ask, step: Step, columns: Sequence[Sequence[Explanation]], encoded: Sequence[Encoded]
) -> list[list[Plain]]:
    """For each example and budget: how the probability of the explained label hangs on the rationale.

    Tokens are removed as in evaluation; a system that predicts from its rationale is compared with no text.
    The floor is the mean over random rationales, each of as many tokens as the one that is shown.
    """
    shown = torch.stack(
        [named_tokens(step, rule, column, encoded) for rule, column in zip(ask.rules, columns, strict=True)]
    )  # [K, D, T]
    masks = torch.stack([shown, *(random_tokens(step, shown, seed=seed) for seed in range(ask.floor))])
    others = torch.zeros_like(masks) if isinstance(step, SelectPredictStep) else ~masks
    perturber = system.model.perturber(system.model.evaluated_removal)
    views = torch.stack([others, masks]).flatten(0, 2)  # [2 * (1 + floor) * K, D, T]
    logits = step.full.task.answer(step.batch, perturber.logits(step.full, views))
    target = step.target if step.target.dim() == 1 else step.target[:, 0]  # of a contrast: the first label
    full = of_target(step.labelling.probabilities(step.logits), target)  # [B]
    left = of_target(step.labelling.probabilities(logits), target)
    left = left.unflatten(0, (2, 1 + ask.floor, len(ask.rules)))  # [2, 1 + floor, K, B]
    return [
        [_measured(ask, rule, full[row], left[:, :, k, row]) for k, rule in enumerate(ask.rules)]
        for row in range(len(full))
    ]


def _measured(ask: Ask, rule: RationaleRule, full: Tensor, left: Tensor) -> Plain:
    """The figures of one rationale, and those of the floor: `left` [2, 1 + floor], without and alone."""
    found = {"budget": rule.budget, "probability": full.item(), **_differences(full, left[:, 0])}
    floor = _differences(full, left[:, 1:].mean(-1)) if ask.floor else None
    return {**found, "floor": floor and {"draws": ask.floor, **floor}}


def _differences(full: Tensor, left: Tensor) -> dict[str, float]:
    without, alone = left.tolist()
    return {
        "without_rationale": without,
        "rationale_alone": alone,
        "comprehensiveness": comprehensiveness(full.item(), without).item(),
        "sufficiency": sufficiency(full.item(), alone).item(),
    }


def random_tokens(step: Step, shown: Tensor, *, seed: int) -> Tensor:  # [K, D, T]
    """As many tokens of every sequence as are shown, drawn at random; the same for the same text and seed."""
    order = ranks(Random(None, seed=seed)(step.full, step.target), step.batch.selectable)
    return (order < shown.sum(-1, keepdim=True)) & step.batch.selectable


def named_tokens(
    step: Step, rule: RationaleRule, explanations: Sequence[Explanation], encoded: Sequence[Encoded]
) -> Tensor:  # [D, T]
    """The tokens of every sequence that the explanations name by this rule."""
    selectable = step.batch.selectable
    if rule.unit != "sentence":
        return reasons(step.scores, selectable, rule)
    scores, allowed = step.scores.tolist(), budget_counts(selectable.sum(-1), rule.budget).tolist()
    masks, row = torch.zeros_like(selectable), 0
    for explanation, item in zip(explanations, encoded, strict=True):
        for choice, sequence in enumerate(item.sequences):
            segments = explanation.segments
            if item.choice:  # its last segment is the choice that is explained
                segments = (*segments[:-1], (explanation.choices or ())[choice])
            _, chosen = scored_sentences(
                segments, sequence, scores[row], allowed=allowed[row], floor=rule.floor
            )
            masks[row, : len(chosen)] = masks.new_tensor(chosen)
            row += 1
    return masks
