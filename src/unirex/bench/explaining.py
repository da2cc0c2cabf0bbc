"""What a label with its rationale costs, in labels alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unirex.bench.measure import interleaved
from unirex.bench.plain import PlainClassifier, predict, predict_sorted, stock_pipeline
from unirex.bench.rows import Goal, Row, ratio
from unirex.bench.workload import Workload
from unirex.explanation import Explanation
from unirex.system import System

OURS = "explain"
PEERS = {
    "forward": ("tokenise + plain batched forward", Goal("≤", 1.15)),
    "forward sorted": ("tokenise + plain batched forward, texts sorted by length first", None),
    "pipeline": ("the stock text-classification pipeline", Goal("≤", 1.0)),
}


def explain(system: System, texts: Sequence[str], batch_size: int) -> list[Explanation]:
    """Text in, label and rationale out."""
    return list(system.explain_all(texts, batch_size=batch_size))


def measure(work: Workload) -> Iterator[Row]:
    """The rows of the group."""
    system, texts, size = work.system, work.texts(work.pace.explained), work.batch_size
    plain, stock = PlainClassifier(system).eval(), stock_pipeline(system, size)
    cases: dict[str, Callable[[], Any]] = {
        OURS: lambda: explain(system, texts, size),
        "forward": lambda: predict(plain, system.tokenizer, texts, size),
        "forward sorted": lambda: predict_sorted(plain, system.tokenizer, texts, size),
        "pipeline": lambda: stock(texts),
    }
    timings = interleaved(cases, work.pace.repetitions)
    note = f"{len(texts)} texts in batches of {size}"
    for peer, (about, goal) in PEERS.items():
        what = f"explain, text to label and rationale ÷ {about}"
        yield ratio(f"÷ {peer}", what, timings, (OURS, peer), goal=goal, note=note)
