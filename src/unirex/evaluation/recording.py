"""From a batch that a system has seen to one record per example."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from unirex.config import RANDOM_DRAWS
from unirex.data.example import Example, Label, numbered_answer
from unirex.encoding.batch import Encoded, Tokens
from unirex.evaluation.probes import probe
from unirex.evaluation.records import Distributions, Draw, Probes, Record, Scored, Views
from unirex.extractors.heuristic import Random
from unirex.modeling import RationaleModel
from unirex.models.task import Pass
from unirex.perturb import Perturber
from unirex.select import ranks
from unirex.step import SelectPredictStep, Step


@dataclass(frozen=True)
class EvaluationProtocol:
    """What is measured beside the system's own rationales under its main removal."""

    beside: Sequence[Perturber] = ()  # further ways of removing tokens
    draws: int = RANDOM_DRAWS
    probes: Sequence[str] = ()
    trained_removal: str | None = None


@dataclass
class Cost:
    """The cost of a piece of work."""

    seconds: float = 0.0
    tokens: int = 0  # that the encoder ran, padding included


@contextmanager
def measured_cost(model: RationaleModel) -> Iterator[Cost]:
    """The cost of the work inside, for all encoders of the model; on a GPU, until it is done."""
    cost, device = Cost(), model.device
    inner = [part for part in model.modules() if isinstance(part, PreTrainedModel) and part is not model]
    # A wrapped encoder is counted at its wrapper, not a second time inside.
    wrapped = {id(part.base_model) for part in inner if part.base_model is not part}
    encoders = [part for part in inner if part.base_model is part or id(part.base_model) not in wrapped]

    def count_tokens(_module: nn.Module, _args: Any, given: dict[str, Any]) -> None:
        rows = given["inputs_embeds"] if given.get("inputs_embeds") is not None else given["input_ids"]
        cost.tokens += rows.shape[0] * rows.shape[1]

    handles = [encoder.register_forward_pre_hook(count_tokens, with_kwargs=True) for encoder in encoders]
    start = time.perf_counter()
    try:
        yield cost
    finally:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        cost.seconds = time.perf_counter() - start
        for handle in handles:
            handle.remove()


def batch_records(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    label_names: Callable[[int], Sequence[Label]],
    *,
    protocol: EvaluationProtocol | None = None,
    cost: Cost | None = None,
) -> Iterator[Record]:
    """One record per example of the batch; `label_names` maps a number of logits to the labels they mean."""
    protocol = protocol or EvaluationProtocol(draws=0)
    scored = batch_scores(step, [tokens for encoding in encoded for tokens in encoding.sequences])
    perturbers = (step.perturber, *protocol.beside)
    views = zip(*(batch_views(step, perturber) for perturber in perturbers), strict=True)
    probes = probe(step, protocol.probes, examples, encoded) if protocol.probes else None
    draws = batch_draws(step, examples, encoded, protocol, known=probes)
    predicted, targets = step.predicted, step.target.tolist()
    answered = _nested_probabilities(step, step.logits[None])
    errors = step.completeness_errors
    deltas = None if errors is None else errors.double().tolist()
    for row, (example, encoding) in enumerate(zip(examples, encoded, strict=True)):
        labels = tuple(label_names(len(encoding.sequences)))
        yield Record(
            id=example.id,
            segments=example.segments,
            label=example.label,
            predicted=numbered_answer(predicted[row], labels),
            labels=labels,
            probabilities=_cut(answered[row], len(labels))[0],
            sequences=tuple(next(scored) for _ in encoding.sequences),
            budgets=tuple(map(float, step.budgets)),
            target=labels[targets[row]],
            views=tuple(_cut_views(view, len(labels)) for view in next(views)),
            draws=tuple(replace(draw, views=_cut_views(draw.views, len(labels))) for draw in next(draws)),
            probes=probes[row] if probes is not None else None,
            seconds=cost.seconds / len(examples) if cost else None,
            token_forwards=cost.tokens / len(examples) if cost else None,
            convergence_delta=deltas[row] if deltas is not None else None,
            truncated=encoding.truncated,
            choices=example.choices,
            trained_removal=protocol.trained_removal,
        )


def batch_scores(step: Step, sequences: Sequence[Tokens]) -> Iterator[Scored]:
    """The scores and selections of the selectable tokens of every sequence of the batch."""
    scores = step.scores.double().cpu().numpy()  # [D, T]
    masks = step.masks.cpu().numpy()  # [K, D, T]
    for row, tokens in enumerate(sequences):
        positions = tokens.selectable.nonzero()[0]
        gold = tokens.rationale
        yield Scored(
            tokens=tuple(map(tuple, tokens.spans[positions].tolist())),
            scores=tuple(scores[row, positions].tolist()),
            gold=None if gold is None else tuple(gold[positions].tolist()),
            selected=tuple(tuple(mask.nonzero()[0].tolist()) for mask in masks[:, row, positions]),
            others=tuple(scores[row, (~tokens.selectable).nonzero()[0]].tolist()),
        )


def batch_views(step: Step, perturber: Perturber) -> Iterator[Views]:
    """The predictions with and without every example's rationales, for one way of removing tokens."""
    if perturber is not step.perturber:
        step = replace(step, perturber=perturber, given_target=step.target)
    both = zip(
        _nested_probabilities(step, step.dropped_logits),
        _nested_probabilities(step, step.kept_logits),
        strict=True,
    )
    alone = isinstance(step, SelectPredictStep)  # it has no answer to the whole text to compare with
    return (Views(perturber.removal, removed, kept, kept if alone else None) for removed, kept in both)


def batch_draws(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    protocol: EvaluationProtocol,
    *,
    known: Sequence[Probes] | None,
) -> Iterator[tuple[Draw, ...]]:
    """All random draws of every example; `known` are the probes under the system's own scores."""
    steps = [
        replace(step, extractor=random_scores(step, seed=number), given_target=step.target)
        for number in range(protocol.draws)
    ]
    drawn = [_draws(random_step, examples, encoded, protocol.probes, known) for random_step in steps]
    return zip(*drawn, strict=True) if drawn else iter([()] * len(encoded))


def random_scores(step: Step, *, seed: int) -> Callable[[Pass, Tensor], Tensor]:
    """An extractor of random scores; where every score above 0 counts, the system's own in random order."""
    drawn = Random(None, seed=seed)
    if not (isinstance(step, SelectPredictStep) and step.select == "threshold"):
        return drawn

    def shuffled(full: Pass, target: Tensor) -> Tensor:
        selectable = full.batch.selectable
        order = ranks(drawn(full, target), selectable)
        own = step.scores.masked_fill(~selectable, float("-inf")).sort(descending=True).values
        return own.gather(1, order).masked_fill(~selectable, 0.0)

    return shuffled


def _draws(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    names: Sequence[str],
    known: Sequence[Probes] | None,
) -> Iterator[Draw]:
    """One draw of every example; the tokens and the gold marks are the record's."""
    scored = batch_scores(step, [tokens for encoding in encoded for tokens in encoding.sequences])
    probes = [None] * len(encoded) if known is None else probe(step, names, examples, encoded, known=known)
    for encoding, views, probed in zip(encoded, batch_views(step, step.perturber), probes, strict=True):
        sequences = [next(scored) for _ in encoding.sequences]
        scores = tuple(sequence.scores for sequence in sequences)
        selected = tuple(sequence.selected for sequence in sequences)
        yield Draw(scores, selected, views, probed)


def _nested_probabilities(step: Step, logits: Tensor) -> list[Distributions]:
    """Probabilities by example and view: from logits [K, B, C] to tuples [B][K][C]."""
    rows = step.labelling.probabilities(logits).transpose(0, 1).tolist()
    return [tuple(map(tuple, row)) for row in rows]


def _cut(rows: Distributions, count: int) -> Distributions:
    """Only the first `count` labels: a batch of choices is as wide as the example with the most of them."""
    return rows if len(rows[0]) == count else tuple(row[:count] for row in rows)


def _cut_views(views: Views, count: int) -> Views:
    whole = None if views.whole is None else _cut(views.whole, count)
    return replace(views, removed=_cut(views.removed, count), kept=_cut(views.kept, count), whole=whole)
