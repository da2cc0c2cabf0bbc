"""The memory of a training or of explaining, predicted from a model and its device or from settings."""

from __future__ import annotations

from typing import Any

from unirex.config import Config
from unirex.encoding.batching import TOKENS
from unirex.models.activations import NUMBER
from unirex.models.plan import Limits, config_limits, device_limits, keeps_matrices, peak_memory
from unirex.training.cost import (
    DOUBLED,
    GRADIENTS,
    SECOND_ENCODER,
    Size,
    attributing_peak,
    explaining_peak,
    second_order,
    training_peak,
)

PROCESS = 600_000_000  # bytes a process holds before it has weights: Python, torch, Lightning; measured


def encoder_size(config: Any) -> Size:
    """The size of an encoder, from its configuration."""
    layers = getattr(config, "num_hidden_layers", 12)
    heads = getattr(config, "num_attention_heads", 12)
    return Size(layers, config.hidden_size, getattr(config, "vocab_size", 0), heads)


def model_peak(model: Any, config: Config, longest: int, *, shards: int = 1) -> int:
    """Bytes that training this model holds at most, if a batch is full of texts of this length.

    On a CPU it begins with what the process holds by now; on another device with the weights.
    """
    encoder = model.task.encoder
    return _training(
        config,
        encoder.config,
        longest,
        limits=device_limits(encoder),
        device=next(model.parameters()).device.type,
        trained=sum(weights.numel() for weights in model.parameters() if weights.requires_grad),
        held=held_bytes(model),
        shards=shards,
    )


def settings_peak(config: Config, encoder: Any, longest: int, *, shards: int = 1) -> int:
    """As `model_peak`, on a CPU of this machine, from settings and the configuration of an encoder."""
    weights = settings_weights(config, encoder)
    return _training(
        config,
        encoder,
        longest,
        limits=config_limits(encoder, "cpu"),
        device="cpu",
        trained=weights,
        held=PROCESS + NUMBER * weights,
        shards=shards,
    )


def settings_weights(config: Config, encoder: Any) -> int:
    """About how many weights a system of these settings has."""
    return encoder_size(encoder).parameters * (1 + (config.extractor in SECOND_ENCODER))


def _training(
    config: Config,
    encoder: Any,
    longest: int,
    *,
    limits: Limits,
    device: str,
    trained: int,
    held: int,
    shards: int,
) -> int:
    window = min(longest, config.max_length or longest)
    # Second derivatives switch attention to single steps when the first batch is run.
    matrices = second_order(config) or keeps_matrices(encoder, device, dropout=config.training.dropout)
    return training_peak(
        config,
        size=encoder_size(encoder),
        trained=trained,
        tokens=config.training.batch_size * longest,
        saved=limits.saved,
        chunk=max(limits.chunk, window),
        held=held,
        shards=shards,
        width=window if matrices else 0,
    )


def explaining_bound(model: Any, *, batch_size: int) -> int | None:
    """Bytes that explaining any number of texts holds at most; None if that is not predicted.

    It is for learnt scores and for gradients, not for scores that many views of a text are run for. A text of
    more tokens than a batch may have, read in windows, holds more.
    """
    name, config = model.config.extractor, model.config
    learnt = name != "blended" and any(True for _ in model.extractor.parameters())
    if not learnt and name not in GRADIENTS:
        return None
    return _explaining(
        name,
        encoder_size(model.task.encoder.config),
        chunk=device_limits(model.task.encoder).chunk,
        batch=TOKENS if config.truncation == "windows" else min(TOKENS, batch_size * config.max_length),
        held=held_bytes(model),
    )


def settings_bound(config: Config, encoder: Any, longest: int, *, extractor: str, batch_size: int) -> int:
    """As `explaining_bound`, on a CPU, from settings and the configuration of an encoder.

    Scores that many views of a text are run for count as gradients do.
    """
    return _explaining(
        extractor,
        encoder_size(encoder),
        chunk=config_limits(encoder, "cpu").chunk,
        batch=min(TOKENS, batch_size * longest),
        held=PROCESS + NUMBER * settings_weights(config, encoder),
    )


def _explaining(extractor: str, size: Size, *, chunk: int, batch: int, held: int) -> int:
    if extractor in (*SECOND_ENCODER, "shared-lm"):
        return explaining_peak(size=size, chunk=chunk, batch=batch, held=held)
    doubled = chunk * (1 + (extractor == DOUBLED))
    return attributing_peak(size=size, chunk=doubled, batch=batch, held=held)


def held_bytes(model: Any) -> int:
    """Bytes held before it starts: on a CPU by the process, on another device by the weights."""
    weights = list(model.parameters())
    if weights[0].device.type == "cpu":
        return peak_memory()
    return NUMBER * sum(part.numel() for part in weights)
