"""The main costs: a training step, a label with its rationale, and an evaluation of faithfulness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from torch import Tensor, nn

from unirex.bench.harness import Case, Goal, Row, interleaved, ratio
from unirex.bench.references import NaiveModel, PlainClassifier, naive_evaluation, padded, stock_pipeline
from unirex.bench.workload import Workload
from unirex.config import Training
from unirex.encoding.batch import Batch
from unirex.evaluation.run import Results, evaluate
from unirex.models.encoders import encoder_source
from unirex.training.optimizer import build_optimizer

CLIP = 1.0  # largest gradient norm, as in stock trainers
GROUPED, RANDOM = "batches of like length", "random batches"
STEPS = {
    "slm-fp": "SLM-FP step, all five budgets ÷ plain step",
    "slm-fp sampled": "SLM-FP step, one sampled budget ÷ plain step",
    "dlm-fp": "DLM-FP step, all five budgets ÷ plain step",
    "aa-f": "AA-F step (IG, 3 points), all five budgets ÷ plain step",
    "aa-fp": "AA-FP step (IG, 3 points, second derivatives), all five budgets ÷ plain step",
}
# The goals hold for our own training loop, whose batches are of like length.
STEP_GOALS = {"slm-fp": Goal("≤", 5.0), "slm-fp sampled": Goal("≤", 2.4), "naive": Goal("≥", 6.0)}
NAIVE_STEP = "naive step (static padding, 1 + 2·5 masked passes, own extractor pass) ÷ SLM-FP step"
PREDICTORS = {
    "forward": ("tokenise + plain batched forward", Goal("≤", 1.15)),
    "forward sorted": ("tokenise + plain batched forward, texts sorted by length first", None),
    "pipeline": ("the stock text-classification pipeline", Goal("≤", 1.0)),
}
EVALUATION = "comp/suff evaluation: naive (static padding, 11 passes and the extractor's) ÷ ours"


class Trainee:
    """A model with its optimiser, ready for training steps; dropout is on, as in training."""

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Tensor], learning_rate: float) -> None:
        self.model, self.loss = model.train(), loss
        self.optimizer = build_optimizer(model, Training(), learning_rate)

    def step(self, batch: Batch) -> None:
        """Forward, backward, clipping, update."""
        self.loss(batch).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def over(self, batches: Sequence[Batch]) -> Case:
        """A case that takes a step on the next batch each time it is called."""
        turn = cycle(batches)
        return lambda: self.step(next(turn))


def trainees(work: Workload, names: Sequence[str]) -> dict[str, Trainee]:
    """Models to train by name: `plain`, `naive`, a method, or `slm-fp sampled`. Each has its own weights."""
    return {name: _trainee(work, name) for name in names}


def _trainee(work: Workload, name: str) -> Trainee:
    learning_rate = encoder_source(work.encoder).learning_rate
    if name in ("plain", "naive"):
        reference: Any = (PlainClassifier if name == "plain" else NaiveModel)(work.build(), copy=True)
        return Trainee(reference, reference.loss, learning_rate)
    method, _, sampled = name.partition(" ")
    model = work.build(method, **({"budgets_per_step": 1} if sampled else {})).model
    return Trainee(model, lambda batch: model(**batch.tensors()).loss, learning_rate)


def measure_training(work: Workload) -> Iterator[Row]:
    """Training steps of the methods, relative to steps of plain fine-tuning."""
    grouped, shuffled = work.grouped_batches(work.pace.steps), work.random_batches(work.pace.steps)
    models = trainees(work, ["plain", *STEPS])
    cases = {f"{name}, {GROUPED}": model.over(grouped) for name, model in models.items()}
    for name in ("plain", "slm-fp", "slm-fp sampled"):
        cases[f"{name}, {RANDOM}"] = models[name].over(shuffled)
    timings = interleaved(cases, work.pace.steps)
    for name, about in STEPS.items():
        for batches in (GROUPED, RANDOM) if name in STEP_GOALS else (GROUPED,):
            pair = (f"{name}, {batches}", f"plain, {batches}")
            what, goal = f"{about}, {batches}", _step_goal(name, batches)
            yield ratio(_step_key(name, batches), what, timings, pair, goal=goal)
    pair = (f"plain, {RANDOM}", f"plain, {GROUPED}")
    yield ratio("plain random", "plain step, random batches ÷ batches of like length", timings, pair)
    yield from _measure_naive_step(work, models["slm-fp"])


def _measure_naive_step(work: Workload, ours: Trainee) -> Iterator[Row]:
    """The naive step, which is padded statically and so costs the same whatever is in the batch."""
    grouped, shuffled = work.grouped_batches(work.pace.slow), work.random_batches(work.pace.slow)
    naive = trainees(work, ["naive"])["naive"]
    cases = {
        "naive": naive.over([padded(batch, work.width, work.pad) for batch in grouped]),
        GROUPED: ours.over(grouped),
        RANDOM: ours.over(shuffled),
    }
    timings = interleaved(cases, work.pace.slow)
    note = f"padded to the {work.width} tokens of the longest training text"
    for batches in (GROUPED, RANDOM):
        what, goal = f"{NAIVE_STEP}, {batches}", _step_goal("naive", batches)
        yield ratio(_step_key("naive", batches), what, timings, ("naive", batches), goal=goal, note=note)


def _step_goal(name: str, batches: str) -> Goal | None:
    return STEP_GOALS.get(name) if batches == GROUPED else None


def _step_key(name: str, batches: str) -> str:
    return name if batches == GROUPED else f"{name} random"


def measure_explain(work: Workload) -> Iterator[Row]:
    """Text to label and rationale, relative to plain predictions."""
    texts, size = work.texts(work.pace.explained), work.batch_size
    plain, stock = PlainClassifier(work.system).eval(), stock_pipeline(work.system, size)
    cases: dict[str, Case] = {
        "explain": lambda: work.explain(texts),
        "forward": lambda: plain.predict(texts, size),
        "forward sorted": lambda: plain.predict_sorted(texts, size),
        "pipeline": lambda: stock(texts),
    }
    timings = interleaved(cases, work.pace.repetitions)
    note = f"{len(texts)} texts in batches of {size}"
    for name, (about, goal) in PREDICTORS.items():
        what = f"explain, text to label and rationale ÷ {about}"
        yield ratio(f"÷ {name}", what, timings, ("explain", name), goal=goal, note=note)


def measure_evaluation(work: Workload) -> Iterator[Row]:
    """Comprehensiveness and sufficiency, computed naively and by us."""
    system, examples = work.system, work.examples(work.pace.evaluated)
    model = NaiveModel(system).eval()
    width = max(work.width, *(encoded.length for encoded in system.text_encoder.encode(examples)))

    def naive() -> dict[str, list[list[float]]]:
        return naive_evaluation(model, examples, width=width, batch_size=work.batch_size)

    def ours() -> Results:
        results = evaluate(system, examples, beside=(), draws=0)
        results.metrics  # noqa: B018  (computed on first use)
        return results

    apart = largest_difference(naive(), ours())
    timings = interleaved({"naive": naive, "ours": ours}, work.pace.slow, warmup=0)
    note = f"{len(examples)} texts; padded to {width} tokens; probabilities differ by {apart:.1e} at most"
    yield ratio("comp/suff", EVALUATION, timings, ("naive", "ours"), goal=Goal("≥", 4.0), note=note)


def largest_difference(naive: dict[str, list[list[float]]], ours: Results) -> float:
    """The largest absolute difference between the two results, over all examples and budgets."""
    full = np.array([[record.full] for record in ours.records])
    metrics = {
        "comprehensiveness": full - np.array([record.removed for record in ours.records]),
        "sufficiency": full - np.array([record.kept for record in ours.records]),
    }
    return max(float(np.abs(metrics[name] - np.array(naive[name])).max()) for name in metrics)
