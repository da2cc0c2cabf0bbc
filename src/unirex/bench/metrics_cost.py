"""What comprehensiveness and sufficiency of a system cost, from examples to figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unirex.bench.measure import interleaved
from unirex.bench.naive import NaiveModel, naive_evaluation
from unirex.bench.rows import Goal, Row, ratio
from unirex.bench.workload import Workload
from unirex.evaluation import Results, evaluate

WHAT = "comp/suff evaluation: naive (static padding, 11 passes and the extractor's) ÷ ours"


def measure(work: Workload) -> Iterator[Row]:
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
