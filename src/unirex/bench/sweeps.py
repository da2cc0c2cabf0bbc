"""The same costs over a range: texts of exactly 16 to 512 tokens, and one thread or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from unirex.bench.cases import STEPS, Trainee, trainees
from unirex.bench.harness import Case, Row, Timing, interleaved, not_measured, ratio
from unirex.bench.references import PlainClassifier
from unirex.bench.workload import Workload, usable_cores
from unirex.data.example import Example
from unirex.encoding.batch import Batch

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


def measure_lengths(work: Workload) -> Iterator[Row]:
    """Four rows for every length that the encoder takes."""
    models = trainees(work, ["plain", *SWEPT_STEPS])
    limit = work.system.model.config.max_length
    for length in [length for length in work.pace.lengths if length <= limit]:
        texts = texts_of_length(work, length, max(FEWEST, work.pace.tokens // length))
        timings = _time_steps(work, models, training_batch(work, texts))
        timings["explain"] = _time_explain(work, texts)
        for case, what in {**SWEPT_STEPS, "explain": EXPLAIN}.items():
            key, pair = f"{case} at {length}", (case, "forward" if case == "explain" else "plain")
            yield ratio(key, f"{what}, {length} tokens", timings[case], pair, case=case, at=length)


def _time_steps(work: Workload, models: dict[str, Trainee], batch: Batch) -> dict[str, dict[str, Timing]]:
    """Seconds of each step beside the plain one; the naive step is slow and gets fewer repetitions."""
    cases = {name: model.over([batch]) for name, model in models.items()}
    naive = {name: cases[name] for name in ("naive", "plain")}
    quick = interleaved({name: case for name, case in cases.items() if name != "naive"}, work.pace.slow)
    return dict.fromkeys(SWEPT_STEPS, quick) | {"naive": interleaved(naive, max(1, work.pace.slow // 2))}


def _time_explain(work: Workload, texts: Sequence[str]) -> dict[str, Timing]:
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
    models = trainees(work, ["plain", "slm-fp"])
    steps = {name: model.over(batches) for name, model in models.items()}
    return {**steps, "explain": lambda: work.explain(texts)}


def with_threads(threads: int, case: Case) -> Case:
    """The case on this many threads."""

    def run() -> Any:
        torch.set_num_threads(threads)
        return case()

    return run
