"""Memory of explaining by an attribution: predicted before and measured after, on texts of about 470 tokens.

python benchmarks/attribution_memory.py [integrated-gradients]
"""

from __future__ import annotations

import sys

from unirex.data.load import load_dataset
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.models.plan import peak_memory
from unirex.system import BATCH_SIZE
from unirex.training.memory import explaining_bound

TEXTS, WORDS = 12, 400  # a chunk of 4,096 tokens is full with nine of them


def main(extractor: str) -> None:
    """Print what is predicted and what is held at most, of a plain classifier on MiniLM."""
    data = load_dataset("demo")
    system = build_system("vanilla", data, resolve("vanilla", None, {"extractor": extractor}))
    words = " ".join(example.text for example in data["train"]).split()
    texts = [" ".join(words[start : start + WORDS]) for start in range(0, TEXTS * WORDS, WORDS)]
    bound, before = explaining_bound(system.model, batch_size=BATCH_SIZE), peak_memory()
    list(system.explain(texts))
    predicted = "nothing" if bound is None else f"{bound / 1e9:.2f} GB"
    print(
        f"{extractor}: before {before / 1e9:.2f} GB, predicted {predicted}, held {peak_memory() / 1e9:.2f} GB"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "integrated-gradients")
