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

from unirex.data.example import Example, Label
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
class Protocol:
    """How a system is looked at, beyond its own rationales under its own removal."""

    beside: Sequence[Perturber] = ()  # further ways of removing tokens
    draws: int = 5  # of random scores
    probes: Sequence[str] = ()
    trained_removal: str | None = None


@dataclass
class Cost:
    """What a piece of work took."""

    seconds: float = 0.0
    tokens: int = 0  # that the encoder ran, padding included


@contextmanager
def costed(model: RationaleModel) -> Iterator[Cost]:
    """What the work inside takes, of all encoders of the model; on a GPU, until it is done."""
    cost, device = Cost(), model.device
    inner = [one for one in model.modules() if isinstance(one, PreTrainedModel) and one is not model]
    wrapped = {id(one.base_model) for one in inner if one.base_model is not one}
    encoders = [one for one in inner if one.base_model is one or id(one.base_model) not in wrapped]

    def note(_module: nn.Module, _args: Any, given: dict[str, Any]) -> None:
        rows = given["inputs_embeds"] if given.get("inputs_embeds") is not None else given["input_ids"]
        cost.tokens += rows.shape[0] * rows.shape[1]

    handles = [one.register_forward_pre_hook(note, with_kwargs=True) for one in encoders]
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
    answers: Callable[[int], Sequence[Label]],
    *,
    protocol: Protocol | None = None,
    cost: Cost | None = None,
) -> Iterator[Record]:
    """One record per example of the batch; `answers` says what so many logits stand for."""
    how = protocol or Protocol(draws=0)
    sequences = [tokens for one in encoded for tokens in one.sequences]
    scored = iter(batch_scores(step, sequences))
    views = zip(*(batch_views(step, by) for by in (step.perturber, *how.beside)), strict=True)
    probes = probe(step, how.probes, examples, encoded) if how.probes else None
    draws = batch_draws(step, examples, encoded, how, known=probes)
    predicted, targets = step.logits.argmax(-1).tolist(), step.target.tolist()
    probabilities = distributions(step.logits[None])
    errors = step.completeness_errors
    deltas = None if errors is None else errors.double().tolist()
    for row, (example, one) in enumerate(zip(examples, encoded, strict=True)):
        labels = tuple(answers(len(one.sequences)))
        yield Record(
            id=example.id,
            segments=example.segments,
            label=example.label,
            predicted=labels[predicted[row]],
            labels=labels,
            probabilities=cut(probabilities[row], len(labels))[0],
            sequences=tuple(next(scored) for _ in one.sequences),
            budgets=tuple(map(float, step.budgets)),
            target=labels[targets[row]],
            views=tuple(cut_views(seen, len(labels)) for seen in next(views)),
            draws=tuple(replace(draw, views=cut_views(draw.views, len(labels))) for draw in next(draws)),
            probes=probes[row] if probes is not None else None,
            seconds=cost.seconds / len(examples) if cost else None,
            token_forwards=cost.tokens / len(examples) if cost else None,
            convergence_delta=deltas[row] if deltas is not None else None,
            truncated=one.truncated,
            choices=example.choices,
            trained_removal=how.trained_removal,
        )


def batch_scores(step: Step, sequences: Sequence[Tokens]) -> Iterator[Scored]:
    """What was thought of the selectable tokens of every sequence of the batch."""
    scores = step.scores.double().cpu().numpy()  # [D, T]
    masks = step.masks.cpu().numpy()  # [K, D, T]
    for row, tokens in enumerate(sequences):
        places = tokens.selectable.nonzero()[0]
        gold = tokens.rationale
        yield Scored(
            tokens=tuple(map(tuple, tokens.spans[places].tolist())),
            scores=tuple(scores[row, places].tolist()),
            gold=None if gold is None else tuple(gold[places].tolist()),
            selected=tuple(tuple(mask.nonzero()[0].tolist()) for mask in masks[:, row, places]),
        )


def batch_views(step: Step, perturber: Perturber) -> Iterator[Views]:
    """What every example's rationales come to, for one way of removing tokens."""
    seen = step if perturber is step.perturber else replace(step, perturber=perturber, asked=step.target)
    both = zip(distributions(seen.dropped_logits), distributions(seen.kept_logits), strict=True)
    alone = isinstance(step, SelectPredictStep)  # it has no answer to the whole text to compare with
    return (Views(perturber.removal, removed, kept, kept if alone else None) for removed, kept in both)


def batch_draws(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    how: Protocol,
    *,
    known: Sequence[Probes] | None,
) -> Iterator[tuple[Draw, ...]]:
    """Random scores for every example, so many times over; `known` is what probes said under its own."""
    steps = [
        replace(step, extractor=random_scores(step, seed=number), asked=step.target)
        for number in range(how.draws)
    ]
    drawn = [_draws(one, examples, encoded, how.probes, known) for one in steps]
    return zip(*drawn, strict=True) if drawn else iter([()] * len(encoded))


def random_scores(step: Step, *, seed: int) -> Callable[[Pass, Tensor], Tensor]:
    """Scores that know nothing; where every score above 0 counts, the system's own in random order."""
    drawn = Random(None, seed=seed)
    if not (isinstance(step, SelectPredictStep) and step.select == "threshold"):
        return drawn

    def shuffled(full: Pass, target: Tensor) -> Tensor:
        places = ranks(drawn(full, target), full.batch.selectable)
        own = step.scores.masked_fill(~full.batch.selectable, float("-inf")).sort(descending=True).values
        return own.gather(1, places).masked_fill(~full.batch.selectable, 0.0)

    return shuffled


def _draws(
    step: Step,
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    names: Sequence[str],
    known: Sequence[Probes] | None,
) -> Iterator[Draw]:
    """One draw of every example; the tokens and the gold are the record's."""
    scored = batch_scores(step, [tokens for one in encoded for tokens in one.sequences])
    probes = [None] * len(encoded) if known is None else probe(step, names, examples, encoded, known=known)
    for one, views, told in zip(encoded, batch_views(step, step.perturber), probes, strict=True):
        sequences = [next(scored) for _ in one.sequences]
        scores, selected = tuple(s.scores for s in sequences), tuple(s.selected for s in sequences)
        yield Draw(scores, selected, views, told)


def distributions(logits: Tensor) -> list[Distributions]:
    """Probabilities of every view: [K, B, C] to B times K times C."""
    found = logits.float().softmax(-1).transpose(0, 1).tolist()
    return [tuple(map(tuple, one)) for one in found]


def cut(rows: Distributions, count: int) -> Distributions:
    """Only the first so many: a batch of choices is as wide as the example with the most of them."""
    return rows if len(rows[0]) == count else tuple(row[:count] for row in rows)


def cut_views(views: Views, count: int) -> Views:
    """The same for all distributions of a view."""
    whole = None if views.whole is None else cut(views.whole, count)
    return replace(views, removed=cut(views.removed, count), kept=cut(views.kept, count), whole=whole)
