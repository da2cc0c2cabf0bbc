"""The cost of a label with its rationale, and of faithfulness metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from unirex.bench.harness import Goal, Row, interleaved, ratio
from unirex.bench.references import (
    NaiveModel,
    PlainClassifier,
    naive_evaluation,
    predict,
    predict_sorted,
    stock_pipeline,
)
from unirex.bench.workload import Workload
from unirex.evaluation.run import Results, evaluate
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


def measure_explaining(work: Workload) -> Iterator[Row]:
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


WHAT = "comp/suff evaluation: naive (static padding, 11 passes and the extractor's) ÷ ours"


def measure_evaluation(work: Workload) -> Iterator[Row]:
    """The row of the group."""
    system, examples = work.system, work.examples(work.pace.evaluated)
    model = NaiveModel(system).eval()
    sizes = [one.length for one in system.text_encoder.encode(examples)]
    width = max(work.width, *sizes)

    def naive() -> dict[str, list[list[float]]]:
        return naive_evaluation(model, system.tokenizer, examples, width=width, batch_size=work.batch_size)

    def ours() -> Results:
        results = evaluate(system, examples, beside=(), draws=0)
        results.metrics  # noqa: B018  (computed when asked for)
        return results

    apart = largest_difference(naive(), ours())
    timings = interleaved({"naive": naive, "ours": ours}, work.pace.slow, warmup=0)
    note = f"{len(examples)} texts; padded to {width} tokens; probabilities differ by {apart:.1e} at most"
    yield ratio("comp/suff", WHAT, timings, ("naive", "ours"), goal=Goal("≥", 4.0), note=note)


def largest_difference(naive: dict[str, list[list[float]]], ours: Results) -> float:
    """How far the two ways to the same figures are apart, at most, over all examples and budgets."""
    full = np.array([[record.full] for record in ours.records])
    found = {
        "comprehensiveness": full - np.array([record.removed for record in ours.records]),
        "sufficiency": full - np.array([record.kept for record in ours.records]),
    }
    return max(float(np.abs(found[name] - np.array(naive[name])).max()) for name in found)
