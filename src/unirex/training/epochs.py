"""Epochs: their seeds, checkpoints and figures, the best of them, and when to stop."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping
from torch import Tensor

from unirex.config import Config
from unirex.encoding.batching import Batches
from unirex.errors import UserError
from unirex.files import write_file
from unirex.modeling import RationaleModel
from unirex.training.checkpoints import load_plain, load_state, save_state
from unirex.training.divergence import is_finite
from unirex.training.sharding import make_whole, whole_state

LAST = "checkpoints/last.safetensors"
BEST = "checkpoints/best-{}.safetensors"  # by the number of its epoch, which the last checkpoint names
INSIDE = "checkpoints/inside.safetensors"  # of the epoch that runs, beside the end of the one before
MONITOR = "dev"
TERMS = "terms"  # what a training step returns beside the loss: the terms of `metrics.csv` by name
TEXTS = "texts"
STATE = ("best", "kept", "rows", "stopped", "inside")  # attributes of `Epochs` in a checkpoint
CHECKPOINT_EVERY = 600.0  # seconds between two checkpoints inside an epoch


def has_begun(trainer: pl.Trainer, warmup: float) -> bool:
    """Whether this epoch began after the warm-up, a share of all epochs."""
    return trainer.current_epoch >= warmup * (trainer.max_epochs or 1)


class Patience(EarlyStopping):
    """Stops when the dev score has not improved for long enough, counted from the end of the warm-up."""

    def __init__(self, patience: int, warmup: float) -> None:
        # Checked after validation, so that the checkpoint `Epochs` writes later holds its count.
        super().__init__(
            MONITOR, patience=patience, mode="max", min_delta=0.0, check_on_train_epoch_end=False
        )
        self.warmup = warmup

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        if has_begun(trainer, self.warmup):
            super().on_validation_end(trainer, pl_module)


class Epochs(Callback):
    """Per epoch: new seeds before; the best weights, a row of `metrics.csv` and a checkpoint after.

    An epoch that takes longer than `CHECKPOINT_EVERY` has checkpoints inside too. A run resumed from one
    draws the remaining batches of the epoch, and all other chance, as if it had not been interrupted. Other
    processes than those that wrote it cannot: they go on from the end of the epoch before.
    """

    def __init__(self, model: RationaleModel, folder: Path, config: Config, batches: Batches) -> None:
        self.model, self.folder, self.seed, self.batches = model, folder, config.seed, batches
        self.choose = bool(config.objectives.task.weight)  # the epoch with the best dev score; else the last
        self.warmup = config.objectives.warmup
        self.best: float | None = None
        self.kept = 0  # number of the epoch whose weights are kept
        self.rows: list[dict[str, float]] = []
        self.stopped = False
        self.sums: dict[str, Tensor] = {}  # over the texts of the epoch so far, of every term of the loss
        self.inside: dict[str, Any] | None = None  # where in its epoch a checkpoint was written
        self.saved_at = time.monotonic()

    def state_dict(self) -> dict[str, Any]:  # noqa: D102
        return {name: getattr(self, name) for name in STATE}

    def resumable(self, trainer: pl.Trainer) -> tuple[Path | None, str]:
        """The newest checkpoint that this trainer can go on from, and a line about what it has to repeat."""
        last, inside = (
            self.folder / name if (self.folder / name).exists() else None for name in (LAST, INSIDE)
        )
        ended, part = len(self._saved(last).get("rows", ())), self._saved(inside)
        if inside is None or len(part.get("rows", ())) != ended:  # a kill left one of the epoch that ended
            return last, ""
        before, now = part["inside"]["by"], trained_by(trainer)
        if before == now:
            return inside, ""
        since = f"from the end of epoch {ended}" if ended else "from the start"
        return last, (
            f"{self.folder} was interrupted inside epoch {ended + 1}, by {before}; {now} cannot go on there, "
            f"but {since}: the part of epoch {ended + 1} is run again"
        )

    def _saved(self, checkpoint: Path | None) -> dict[str, Any]:
        """The state of these epochs in a checkpoint, without tensors."""
        found = {} if checkpoint is None else load_plain(checkpoint)
        return found.get("callbacks", {}).get(self.state_key, {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:  # noqa: D102
        for name in STATE:
            setattr(self, name, state_dict.get(name, getattr(self, name)))

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop at once if patience had ended the resumed run; go on inside its epoch if it was in one."""
        self.saved_at = time.monotonic()
        trainer.should_stop = trainer.should_stop or self.stopped
        if self.inside is not None:
            self._return_to(self.inside, trainer)
            self.inside = None

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Seed by epoch, so that a resumed run draws what an uninterrupted one draws."""
        # Multiplied by primes, so that neighbouring seeds, epochs and processes never share a number.
        torch.manual_seed((self.seed * 1_000_003 + trainer.current_epoch) * 1009 + trainer.global_rank)
        self.batches.set_epoch(trainer.current_epoch)
        self.sums = {}

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add to the sums of the epoch; write a checkpoint if the last one is long ago."""
        self._add(outputs[TERMS], texts=len(batch["labels"]))
        done = batch_idx + 1
        if done == trainer.num_training_batches or done % trainer.accumulate_grad_batches:
            return  # the checkpoint of the epoch follows, or gradients wait that no checkpoint holds
        # The first process decides, as clocks differ.
        due = time.monotonic() - self.saved_at >= CHECKPOINT_EVERY
        if trainer.strategy.broadcast(due) and is_finite(self.model):
            self.inside = self._place(done, trainer)
            self._checkpoint(trainer, INSIDE)
            self.inside = None

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        scores = {name: float(value) for name, value in trainer.callback_metrics.items()}
        row = {"epoch": trainer.current_epoch + 1, **scores, **self._means(trainer)}
        # Ties go to the later epoch, as the extractor keeps improving when the dev score does not.
        # Paper: its code keeps the first.
        improved = self.best is None or not self.choose or row[MONITOR] >= self.best
        self.rows.append(row)
        if improved:
            self.kept = trainer.current_epoch + 1
            # An epoch before all objectives had begun is kept only until there is another.
            self.best = row[MONITOR] if has_begun(trainer, self.warmup) else None
        weights = whole_state(self.model.state_dict()) if improved else None  # in all processes together
        if trainer.is_global_zero:
            if weights is not None:
                save_state(self.folder / BEST.format(self.kept), weights)
            write_file(self.folder / "metrics.csv", as_csv(self.rows))
        self.stopped = trainer.should_stop
        self._checkpoint(trainer, LAST)
        if trainer.is_global_zero:
            self._remove_older()

    def finish(self, trainer: pl.Trainer) -> None:
        """Load the best weights in every process, and wait until all have them."""
        self.load_best()
        trainer.strategy.barrier()

    def load_best(self) -> None:
        """Give the model the weights of the epoch that is kept."""
        make_whole(self.model)
        self.model.load_state_dict(load_state(self.folder / BEST.format(self.kept)))

    def _remove_older(self) -> None:
        """Remove what the last checkpoint has made useless: only now, as a kill may come at any moment."""
        (self.folder / INSIDE).unlink(missing_ok=True)
        for path in self.folder.glob(BEST.format("*")):
            if path != self.folder / BEST.format(self.kept):
                path.unlink()

    def _checkpoint(self, trainer: pl.Trainer, name: str) -> None:
        trainer.save_checkpoint(self.folder / name)
        self.saved_at = time.monotonic()

    def _add(self, terms: Mapping[str, Tensor], *, texts: int) -> None:
        for name, mean in {**terms, TEXTS: torch.ones_like(terms["loss"])}.items():
            self.sums[name] = self.sums.get(name, 0) + mean.detach().float() * texts

    def _means(self, trainer: pl.Trainer) -> dict[str, float]:
        """The terms of the loss over the texts of the epoch, of all processes."""
        sums = {name: trainer.strategy.reduce(total, reduce_op="sum") for name, total in self.sums.items()}
        texts = sums.pop(TEXTS)
        return {name: float(total / texts) for name, total in sums.items()}

    def _place(self, done: int, trainer: pl.Trainer) -> dict[str, Any]:
        """What tells how far the epoch is, in every process."""
        device = trainer.strategy.root_device
        return {
            "batches": done,
            "by": trained_by(trainer),
            "random": [gathered(state, trainer) for state in random_states(device)],
            "sums": {name: gathered(total, trainer) for name, total in self.sums.items()},
        }

    def _return_to(self, place: Mapping[str, Any], trainer: pl.Trainer) -> None:
        """Go on in the epoch after the batches that were done; random numbers as they would have followed."""
        processes, rank = len(place["random"][0]), trainer.global_rank
        if processes != trainer.world_size:
            raise UserError(
                f"{self.folder} was interrupted inside an epoch of {processes} processes, not "
                f"{trainer.world_size}; resume it on as many devices."
            )
        device = trainer.strategy.root_device
        self.batches.set_epoch(trainer.current_epoch, done=place["batches"])
        self.sums = {name: totals[rank].to(device) for name, totals in place["sums"].items()}
        set_random_states([states[rank] for states in place["random"]], device)


def trained_by(trainer: pl.Trainer) -> str:
    """Who trains, in words: what the random numbers inside an epoch depend on."""
    number = trainer.world_size
    return f"{number} process{'' if number == 1 else 'es'} on {trainer.strategy.root_device.type}"


def gathered(tensor: Tensor, trainer: pl.Trainer) -> Tensor:
    """The tensors of all processes on top of each other."""
    everywhere = trainer.strategy.all_gather(tensor.to(trainer.strategy.root_device))
    return everywhere.reshape(trainer.world_size, *tensor.shape).cpu()


def random_states(device: torch.device) -> list[Tensor]:
    """The state of the generator of the CPU, and of that of another device."""
    states = [torch.get_rng_state()]
    return states if device.type == "cpu" else [*states, torch.get_device_module(device).get_rng_state()]


def set_random_states(states: Sequence[Tensor], device: torch.device) -> None:
    """Go back to what `random_states` returned."""
    # Copies, as torch misreads a state that is part of a larger tensor.
    cpu, *other = [state.clone() for state in states]
    torch.set_rng_state(cpu)
    for state in other:
        torch.get_device_module(device).set_rng_state(state)


def as_csv(rows: Sequence[Mapping[str, float]]) -> str:
    """Rows of numbers as CSV, with columns in the order of the first row."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
