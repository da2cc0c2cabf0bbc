"""The memory of a training, predicted from the model itself and the device it is on."""

from __future__ import annotations

from typing import Any

from unirex.config import Config
from unirex.models.plan import device_limits
from unirex.training.cost import NUMBER, Size, held_now, training_peak


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
    held = held_now() if on_cpu else NUMBER * sum(weights.numel() for weights in model.parameters())
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
