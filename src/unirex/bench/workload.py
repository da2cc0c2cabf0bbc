"""What is measured on: the machine, texts, training batches, and systems on one encoder."""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from unirex.data.catalogue import find_folder
from unirex.data.example import Example, Splits
from unirex.data.load import load_dataset
from unirex.encoding.batch import Batch, Encoded, collate
from unirex.encoding.batching import LengthGroupedBatches
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.scale.cores import usable_cores
from unirex.system import BATCH_SIZE, System, load
from unirex.training.run_folder import NOT_INSTALLED, versions

PACKAGES = ("torch", "transformers", "tokenizers", "captum", "shap", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Pace:
    """How much is measured."""

    repetitions: int = 7
    slow: int = 3  # repetitions of cases that take seconds
    explained: int = 320  # texts
    evaluated: int = 128
    attributed: int = 8
    samples: int = 100  # perturbed texts per text, for algorithms that perturb
    tokens: int = 1024  # in a batch of the length sweep
    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    growth: tuple[int, ...] = (1000, 10_000, 100_000)
    steps: int = 15  # training batches: the cost of a step depends on the length of its texts


QUICK = Pace(2, 1, 32, 16, 2, 20, 128, (16, 32), (50, 500), 2)


@dataclass(frozen=True)
class Workload:
    """The texts and systems that all groups of measurements share."""

    data: Splits
    encoder: str = "minilm"
    batch_size: int = BATCH_SIZE
    pace: Pace = field(default_factory=Pace)
    run: str | None = None  # a trained system to explain and evaluate with

    def build(self, method: str = "slm-fp", **settings: Any) -> System:
        """An untrained system: the time of a step does not depend on what was learned."""
        config = resolve(method, None, {"encoder": self.encoder, **settings})
        return build_system(method, self.data, config)

    @cached_property
    def system(self) -> System:
        """The system that explains and is evaluated."""
        if self.run:
            return load(self.run)
        system = self.build()
        system.model.eval()
        return system

    def explain(self, texts: Sequence[str]) -> list[Explanation]:
        """Text in, label and rationale out."""
        return list(self.system.explain_all(texts, batch_size=self.batch_size))

    @cached_property
    def encoded(self) -> list[Encoded]:
        """The training texts as tokens."""
        return list(self.system.text_encoder.encode(self.data["train"]))

    @property
    def width(self) -> int:
        """Tokens of the longest training text: the width of static padding."""
        return max(text.length for text in self.encoded)

    @property
    def pad(self) -> int:
        """The id of the padding token."""
        return int(self.system.tokenizer.pad_token_id)

    def grouped_batches(self, number: int) -> list[Batch]:
        """Batches of like length, as our training draws them, spread evenly over the lengths of an epoch."""
        order = LengthGroupedBatches([text.length for text in self.encoded], self.batch_size).whole_epoch()
        full = [batch for batch in order if len(batch) == self.batch_size] or order
        full.sort(key=lambda batch: max(self.encoded[index].length for index in batch))
        return shuffled([self._training_batch(indices) for indices in spread(full, number)])

    def random_batches(self, number: int) -> list[Batch]:
        """Batches of any lengths, as a stock trainer draws them."""
        order = shuffled(range(len(self.encoded)))
        starts = range(0, max(1, len(order) - self.batch_size + 1), self.batch_size)
        return [self._training_batch(order[start : start + self.batch_size]) for start in starts[:number]]

    def _training_batch(self, indices: Sequence[int]) -> Batch:
        return collate([self.encoded[index] for index in indices], self.pad)

    def batch(self, examples: Sequence[Example]) -> Batch:
        """The examples as one batch."""
        return collate(list(self.system.text_encoder.encode(examples)), self.pad)

    def examples(self, number: int) -> list[Example]:
        """A random sample of test examples, in the order of the file; repeated if there are too few."""
        part = self.data.get("test") or self.data["train"]
        if number >= len(part):
            return [part[index % len(part)] for index in range(number)]
        return [part[index] for index in sorted(random.Random(0).sample(range(len(part)), number))]

    def texts(self, number: int) -> list[str]:
        """The same as bare texts."""
        return [example.segments[0] for example in self.examples(number)]


def choose_data(name: str | None, root: str | None) -> Splits:
    """The named data; without a name SST if its folder exists, else the embedded corpus."""
    if name is None:
        from unirex.data.datasets.sst import FOLDERS

        try:
            find_folder("sst", FOLDERS, root)
            name = "sst"
        except UserError:
            name = "demo"
    data = load_dataset(name, root=root)
    if data.info.task != "text" or not data.get("train"):
        raise UserError(f"bench measures on single texts with a train part; '{name}' does not hold them.")
    return data


def spread(items: Sequence[Any], number: int) -> list[Any]:
    """`number` items at even distances, the middles of equal parts.

    >>> spread("abcdefghi", 3)
    ['b', 'e', 'h']
    """
    return [items[int((index + 0.5) * len(items) / number)] for index in range(number)]


def shuffled(items: Sequence[Any]) -> list[Any]:
    """The items in a random order that is always the same."""
    order = torch.randperm(len(items), generator=torch.Generator().manual_seed(0)).tolist()
    return [items[index] for index in order]


def machine() -> dict[str, Any]:
    """Processor, cores, threads, memory and system."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "threads": torch.get_num_threads(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def compared_versions() -> dict[str, str]:
    """Versions of Python and of the compared packages that are installed."""
    import unirex

    packages = {name: known for name, known in versions(PACKAGES).items() if known != NOT_INSTALLED}
    return {"unirex": unirex.__version__, "python": platform.python_version(), **packages}


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    """Memory of the machine in gigabytes; None if the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None
