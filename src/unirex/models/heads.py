"""What sits on top of hidden states: a linear layer or an MLP."""

from __future__ import annotations

import re
from itertools import pairwise

from torch import nn

from unirex.errors import UserError


def build_head(spec: str, inputs: int, outputs: int, *, dropout: float = 0.0) -> nn.Module:
    """`linear`, or `mlp-<width>-<layers>` with ReLU after every hidden layer (spec/models.md#extractor-head).

    >>> [tuple(layer.weight.shape) for layer in build_head("mlp-8-2", 4, 1) if hasattr(layer, "weight")]
    [(8, 4), (8, 8), (1, 8)]
    """
    if spec == "linear":
        if dropout:
            raise UserError("dropout is for MLP heads; a linear head has no place for it.")
        return nn.Linear(inputs, outputs)
    match = re.fullmatch(r"mlp-([1-9]\d*)-([1-9]\d*)", str(spec))
    if not match:
        raise UserError(f"unknown head '{spec}'; use 'linear' or 'mlp-<width>-<layers>', as in mlp-2048-2.")
    width, depth = int(match[1]), int(match[2])
    sizes = [inputs] + [width] * depth
    layers: list[nn.Module] = []
    for narrow, wide in pairwise(sizes):
        layers += [nn.Linear(narrow, wide), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(width, outputs))
