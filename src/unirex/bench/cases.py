"""The measured cases: training steps, explaining and evaluating; then by length of text and by threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import torch
from torch import nn

from unirex.bench.harness import Case, Goal, Row, Timings, interleaved, not_measured, ratio
from unirex.bench.references import NaiveModel, PlainClassifier, naive_evaluation, padded, stock_pipeline
from unirex.bench.workload import Workload
from unirex.config import Training
from unirex.data.example import Example
from unirex.encoding.batch import Batch
from unirex.evaluation.run import Results, evaluate
from unirex.models.encoders import encoder_source
from unirex.scale.cores import usable_cores
from unirex.training.optimizer import build_optimizer

CLIP = 1.0  # largest gradient norm, as in stock trainers
GROUPED, RANDOM = "batches of like length", "random batches"
STEPS = {
    "slm-fp": "SLM-FP step, all five budgets ÷ plain step",
    "slm-fp sampled": "SLM-FP step, one sampled budget ÷ plain step",
    "slm-fpo sampled": "SLM-FPO step (order taught by IG, 3 points), one sampled budget ÷ plain step",
    "dlm-fp": "DLM-FP step, all five budgets ÷ plain step",
    "aa-f": "AA-F step (IG, 3 points), all five budgets ÷ plain step",
    "aa-fp": "AA-FP step (IG, 3 points, second derivatives), all five budgets ÷ plain step",
}
STEP_GOALS = {
    "slm-fp": Goal("≤", 5.0),
    "slm-fp sampled": Goal("≤", 2.4),
    "slm-fpo sampled": Goal("≤", 4.0),
    "naive": Goal("≥", 6.0),
}
NAIVE_STEP = "naive step (static padding, 1 + 2·5 masked passes, own extractor pass) ÷ SLM-FP step"
PREDICTORS = {
    "forward": ("tokenise + plain batched forward", Goal("≤", 1.15)),
    "forward sorted": ("tokenise + plain batched forward, texts sorted by length first", None),
    "pipeline": ("the stock text-classification pipeline", Goal("≤", 1.0)),
}
EVALUATION = "comp/suff evaluation: naive (static padding, 11 passes and the extractor's) ÷ ours"
FEWEST = 4  # texts in a batch, however long they are
SWEPT_STEPS = {
    **{name: STEPS[name] for name in ("slm-fp", "slm-fp sampled")},
    "naive": "naive step (masked passes, no static padding) ÷ plain step",
}
EXPLAIN = "explain ÷ tokenise + plain batched forward"
THREADED = {
    "plain": "plain fine-tuning step",
    "slm-fp": "SLM-FP step, all five budgets",
    "explain": "explain",
}


def measure_training(work: Workload) -> Iterator[Row]:
    """Training steps of the methods, relative to steps of plain fine-tuning."""
    grouped, shuffled = work.grouped_batches(work.pace.steps), work.random_batches(work.pace.steps)
    models = {name: Trainee(work, name) for name in ("plain", *STEPS)}
    cases = {f"{name}, {GROUPED}": model.over(grouped) for name, model in models.items()}
    for name in ("plain", "slm-fp", "slm-fp sampled"):
        cases[f"{name}, {RANDOM}"] = models[name].over(shuffled)
    timings = interleaved(cases, work.pace.steps)
    for name, about in STEPS.items():
        for batches in (GROUPED, RANDOM):
            if f"{name}, {batches}" not in timings:
                continue
            pair = (f"{name}, {batches}", f"plain, {batches}")
            yield _step_ratio(name, about, batches, timings, pair)
    pair = (f"plain, {RANDOM}", f"plain, {GROUPED}")
    yield ratio("plain random", "plain step, random batches ÷ batches of like length", timings, pair)
    yield from _measure_naive_step(work, models["slm-fp"])


def _measure_naive_step(work: Workload, ours: Trainee) -> Iterator[Row]:
    """The naive step, which is padded statically and so costs the same whatever is in the batch."""
    grouped, shuffled = work.grouped_batches(work.pace.slow), work.random_batches(work.pace.slow)
    cases = {
        "naive": Trainee(work, "naive").over([padded(batch, work.width, work.pad) for batch in grouped]),
        GROUPED: ours.over(grouped),
        RANDOM: ours.over(shuffled),
    }
    timings = interleaved(cases, work.pace.slow)
    note = f"padded to the {work.width} tokens of the longest training text"
    for batches in (GROUPED, RANDOM):
        yield _step_ratio("naive", NAIVE_STEP, batches, timings, ("naive", batches), note=note)


def _step_ratio(
    name: str, about: str, batches: str, timings: Timings, pair: tuple[str, str], **more: str
) -> Row:
    # The goals hold for our own training loop, whose batches are of like length.
    key, goal = (name, STEP_GOALS.get(name)) if batches == GROUPED else (f"{name} random", None)
    return ratio(key, f"{about}, {batches}", timings, pair, goal=goal, **more)


class Trainee:
    """A model with its optimiser, ready for training steps; dropout is on, as in training.

    Args:
        work: what it is trained on; it gets weights of its own.
        name: `plain`, `naive`, a method, or a method and ` sampled`.
    """

    def __init__(self, work: Workload, name: str) -> None:
        self.model: Any
        if name in ("plain", "naive"):
            self.model = (PlainClassifier if name == "plain" else NaiveModel)(work.build(), copy=True)
            self.loss = self.model.loss
        else:
            method, _, sampled = name.partition(" ")
            self.model = work.build(method, **({"budgets_per_step": 1} if sampled else {})).model
            self.loss = lambda batch: self.model(**batch.tensors()).loss
        self.model.train()
        self.optimizer = build_optimizer(self.model, Training(), encoder_source(work.encoder).learning_rate)

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


def measure_explain(work: Workload) -> Iterator[Row]:
    """Text to label and rationale, relative to plain predictions."""
    texts, size = work.texts(work.pace.explained), work.batch_size
    plain, stock = PlainClassifier(work.system).eval(), stock_pipeline(work.system, size)
    ordered = work.build("slm-fpo")
    ordered.model.eval()
    cases: dict[str, Case] = {
        "explain": lambda: work.explain(texts),
        "explain slm-fpo": lambda: list(ordered.explain_all(texts, batch_size=size)),
        "forward": lambda: plain.predict(texts, size),
        "forward sorted": lambda: plain.predict_sorted(texts, size),
        "pipeline": lambda: stock(texts),
    }
    timings = interleaved(cases, work.pace.repetitions)
    note = f"{len(texts)} texts in batches of {size}"
    for name, (about, goal) in PREDICTORS.items():
        what = f"explain, text to label and rationale ÷ {about}"
        yield ratio(f"÷ {name}", what, timings, ("explain", name), goal=goal, note=note)
    about, goal = PREDICTORS["forward"]
    yield ratio(
        "slm-fpo ÷ forward",
        f"explain by SLM-FPO, with its dial ÷ {about}",
        timings,
        ("explain slm-fpo", "forward"),
        goal=goal,
        note=note,
    )


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


def measure_lengths(work: Workload) -> Iterator[Row]:
    """Four rows for every length that the encoder takes."""
    models = {name: Trainee(work, name) for name in ("plain", *SWEPT_STEPS)}
    limit = work.system.model.config.max_length
    for length in [length for length in work.pace.lengths if length <= limit]:
        texts = texts_of_length(work, length, max(FEWEST, work.pace.tokens // length))
        batch = training_batch(work, texts)
        cases = {name: model.over([batch]) for name, model in models.items()}
        naive = {name: cases[name] for name in ("naive", "plain")}
        del cases["naive"]  # slow: measured apart, with fewer repetitions
        timings = dict.fromkeys(SWEPT_STEPS, interleaved(cases, work.pace.slow))
        timings["naive"] = interleaved(naive, max(1, work.pace.slow // 2))
        timings["explain"] = _time_explain(work, texts)
        for case, what in {**SWEPT_STEPS, "explain": EXPLAIN}.items():
            key, pair = f"{case} at {length}", (case, "forward" if case == "explain" else "plain")
            yield ratio(key, f"{what}, {length} tokens", timings[case], pair, case=case, at=length)


def _time_explain(work: Workload, texts: Sequence[str]) -> Timings:
    plain = PlainClassifier(work.system).eval()
    cases: dict[str, Case] = {
        "explain": lambda: work.explain(texts),
        "forward": lambda: plain.predict(texts, work.batch_size),
    }
    return interleaved(cases, work.pace.slow + 2)


def training_batch(work: Workload, texts: Sequence[str]) -> Batch:
    """A training batch in which the first word of every text is its gold rationale."""
    labels = work.data.info.labels
    examples = [
        Example(str(number), (text,), labels[number % len(labels)], (((0, len(text.split(" ")[0])),),))
        for number, text in enumerate(texts)
    ]
    return work.batch(examples)


def texts_of_length(work: Workload, length: int, number: int) -> list[str]:
    """Texts of exactly `length` tokens, special ones included, made of consecutive words of the corpus."""
    words = [word for text in work.texts(work.pace.explained) for word in text.split()]
    words *= 1 + 4 * length * number // len(words)
    texts: list[str] = []
    start = 0
    while len(texts) < number:
        text = _cut(work, " ".join(words[start : start + length]), length)
        if text:
            texts.append(text)
        start += length if text else 1
    return texts


def _cut(work: Workload, text: str, length: int) -> str | None:
    """The beginning of a text that has exactly `length` tokens; None if the cut changes how it is split."""
    tokenizer: Any = work.system.tokenizer
    special = tokenizer.num_special_tokens_to_add()
    options = {"add_special_tokens": False, "return_offsets_mapping": True, "verbose": False}
    offsets = tokenizer(text, **options)["offset_mapping"]
    short = text[: offsets[min(length - special, len(offsets)) - 1][1]]
    return short if len(tokenizer(short)["input_ids"]) == length else None


def measure_threads(work: Workload) -> Iterator[Row]:
    """Each case on one thread, relative to all cores."""
    several, before = usable_cores(), torch.get_num_threads()
    if several < 2:
        yield not_measured("threads", "1 thread ÷ several", "only one core can be used here")
        return
    cases = {
        f"{name}, {threads}": with_threads(threads, case)
        for threads in (1, several)
        for name, case in _threaded_cases(work).items()
    }
    try:
        timings = interleaved(cases, work.pace.slow)
    finally:
        torch.set_num_threads(before)
    for name, about in THREADED.items():
        pair = (f"{name}, 1", f"{name}, {several}")
        yield ratio(name, f"{about}: 1 thread ÷ {several} threads", timings, pair)


def _threaded_cases(work: Workload) -> dict[str, Case]:
    batches, texts = work.grouped_batches(work.pace.slow), work.texts(work.pace.evaluated)
    steps = {name: Trainee(work, name).over(batches) for name in ("plain", "slm-fp")}
    return {**steps, "explain": lambda: work.explain(texts)}


def with_threads(threads: int, case: Case) -> Case:
    """The case on this many threads."""

    def run() -> Any:
        torch.set_num_threads(threads)
        return case()

    return run
