"""A system before training: a pretrained encoder, heads from chance."""

from __future__ import annotations

import torch

from unirex.config import Config
from unirex.data.example import Splits
from unirex.data.layout import Layout
from unirex.methods.checks import check_learns
from unirex.modeling import RationaleModel
from unirex.models.encoders import load_pretrained
from unirex.system import System


def build_system(method: str, data: Splits, config: Config, *, learns: bool = True) -> System:
    """The system these settings describe, for these data; its extractor `learns` in this very training."""
    torch.manual_seed(config.seed)
    model = RationaleModel.from_encoder(config, data.info.labels, layout=Layout.of(data), method=method)
    if learns:
        check_learns(model, config)
    return System(model, load_pretrained(config.encoder, kind="tokenizer"))
