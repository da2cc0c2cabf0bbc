"""What a training step costs, in steps of plain fine-tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

from torch import Tensor, nn

from unirex.bench.harness import Goal, Row, interleaved, ratio
from unirex.bench.references import NaiveModel, PlainClassifier, padded
from unirex.bench.workload import Workload
from unirex.config import Training
from unirex.encoding.batch import Batch
from unirex.modeling import RationaleModel
from unirex.models.encoders import encoder_source
from unirex.training.optimizer import build_optimizer

CLIP = 1.0  # largest gradient norm, as stock trainers have it
LIKE, RANDOM = "batches of like length", "random batches"
GOALS = {"slm-fp": Goal("≤", 5.0), "slm-fp sampled": Goal("≤", 2.4), "naive": Goal("≥", 6.0)}
ABOUT = {
    "slm-fp": "SLM-FP step, all five budgets ÷ plain step",
    "slm-fp sampled": "SLM-FP step, one sampled budget ÷ plain step",
    "dlm-fp": "DLM-FP step, all five budgets ÷ plain step",
    "aa-f": "AA-F step (IG, 3 points), all five budgets ÷ plain step",
    "aa-fp": "AA-FP step (IG, 3 points, second derivatives), all five budgets ÷ plain step",
}


class Trainee:
    """A model with its optimiser, ready for training steps; dropout is on, as in training."""

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Tensor], rate: float) -> None:
        self.model, self.loss = model.train(), loss
        self.optimizer = build_optimizer(model, Training(), rate)

    def step(self, batch: Batch) -> None:
        """Forward, backward, clipping, update."""
        self.loss(batch).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def over(self, batches: Sequence[Batch]) -> Callable[[], None]:
        """A case to measure: a step on the next batch each time it is called."""
        turn = cycle(batches)
        return lambda: self.step(next(turn))


def trainees(work: Workload, names: Sequence[str]) -> dict[str, Trainee]:
    """Models to train by name: `plain`, `naive`, a method, or `slm-fp sampled`. Each has its own weights."""
    return {name: _trainee(work, name) for name in names}


def _trainee(work: Workload, name: str) -> Trainee:
    rate = encoder_source(work.encoder).learning_rate
    if name in ("plain", "naive"):
        made: Any = (PlainClassifier if name == "plain" else NaiveModel)(work.build(), copy=True)
        return Trainee(made, made.loss, rate)
    method, _, sampled = name.partition(" ")
    model = work.build(method, **({"budgets_per_step": 1} if sampled else {})).model
    return Trainee(model, own_loss(model), rate)


def own_loss(model: RationaleModel) -> Callable[[Batch], Tensor]:
    """The loss as the training loop asks for it."""

    def loss(batch: Batch) -> Tensor:
        found = model(**batch.tensors()).loss
        if found is None:
            raise ValueError("a training batch has labels")
        return found

    return loss


def measure(work: Workload) -> Iterator[Row]:
    """The rows of the group."""
    like, by_chance = work.like_length(work.pace.steps), work.random_batches(work.pace.steps)
    models = trainees(work, ["plain", *ABOUT])
    cases = {f"{name}, {LIKE}": one.over(like) for name, one in models.items()}
    cases |= {
        f"{name}, {RANDOM}": models[name].over(by_chance) for name in ("plain", "slm-fp", "slm-fp sampled")
    }
    timings = interleaved(cases, work.pace.steps)
    for name, about in ABOUT.items():
        for where in (LIKE, RANDOM) if name in GOALS else (LIKE,):
            pair = (f"{name}, {where}", f"plain, {where}")
            yield ratio(_key(name, where), f"{about}, {where}", timings, pair, goal=_goal(name, where))
    pair = (f"plain, {RANDOM}", f"plain, {LIKE}")
    yield ratio("plain random", "plain step, random batches ÷ batches of like length", timings, pair)
    yield from measure_naive(work, models["slm-fp"])


def measure_naive(work: Workload, ours: Trainee) -> Iterator[Row]:
    """The rows of the naive step. Padded statically it costs the same whatever is in the batch."""
    like, by_chance = work.like_length(work.pace.slow), work.random_batches(work.pace.slow)
    naive = trainees(work, ["naive"])["naive"]
    cases = {
        "naive": naive.over([padded(batch, work.width, work.pad) for batch in like]),
        LIKE: ours.over(like),
        RANDOM: ours.over(by_chance),
    }
    timings = interleaved(cases, work.pace.slow)
    about = "naive step (static padding, 1 + 2·5 masked passes, own extractor pass) ÷ SLM-FP step"
    note = f"padded to the {work.width} tokens of the longest training text"
    for where in (LIKE, RANDOM):
        pair, goal = ("naive", where), _goal("naive", where)
        yield ratio(_key("naive", where), f"{about}, {where}", timings, pair, goal=goal, note=note)


def _goal(name: str, where: str) -> Goal | None:
    """The goals are those of our own loop, whose batches are of like length."""
    return GOALS.get(name) if where == LIKE else None


def _key(name: str, where: str) -> str:
    return name if where == LIKE else f"{name} random"
