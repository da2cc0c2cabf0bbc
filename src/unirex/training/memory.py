"""The memory of a training or of explaining, predicted from the model itself and the device it is on."""

from __future__ import annotations

from typing import Any

from unirex.config import Config
from unirex.encoding.batching import TOKENS
from unirex.models.activations import NUMBER
from unirex.models.plan import device_limits, peak_memory
from unirex.training.cost import Size, explaining_peak, training_peak


def encoder_size(config: Any) -> Size:
    """The size of an encoder, from its configuration."""
    layers = getattr(config, "num_hidden_layers", 12)
    heads = getattr(config, "num_attention_heads", 12)
    return Size(layers, config.hidden_size, getattr(config, "vocab_size", 0), heads)


def model_peak(model: Any, config: Config, longest: int, *, shards: int = 1) -> int:
    """Bytes that training this model holds at most, if a batch is full of texts of this length.

    On a CPU it begins with what the process holds by now; on another device with the weights.
    """
    limits, encoder = device_limits(model.task.encoder), model.task.encoder
    trained = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
    on_cpu = next(model.parameters()).device.type == "cpu"
    held = _held(model)
    return training_peak(
        config,
        size=encoder_size(encoder.config),
        trained=trained,
        tokens=config.training.batch_size * longest,
        saved=limits.saved,
        chunk=max(limits.chunk, min(longest, config.max_length or longest)),
        held=held,
        shards=shards,
        width=min(longest, config.max_length or longest) if on_cpu and config.training.dropout else 0,
    )


def explaining_bound(model: Any, *, batch_size: int) -> int | None:
    """Bytes that explaining any number of texts holds at most; None if scores are not learnt.

    Those of attributions take gradients or many passes, which this does not predict. A text of more tokens
    than a batch may have, read in windows, holds more.
    """
    if model.config.extractor == "blended" or not any(True for _ in model.extractor.parameters()):
        return None
    return explaining_peak(
        size=encoder_size(model.task.encoder.config),
        chunk=device_limits(model.task.encoder).chunk,
        batch=TOKENS
        if model.config.truncation == "windows"
        else min(TOKENS, batch_size * model.config.max_length),
        held=_held(model),
    )


def _held(model: Any) -> int:
    """Bytes held before it starts: on a CPU by the process, on another device by the weights."""
    weights = list(model.parameters())
    if weights[0].device.type == "cpu":
        return peak_memory()
    return NUMBER * sum(part.numel() for part in weights)
