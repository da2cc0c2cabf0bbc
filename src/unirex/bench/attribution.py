"""The cost of post-hoc explanations by captum and shap, relative to explanations that come with the label."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from unirex.bench.harness import Case, Goal, Row, interleaved, not_measured, ratio, timed
from unirex.bench.references import PlainClassifier
from unirex.bench.workload import Workload
from unirex.data.example import Example
from unirex.encoding.batch import Batch
from unirex.errors import one_line
from unirex.models.task import Pass
from unirex.system import System

OURS = "SLM explain"
TOLERANCE = 1e-4  # scores that differ by more are not from the same algorithm
COPIES = 64  # perturbed copies of a text that peers run at once


def measure_attribution(work: Workload) -> Iterator[Row]:
    """Every peer relative to our explanations, then our Integrated Gradients relative to captum's.

    All peers explain the same texts; one that cannot run here is reported as such.
    """
    examples = middle_examples(work, work.pace.attributed)
    texts = [example.segments[0] for example in examples]
    cases: dict[str, Case] = {OURS: lambda: work.explain(texts)}
    failures: dict[str, str] = {}
    algorithms = _algorithms(work, work.batch(examples), texts)
    for name, (_, case) in algorithms.items():
        try:
            case()  # also the warm-up
            cases[name] = case
        except Exception as error:  # a package that is missing, or incompatible with the others
            failures[name] = one_line(error)
    timings = interleaved(cases, work.pace.slow, warmup=0)
    for name, (about, _) in algorithms.items():
        what = f"{about} ÷ SLM explain, per text"
        if name in failures:
            yield not_measured(name, what, failures[name])
        else:
            yield ratio(name, what, timings, (name, OURS), note=f"{len(texts)} texts of like length")
    yield from _against_captum(work, 3, work.batch_size, work.pace.repetitions)
    yield from _against_captum(work, 50, work.pace.attributed, work.pace.slow)


def _algorithms(work: Workload, batch: Batch, texts: Sequence[str]) -> dict[str, tuple[str, Case]]:
    """The algorithms by name: a description, and the case to measure."""
    peers, samples = Peers(work.system), work.pace.samples
    target = predicted(work.system, batch)
    targets = target.tolist()
    each = f"({samples} perturbed texts each)"

    def surrogate(name: str) -> Case:
        return lambda: peers.surrogate(name, texts, targets, samples)

    return {
        "ig-3": ("captum IG, 3 points", tuned(peers, batch, target, 3)),
        "ig-50": ("captum IG, 50 points", tuned(peers, batch, target, 50)),
        "occlusion": ("captum occlusion", lambda: peers.occlusion(batch, target)),
        "lime": (f"captum LIME {each}", surrogate("Lime")),
        "kernel-shap": (f"captum KernelSHAP {each}", surrogate("KernelShap")),
        "shap": (f"shap, partitions of a text {each}", lambda: peers.shap(texts, samples)),
    }


def _against_captum(work: Workload, steps: int, texts: int, repetitions: int) -> Iterator[Row]:
    """Integrated Gradients, ours and captum's: the same points, the same scores."""
    key, what = f"our ig-{steps}", f"our IG ÷ captum's IG, {steps} points"
    goal = Goal("≤", 1.0)
    batch = work.batch(middle_examples(work, texts))
    target = predicted(work.system, batch)
    extractor = work.system.with_extractor("integrated-gradients", steps=steps).model.extractor
    task = work.system.model.task

    def ours() -> Tensor:
        with torch.no_grad():  # as in `explain`, which needs only the scores
            return extractor(Pass(task, batch), target)

    captum = tuned(Peers(work.system), batch, target, steps)
    scores, theirs = ours(), captum()
    apart = float((scores - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12))
    if apart > TOLERANCE:
        yield not_measured(key, what, f"scores differ by {apart:.1e} of the largest", goal)
        return
    timings = interleaved({"ours": ours, "captum": captum}, repetitions, warmup=0)
    note = f"one batch of {texts} texts; scores differ by {apart:.1e} of the largest, at most"
    yield ratio(key, what, timings, ("ours", "captum"), goal=goal, note=note)


def middle_examples(work: Workload, number: int) -> list[Example]:
    """Examples of about the median length, so that padding plays no part."""
    pool = work.examples(max(number, work.pace.explained))
    lengths = [encoded.length for encoded in work.system.text_encoder.encode(pool)]
    order = sorted(range(len(pool)), key=lambda index: lengths[index])
    start = (len(order) - number) // 2
    return [pool[index] for index in order[start : start + number]]


@torch.no_grad()
def predicted(system: System, batch: Batch) -> Tensor:
    """The predicted classes [B], which are explained."""
    return Pass(system.model.task, batch).logits.argmax(-1)


class Peers:
    """Captum's and shap's algorithms on the same classifier, called as their users would.

    Each gets what makes it fast: several perturbed copies of a text are run at once.
    """

    def __init__(self, system: System) -> None:
        self.model = PlainClassifier(system).eval()
        self.pad = int(system.tokenizer.pad_token_id)

    def from_ids(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits of token ids."""
        with torch.no_grad():
            return self.model(mask, input_ids=ids)

    def integrated_gradients(
        self, batch: Batch, target: Tensor, *, steps: int, internal: int | None = None
    ) -> Tensor:
        """Scores [B, T] of Integrated Gradients from padding; special tokens are part of the baseline."""
        from captum.attr import IntegratedGradients

        words = self.model.encoder.get_input_embeddings()
        start = batch.input_ids.masked_fill(~batch.special, self.pad)
        with torch.no_grad():
            embeds, baseline = words(batch.input_ids), words(start)
        explainer = IntegratedGradients(lambda embeds, mask: self.model(mask, inputs_embeds=embeds))
        scores = explainer.attribute(
            embeds,
            baseline,
            target=target,
            additional_forward_args=(batch.attention_mask.long(),),
            n_steps=steps,
            method="gausslegendre",
            internal_batch_size=internal,
        )
        return scores.sum(-1)

    def occlusion(self, batch: Batch, target: Tensor) -> Tensor:
        """Scores [B, T]: how much the logit falls when one token becomes padding."""
        from captum.attr import FeatureAblation

        return FeatureAblation(self.from_ids).attribute(
            batch.input_ids,
            baselines=self.pad,
            target=target,
            additional_forward_args=(batch.attention_mask.long(),),
            perturbations_per_eval=max(1, COPIES // len(batch.input_ids)),
        )

    def surrogate(
        self, name: str, texts: Sequence[str], targets: Sequence[int], samples: int
    ) -> list[Tensor]:
        """Scores of captum's `Lime` or `KernelShap`, which take one text at a time."""
        import captum.attr

        explainer = getattr(captum.attr, name)(self.from_ids)
        scores = []
        for text, target in zip(texts, targets, strict=True):
            inputs = self.model.tokenized([text])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attributed = explainer.attribute(
                    inputs["input_ids"],
                    baselines=self.pad,
                    target=target,
                    additional_forward_args=(inputs["attention_mask"],),
                    n_samples=samples,
                    perturbations_per_eval=COPIES,
                )
            scores.append(attributed)
        return scores

    def shap(self, texts: Sequence[str], samples: int) -> Any:
        """Scores of `shap`'s explainer of texts."""
        import shap

        def logits(copies: Any) -> Any:
            inputs = self.model.tokenized([str(text) for text in copies])
            return self.from_ids(inputs["input_ids"], inputs["attention_mask"]).numpy()

        explainer = shap.Explainer(logits, shap.maskers.Text(self.model.tokenizer))
        return explainer(list(texts), max_evals=samples, batch_size=COPIES, silent=True)


def tuned(peers: Peers, batch: Batch, target: Tensor, steps: int) -> Callable[[], Tensor]:
    """Captum's Integrated Gradients with the internal batch size that is fastest here."""
    rows = len(batch.input_ids)
    sizes = [None, *(size for size in (rows, 4 * rows) if size < steps * rows)]
    cases = [partial(peers.integrated_gradients, batch, target, steps=steps, internal=size) for size in sizes]
    cases[0]()  # the first call of all is slow
    return min(cases, key=timed)
