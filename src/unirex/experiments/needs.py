"""What cells need of a machine, predicted from their settings and the encoder's configuration: no weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from unirex.config import EVALUATION_BATCH_SIZE, Config
from unirex.errors import UserError, one_line
from unirex.experiments.cells import Cell, Data, Needs
from unirex.experiments.passes import Work

BYTES = 3  # of UTF-8 in a token, about: a character of Chinese; English words have more
MARKS = 4  # special tokens of a text, about
TEXT = 250  # bytes a training holds of every text: docs/scale.md
RECORD = 1_800  # bytes an evaluation holds of every text: docs/performance.md
GPU = ("gpu", "cuda")  # these need one for each process; with `auto` the cluster says whether it has any


def with_needs(cells: Sequence[Cell], work: Mapping[str, Work]) -> list[Cell]:
    """The cells with the memory, cores and GPUs that each will take, as far as that can be predicted."""
    return [replace(cell, needs=_needs(cell, work[cell.key])) for cell in cells]


def _needs(cell: Cell, work: Work) -> Needs:
    encoder, _ = encoder_config(work.config.encoder)
    if encoder is None:
        return Needs()
    return _of_training(work, encoder) if cell.work == "train" else _of_measurement(cell, work, encoder)


def _of_training(work: Work, encoder: Any) -> Needs:
    from unirex.models.activations import NUMBER
    from unirex.models.plan import share_memory
    from unirex.training.memory import PROCESS, settings_peak, settings_weights
    from unirex.training.processes import FSDP

    training, splits = work.config.training, work.data.load()
    processes = int(training.devices) if str(training.devices).isdecimal() else 1
    texts = sum(len(splits[name]) for name in ("train", "dev"))
    if training.accelerator in GPU:  # activations and the optimiser are there; checkpoints pass through here
        weights = settings_weights(work.config, encoder)
        return Needs(processes, processes * (PROCESS + 4 * NUMBER * weights + TEXT * texts), processes)
    with share_memory(processes):
        longest = longest_text(work.config, encoder, work.data, "train")
        shards = processes if training.strategy == FSDP else 1
        peak = settings_peak(work.config, encoder, longest, shards=shards) + TEXT * texts
    return Needs(processes, processes * peak)


def _of_measurement(cell: Cell, work: Work, encoder: Any) -> Needs:
    from unirex.extractors import extractor_name
    from unirex.training.memory import settings_bound

    options, split = cell.content["options"], cell.content["split"]
    bound = settings_bound(
        work.config,
        encoder,
        longest_text(work.config, encoder, work.data, split),
        extractor=extractor_name(str(options.get("extractor") or work.config.extractor)),
        batch_size=options.get("batch_size") or EVALUATION_BATCH_SIZE,
    )
    texts = len(work.data.load()[split])
    return Needs(memory=bound + RECORD * min(texts, options.get("number") or texts))


def longest_text(config: Config, encoder: Any, data: Data, split: str) -> int:
    """About how many tokens the longest text of a split has, as far as it is read."""
    most = config.max_length or min(4096, getattr(encoder, "max_position_embeddings", 512))
    sizes = (
        sum(map(_size, example.segments)) + max(map(_size, example.choices or ("",)))
        for example in data.load()[split]
    )
    tokens = max(sizes, default=0) // BYTES + MARKS
    return tokens if config.truncation == "windows" else min(most, tokens)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


@lru_cache(maxsize=16)
def encoder_config(name: str) -> tuple[Any, str]:
    """The configuration of an encoder; None and the reason if it cannot be had here."""
    from unirex.models.encoders import load_pretrained

    try:
        return load_pretrained(name, kind="config"), ""
    except UserError as error:
        return None, one_line(error)


@lru_cache(maxsize=16)
def first_position(name: str) -> int:
    """The number of an encoder's first position, from a model without weights."""
    import torch

    from unirex.models.encoders import load_problem, new_encoder
    from unirex.models.task import position_offset

    try:
        with torch.device("meta"):
            return position_offset(new_encoder(encoder_config(name)[0], pooler=False))
    except Exception as error:  # whatever a configuration leads to that no encoder of transformers has
        raise UserError(f"encoder '{name}' could not be built: {load_problem(error)}") from error
