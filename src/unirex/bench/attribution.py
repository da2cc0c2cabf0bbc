"""What explanations after the fact cost, in explanations that come with the prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from unirex.bench.explaining import explain
from unirex.bench.harness import Goal, Row, interleaved, not_measured, ratio, timed
from unirex.bench.peers import Peers
from unirex.bench.workload import Workload
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate
from unirex.errors import one_line
from unirex.models.task import Pass
from unirex.system import System

OURS = "SLM explain"
TOLERANCE = 1e-4  # outputs that are further apart are not of the same algorithm


def measure(work: Workload) -> Iterator[Row]:
    """The rows of the group."""
    yield from against_explain(work)
    yield from against_captum(work, 3, work.batch_size, work.pace.repetitions)
    yield from against_captum(work, 50, work.pace.attributed, work.pace.slow)


def against_explain(work: Workload) -> Iterator[Row]:
    """Every algorithm on the same texts; one that cannot run here is told as such."""
    examples = middle_texts(work, work.pace.attributed)
    texts = [one.segments[0] for one in examples]
    cases: dict[str, Callable[[], Any]] = {OURS: lambda: explain(work.system, texts, work.batch_size)}
    broken: dict[str, str] = {}
    candidates = after_the_fact(work, as_batch(work.system, examples), texts)
    for name, (_, case) in candidates.items():
        try:
            case()  # warms up, too
            cases[name] = case
        except Exception as error:  # a package that is missing, or that does not go with the others
            broken[name] = one_line(error)
    timings = interleaved(cases, work.pace.slow, warmup=0)
    for name, (about, _) in candidates.items():
        what = f"{about} ÷ SLM explain, per text"
        if name in broken:
            yield not_measured(name, what, broken[name])
        else:
            yield ratio(name, what, timings, (name, OURS), note=f"{len(texts)} texts of like length")


def after_the_fact(
    work: Workload, batch: Batch, texts: Sequence[str]
) -> dict[str, tuple[str, Callable[[], Any]]]:
    """The algorithms by name: what they are, and the case to measure."""
    peers, samples = Peers(work.system), work.pace.samples
    target = predicted(work.system, batch)
    chosen = target.tolist()
    asked = f"({samples} perturbed texts each)"
    return {
        "ig-3": ("captum IG, 3 points", tuned(peers, batch, target, 3)),
        "ig-50": ("captum IG, 50 points", tuned(peers, batch, target, 50)),
        "occlusion": ("captum occlusion", lambda: peers.occlusion(batch, target)),
        "lime": (f"captum LIME {asked}", lambda: peers.surrogate("Lime", texts, chosen, samples)),
        "kernel-shap": (
            f"captum KernelSHAP {asked}",
            lambda: peers.surrogate("KernelShap", texts, chosen, samples),
        ),
        "shap": (f"shap, partitions of a text {asked}", lambda: peers.shap(samples)(texts)),
    }


def against_captum(work: Workload, steps: int, texts: int, repetitions: int) -> Iterator[Row]:
    """Integrated Gradients, ours and captum's: the same points, the same outputs."""
    key, what = f"our ig-{steps}", f"our IG ÷ captum's IG, {steps} points"
    goal = Goal("≤", 1.0)
    batch = as_batch(work.system, middle_texts(work, texts))
    target = predicted(work.system, batch)
    extractor = work.system.with_extractor("integrated-gradients", steps=steps).model.extractor
    task = work.system.model.task

    def ours() -> Tensor:
        with torch.no_grad():  # as in `explain`: nothing but scores is wanted
            return extractor(Pass(task, batch), target)

    theirs = tuned(Peers(work.system), batch, target, steps)
    apart = relative_difference(ours(), theirs())
    if apart > TOLERANCE:
        yield not_measured(key, what, f"scores differ by {apart:.1e} of the largest", goal)
        return
    timings = interleaved({"ours": ours, "captum": theirs}, repetitions, warmup=0)
    note = f"one batch of {texts} texts; scores differ by {apart:.1e} of the largest, at most"
    yield ratio(key, what, timings, ("ours", "captum"), goal=goal, note=note)


def relative_difference(ours: Tensor, theirs: Tensor) -> float:
    """How far scores are apart, at most, in parts of the largest."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12))


def tuned(peers: Peers, batch: Batch, target: Tensor, steps: int) -> Callable[[], Tensor]:
    """Captum's Integrated Gradients with the internal batch size that is fastest here."""
    rows = len(batch.input_ids)
    sizes = [None, *(size for size in (rows, 4 * rows) if size < steps * rows)]
    cases = [partial(peers.integrated_gradients, batch, target, steps=steps, internal=one) for one in sizes]
    cases[0]()  # the first call of all is slow
    return min(cases, key=timed)


def middle_texts(work: Workload, number: int) -> list[Example]:
    """So many texts of about the median length: padding plays no part."""
    pool = work.examples(max(number, work.pace.explained))
    sizes = [one.length for one in work.system.text_encoder.encode(pool)]
    order = sorted(range(len(pool)), key=lambda index: sizes[index])
    start = (len(order) - number) // 2
    return [pool[index] for index in order[start : start + number]]


def as_batch(system: System, examples: Sequence[Example]) -> Batch:
    """The texts as one batch."""
    return collate(list(system.text_encoder.encode(examples)), int(system.tokenizer.pad_token_id))


@torch.no_grad()
def predicted(system: System, batch: Batch) -> Tensor:
    """The labels that are explained."""
    return Pass(system.model.task, batch).logits.argmax(-1)
