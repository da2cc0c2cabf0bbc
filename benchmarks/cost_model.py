"""The cost model of docs/scale.md: compared with measurements here, and carried on to 10⁹ texts.

    python benchmarks/cost_model.py check [--data sst]          # predicted ÷ measured: arithmetic, memory
    python benchmarks/cost_model.py checkpointing               # memory and time with and without
    python benchmarks/cost_model.py long [--tokens 100000]      # one long document, explained in windows
    python benchmarks/cost_model.py batch                       # 64 texts of 480 words, explained
    python benchmarks/cost_model.py table [--data sst multirc]  # the planner on real lengths, scaled up

Every measurement runs in a process of its own; time is processor time, as the machine may be shared. Lengths
are those of real data (`UNIREX_DATA`). What a GPU does is assumed, not measured: see `MACHINES`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

from unirex.methods import resolve
from unirex.training.cost import Size, explaining_peak, passes_per_text, training_peak

ENCODERS = {  # layers, hidden size, words
    "22 M (MiniLM)": Size(6, 384),
    "110 M (BERT base)": Size(12, 768),
    "335 M (BERT large)": Size(24, 1024),
    "7 B": Size(32, 4096, 32_000),
}
MACHINES = {  # floating-point operations a second that are really done, and bytes of memory: assumptions
    "one CPU (measured here)": None,
    "one GPU (312 TFLOP/s peak, 40 % used)": 0.4 * 312e12,
    "8 GPUs (90 % of 8)": 0.9 * 8 * 0.4 * 312e12,
    "64 nodes of 8 (80 % of 512)": 0.8 * 512 * 0.4 * 312e12,
}
METHODS = ("vanilla", "slm-fp", "dlm-fp")
TEXTS = (10**6, 10**7, 10**8, 10**9)
SETTINGS = {"encoder": "minilm"}


def measured(what: str, **options: Any) -> dict[str, Any]:
    """The figures of one measurement, made in a process of its own."""
    command = [sys.executable, __file__, what, "--inside", json.dumps(options)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def training_step(options: dict[str, Any]) -> dict[str, Any]:
    """Steps of a method on one batch of texts of a length: processor seconds of one, peak, predicted peak."""
    import torch

    from unirex.encoding.batch import Batch
    from unirex.modeling import RationaleModel
    from unirex.training.memory import model_peak
    from unirex.training.train import checkpoint_activations

    torch.set_num_threads(1)
    training = {
        "batch_size": options["texts"],
        "activation_checkpointing": options.get("checkpointing", False),
    }
    config = resolve(options["method"], None, SETTINGS | {"training": training})
    model = RationaleModel.from_encoder(config, ("no", "yes")).train()
    checkpoint_activations(model, config.training.activation_checkpointing)
    optimizer = torch.optim.AdamW([weights for weights in model.parameters() if weights.requires_grad])
    shape = options["texts"], options["tokens"]
    ids, true = torch.randint(1000, 20_000, shape), torch.ones(shape, dtype=torch.bool)
    labels, gold = torch.zeros(shape[0], dtype=torch.long), torch.rand(shape) < 0.2
    batch = Batch(ids, true, ~true, true, labels=labels, rationale=gold, has_rationale=true[:, 0])
    predicted, seconds = model_peak(model, config, options["tokens"]), []
    for _ in range(options["steps"]):
        begin = time.process_time()
        model(**batch.tensors()).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.process_time() - begin)
    return {"seconds": min(seconds), "peak": peak(), "predicted": predicted}


WORDS = ["a", "film", "good", "bad", "people", "plot", "dull", "watch"]


def untrained(**settings: Any) -> Any:
    """A Shared LM on MiniLM that has run once."""
    import torch

    from unirex.data.example import DatasetInfo, Example, Splits
    from unirex.methods.building import build_system

    torch.set_num_threads(1)
    few = tuple(Example(str(n), (w,), n % 2, (((0, 1),),)) for n, w in enumerate(WORDS))
    data = Splits(DatasetInfo("words", (0, 1)), {"train": few, "dev": few})
    system = build_system("slm-fp", data, resolve("slm-fp", None, SETTINGS | settings))
    system.model.eval()
    system.explain("a good film")
    return system


def long_document(options: dict[str, Any]) -> dict[str, Any]:
    """Explain one document of this many words, read in windows."""
    from unirex.models.plan import peak_memory
    from unirex.training.memory import encoder_size

    system = untrained(truncation="windows")
    text = " ".join(WORDS[n * n % 7] for n in range(options["tokens"]))
    held, begin = peak_memory(), time.process_time()
    system.explain(text)
    size = encoder_size(system.model.config.encoder)
    windows = int(options["tokens"] * 4 / 3) + 512
    predicted = explaining_peak(size=size, chunk=4096, batch=windows, held=held)
    return {"seconds": time.process_time() - begin, "peak": peak(), "held": held, "predicted": predicted}


def text_batches(options: dict[str, Any]) -> dict[str, Any]:
    """Explain texts of a number of words, as a file of them is."""
    from unirex.models.plan import peak_memory
    from unirex.system import BATCH_SIZE
    from unirex.training.memory import explaining_bound

    system, words = untrained(), range(options["words"])
    held, begin = peak_memory(), time.process_time()
    predicted = explaining_bound(system.model, batch_size=BATCH_SIZE)
    texts = (" ".join(WORDS[t * n * n % 7] for n in words) for t in range(options["texts"]))
    assert sum(1 for _ in system.explain_all(texts)) == options["texts"]
    return {"seconds": time.process_time() - begin, "peak": peak(), "held": held, "predicted": predicted}


def lengths_of(name: str, limit: int = 4000) -> Any:
    """Token lengths of the training texts of a dataset, at most 512 each."""
    import torch

    from unirex.data.load import load_dataset
    from unirex.methods.building import build_system

    data = load_dataset(name)
    system = build_system("vanilla", data, resolve("vanilla", None, SETTINGS))
    some = data["train"][:limit]
    encoded = list(system.text_encoder.encode(some))
    return torch.tensor([max(map(len, one.sequences)) for one in encoded])


def simulated(lengths: Any, config: Any, *, batches: int = 200) -> tuple[float, float]:
    """Tokens a text costs in a step by the planner, padding included, and their mean width."""
    import torch

    from unirex.models.plan import Limits, plan

    generator, total, squares = torch.Generator().manual_seed(0), 0, 0.0
    limits, size = Limits(chunk=4096, overhead=128, saved=1 << 30), config.training.batch_size
    views = any(name in dict(config.objectives.active()) for name in ("comprehensiveness", "sufficiency"))
    budgets = (config.training_budgets or config.budgets) if views else ()
    drawn = lengths[torch.randint(len(lengths), (batches, 50 * size), generator=generator)]
    # As training does it: 50 batches are sorted together.
    for texts in drawn[: batches // 50].sort(-1).values.reshape(-1, size):
        kept = [(texts * budget / 100).ceil().long() for budget in budgets]
        rows = torch.cat([texts, *[part for k in kept for part in (k + 2, texts - k)]])
        for chunk, width in plan(rows, limits).chunks:
            total += len(chunk) * width
            squares += len(chunk) * width * width
    return total / (batches // 50 * 50 * size), squares / total


def check(data: str) -> None:
    """Predicted ÷ measured: the arithmetic by two calibrating cases, the memory of every case."""
    cases = [
        ("vanilla", 16, 32),
        ("vanilla", 8, 128),
        ("slm-fp", 16, 32),
        ("slm-fp", 4, 128),
        ("dlm-fp", 8, 32),
    ]
    found, rate = {}, 0.0
    for method, texts, tokens in cases:
        found[method, texts, tokens] = measured("step", method=method, texts=texts, tokens=tokens, steps=2)
    size = ENCODERS["22 M (MiniLM)"]
    print(
        "| method | texts × tokens | GFLOP predicted | s measured | GFLOP/s | time: predicted ÷ measured "
        "| GB predicted | GB measured | memory: predicted ÷ measured |\n|" + "---|" * 9
    )
    for (method, texts, tokens), figures in found.items():
        flops = (
            3 * texts * tokens * size.forward_flops(tokens) * passes_per_text(resolve(method, None, SETTINGS))
        )
        rate = rate or flops / figures["seconds"]  # of the first case
        ratio = flops / rate / figures["seconds"]
        memory = figures["predicted"] / figures["peak"]
        print(
            f"| {method} | {texts} × {tokens} | {flops / 1e9:.0f} | {figures['seconds']:.2f} "
            f"| {flops / figures['seconds'] / 1e9:.1f} | {ratio:.2f} | {figures['predicted'] / 1e9:.2f} "
            f"| {figures['peak'] / 1e9:.2f} | {memory:.2f} |",
            flush=True,
        )


def checkpointing() -> None:
    """Memory and time of a step on long texts, with and without activation checkpointing."""
    for method, texts, tokens in (("vanilla", 8, 512), ("slm-fp", 2, 512)):
        both = [
            measured("step", method=method, texts=texts, tokens=tokens, steps=2, checkpointing=wanted)
            for wanted in (False, True)
        ]
        print(
            f"{method} {texts} × {tokens}: {both[0]['peak'] / 1e9:.2f} → {both[1]['peak'] / 1e9:.2f} GB, "
            f"time × {both[1]['seconds'] / both[0]['seconds']:.2f}, predicted "
            f"{both[0]['predicted'] / 1e9:.2f} → {both[1]['predicted'] / 1e9:.2f} GB",
            flush=True,
        )


def table(names: list[str], rate: float) -> None:
    """Machine time to train one epoch and to explain, for every size of corpus and encoder."""
    for name in names:
        lengths = lengths_of(name)
        print(
            f"\n{name}: {len(lengths)} texts, mean {float(lengths.float().mean()):.0f} tokens, "
            f"longest {int(lengths.max())}"
        )
        for method in METHODS:
            config = resolve(method, None, SETTINGS)
            tokens, width = simulated(lengths, config)
            if method.startswith("dlm"):  # the second encoder reads the texts, not their views
                tokens += simulated(lengths, resolve("vanilla", None, SETTINGS))[0]
            print(
                f"  {method}: {tokens:.0f} tokens a text and epoch, "
                f"{tokens / float(lengths.float().mean()):.2f} times its own, at a mean width of {width:.0f}"
            )
            for encoder, size in ENCODERS.items() if method == "slm-fp" else ():
                flops = 3 * tokens * size.forward_flops(width)
                row = [human(n * flops / (speed or rate)) for speed in MACHINES.values() for n in TEXTS]
                print(f"    {encoder}, one epoch: " + " | ".join(row))
                own = float(lengths.float().mean())
                flops = own * size.forward_flops(own)
                row = [human(n * flops / (speed or rate)) for speed in MACHINES.values() for n in TEXTS]
                print(f"    {encoder}, explained: " + " | ".join(row))
    config = replace(resolve("slm-fp", None, SETTINGS))
    print("\nbytes a process holds in training (batch of 32 × 128 tokens), ddp and fsdp over 8 and 512:")
    for encoder, size in ENCODERS.items():
        held = 4 * size.parameters
        row = [
            training_peak(
                config,
                size=size,
                trained=size.parameters,
                tokens=32 * 128,
                saved=8192,
                chunk=4096,
                held=held,
                shards=shards,
            )
            / 1e9
            for shards in (1, 8, 512)
        ]
        print(f"  {encoder}: " + ", ".join(f"{value:.1f} GB" for value in row))


def show(what: str, figures: dict[str, float]) -> None:
    """Seconds, and bytes in GB."""
    print(what, {key: round(value / (1 if key == "seconds" else 1e9), 2) for key, value in figures.items()})


def human(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["check", "checkpointing", "long", "batch", "table", "step"])
    parser.add_argument("--data", nargs="*", default=["sst"])
    parser.add_argument("--tokens", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument(
        "--rate", type=float, default=20e9, help="operations a second of the CPU, from `check`"
    )
    parser.add_argument("--inside", type=json.loads)
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if options.inside is not None:
        inside = {"step": training_step, "long": long_document, "batch": text_batches}[options.what]
        print(json.dumps(inside(options.inside)))
    elif options.what == "long":
        for tokens in options.tokens:
            show(f"{tokens} words", measured("long", tokens=tokens))
    elif options.what == "batch":
        show("64 texts of 480 words", measured("batch", texts=64, words=480))
    elif options.what == "table":
        table(options.data, options.rate)
    else:
        check(options.data[0]) if options.what == "check" else checkpointing()


if __name__ == "__main__":
    main()
