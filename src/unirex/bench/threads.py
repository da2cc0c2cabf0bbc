"""What a second core brings: the same work on one thread and on all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from unirex.bench.explaining import explain
from unirex.bench.harness import Row, interleaved, not_measured, ratio
from unirex.bench.training import trainees
from unirex.bench.workload import Workload, usable_cores

ABOUT = {
    "plain": "plain fine-tuning step",
    "slm-fp": "SLM-FP step, all five budgets",
    "explain": "explain",
}


def measure(work: Workload) -> Iterator[Row]:
    """How much longer each takes on one thread."""
    several, before = usable_cores(), torch.get_num_threads()
    if several < 2:
        yield not_measured("threads", "1 thread ÷ several", "only one core can be used here")
        return
    cases = {
        f"{name}, {n}": with_threads(n, case) for n in (1, several) for name, case in _cases(work).items()
    }
    try:
        timings = interleaved(cases, work.pace.slow)
    finally:
        torch.set_num_threads(before)
    for name, about in ABOUT.items():
        pair = (f"{name}, 1", f"{name}, {several}")
        yield ratio(name, f"{about}: 1 thread ÷ {several} threads", timings, pair)


def _cases(work: Workload) -> dict[str, Callable[[], Any]]:
    batches, texts = work.like_length(work.pace.slow), work.texts(work.pace.evaluated)
    models = trainees(work, ["plain", "slm-fp"])
    steps = {name: one.over(batches) for name, one in models.items()}
    return {**steps, "explain": lambda: explain(work.system, texts, work.batch_size)}


def with_threads(number: int, case: Callable[[], Any]) -> Callable[[], Any]:
    """The case on so many threads."""

    def run() -> Any:
        torch.set_num_threads(number)
        return case()

    return run
