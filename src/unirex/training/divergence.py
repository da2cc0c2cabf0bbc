"""A training whose loss is no longer a number: noticed, stopped, and explained."""

from __future__ import annotations

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn

from unirex.errors import UserError

PERSISTS = 3  # steps in a row without a finite loss: scaled half precision recovers from one or two


class DivergedError(UserError):
    """A training that diverged; `kept` is the number of the epoch that was best before, or 0."""

    def __init__(self, message: str, kept: int) -> None:
        super().__init__(message)
        self.kept = kept


class StopIfDiverged(Callback):
    """Ends a training that can only go on with numbers that are none; must stand before `Epochs`."""

    def __init__(self, epochs: Any, learning_rate: float) -> None:
        self.epochs, self.learning_rate = epochs, learning_rate
        self.steps = 0  # in a row without a finite loss

    def on_train_batch_end(  # noqa: D102
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.steps = 0 if bool(torch.isfinite(outputs["loss"])) else self.steps + 1
        if self.steps >= PERSISTS:
            raise self._error(trainer, "the loss is")

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """No epoch is scored, let alone kept, whose weights are not numbers."""
        if not is_finite(pl_module):
            raise self._error(trainer, "the weights are")

    def _error(self, trainer: pl.Trainer, what: str) -> DivergedError:
        kept = self.epochs.kept
        saved = f"epoch {kept}, the best before, is saved" if kept else "nothing was saved"
        return DivergedError(
            f"training diverged in epoch {trainer.current_epoch + 1}: {what} NaN or infinite; {saved}. Try a "
            f"smaller training.learning_rate ({self.learning_rate:g} now), training.clip 1, or "
            "training.precision 32-true.",
            kept,
        )


def is_finite(module: nn.Module) -> bool:
    """Whether all weights are numbers."""
    return all(bool(torch.isfinite(weights).all()) for weights in module.parameters())
