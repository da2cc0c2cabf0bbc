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
from unirex.metrics.faithfulness import comprehensiveness, sufficiency
from unirex.models.task import of_target
from unirex.select import budget_counts, reasons
from unirex.step import SelectPredictStep, Step
from unirex.system import System

Plain = dict[str, Any]  # of JSON types
ATTRIBUTION_PASSES = 50  # of an extractor without learnt scores, before it was measured
SWITCHING = ("attention", "attention-rollout")  # they set the encoder to another mode while they run


@dataclass(frozen=True)
class Ask:
    """A question to one system: to predict, or to explain by rules, one for each budget."""

    model: str
    extractor: str | None = None  # another than the system's own
    rules: tuple[RationaleRule, ...] = ()  # none: predict
    target: tuple[int, ...] = ()  # the number of the label; two for a contrast; none: the predicted one
    faithfulness: bool = False
    passes: int = 1
    pausable: bool = True

    @property
    def kind(self) -> Hashable:
        """What decides how long a token takes."""
        return self.model, self.extractor, len(self.rules), self.faithfulness


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
    """
    masks = torch.stack(
        [named_tokens(step, rule, column, encoded) for rule, column in zip(ask.rules, columns, strict=True)]
    )  # [K, D, T]
    others = torch.zeros_like(masks) if isinstance(step, SelectPredictStep) else ~masks
    perturber = system.model.perturber(system.model.evaluated_removal)
    logits = perturber.logits(step.full, torch.cat([others, masks]))  # [2K, D, C]
    views = step.full.task.answer(step.batch, logits)  # [2K, B, C]
    target = step.target if step.target.dim() == 1 else step.target[:, 0]  # of a contrast: the first label
    full = of_target(step.labelling.probabilities(step.logits), target).tolist()  # [B]
    without, alone = (
        of_target(step.labelling.probabilities(part), target).tolist() for part in views.chunk(2)
    )  # [K, B]
    comp, suff = comprehensiveness(full, without).tolist(), sufficiency(full, alone).tolist()
    return [
        [
            {
                "budget": rule.budget,
                "probability": full[row],
                "without_rationale": without[k][row],
                "rationale_alone": alone[k][row],
                "comprehensiveness": comp[k][row],
                "sufficiency": suff[k][row],
            }
            for k, rule in enumerate(ask.rules)
        ]
        for row in range(len(full))
    ]


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
