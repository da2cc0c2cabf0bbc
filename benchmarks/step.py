"""What a training step costs, in plain fine-tuning steps: `make bench`.

Ratios are measured side by side in one run, repetitions interleaved, medians with their quartiles; seconds on
a shared machine mean nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from rich.console import Console
from rich.table import Table

import unirex
from unirex.batch import Batch, collate
from unirex.batching import LengthGroupedBatches
from unirex.methods import build_system, resolve
from unirex.modeling import RationaleModel
from unirex.models.task import Pass
from unirex.perturb import masked
from unirex.select import top_k

REPETITIONS = 12


def main() -> None:
    """Measure and print."""
    data = unirex.load_dataset("demo")
    system = build_system("slm-fp", data, resolve("slm-fp", None, {}))
    batches = some_batches(system, data["train"][:512])
    model = system.model.train()
    sampled = RationaleModel(replace_config(model.config, budgets_per_step=1))
    sampled.load_state_dict(model.state_dict())
    steps: dict[str, Callable[[Batch], torch.Tensor]] = {
        "plain fine-tuning": lambda batch: plain_loss(model, batch),
        "slm-fp, one sampled budget": lambda batch: sampled(**batch.tensors()).loss,
        "slm-fp, all five budgets": lambda batch: model(**batch.tensors()).loss,
        "naive: 11 masked passes, own extractor pass": lambda batch: naive_loss(model, batch),
    }
    show(measured(steps, batches))


def replace_config(config, **changes):
    return type(config).from_dict(config.to_dict() | changes)


def some_batches(system, examples) -> list[Batch]:
    encoded = system.text_encoder.encode(examples)
    order = LengthGroupedBatches([len(one) for one in encoded], 32)
    return [collate([encoded[i] for i in batch], system.tokenizer.pad_token_id) for batch in order]


def plain_loss(model: RationaleModel, batch: Batch) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(model.task(batch), batch.labels)


def naive_loss(model: RationaleModel, batch: Batch) -> torch.Tensor:
    """The same loss as the released research code would compute it: masks instead of shorter sequences."""
    step = model.step(batch, target=batch.labels)
    scores = model.extractor(Pass(model.task, batch), batch.labels)
    masks = top_k(scores, batch.selectable, model.config.budgets)
    keep = torch.cat([masks, ~masks]) | ~batch.selectable
    owner = torch.arange(len(batch.input_ids))
    logits = [model.task(masked(batch, view & batch.attention_mask, owner)) for view in keep]
    kept, dropped = torch.stack(logits).chunk(2)
    full = step.full_loss
    comp = (full - step.cross_entropy(dropped)).clamp(min=-1) + 1
    suff = (step.cross_entropy(kept) - full).clamp(min=-0.1) + 0.1
    plaus = model.objectives.plausibility(replace(step, extractor=lambda *_: scores))
    return (full + 0.5 * (comp.mean(0) + suff.mean(0) + plaus)).mean()


def measured(
    steps: dict[str, Callable[[Batch], torch.Tensor]], batches: list[Batch]
) -> dict[str, list[float]]:
    """Seconds of forward and backward, interleaved so that noise hits all alike."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for repetition in range(REPETITIONS + 1):
        batch = batches[repetition % len(batches)]
        for name, step in steps.items():
            start = time.perf_counter()
            step(batch).backward()
            if repetition:  # the first warms up
                found[name].append(time.perf_counter() - start)
    return found


def show(found: dict[str, list[float]]) -> None:
    base = found["plain fine-tuning"]
    table = Table("one training step, minilm, demo corpus, batch 32", "÷ plain step", "quartiles")
    for name, seconds in found.items():
        ratios = [one / plain for one, plain in zip(seconds, base, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        table.add_row(name, f"{middle:.2f}", f"{low:.2f} – {high:.2f}")
    Console().print(
        table, f"torch {torch.__version__}, {torch.get_num_threads()} threads, {REPETITIONS} repetitions"
    )


if __name__ == "__main__":
    main()
