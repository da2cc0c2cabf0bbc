"""What a training says while it runs: what it will do, how far it is, its epochs, and why it ended."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

from unirex.config import Config
from unirex.data.example import Splits
from unirex.files import Progress, say
from unirex.training.epochs import MONITOR, Epochs
from unirex.training.memory import model_peak
from unirex.training.processes import FSDP

MEASURED = 5.0  # seconds of training until a log has its first line with the time left


class Feedback(Callback):
    """Reports a training on standard error: a bar on a terminal or in a notebook, else lines now and then."""

    def __init__(self, epochs: Epochs, config: Config, data: Splits, metric: str, *, longest: int) -> None:
        self.epochs, self.training, self.data = epochs, config.training, data
        self.config, self.longest = config, longest  # tokens in the longest text
        self.metric = f"{MONITOR} {metric.replace('_', ' ')}"
        self.shown = True
        self.progress: Progress | None = None
        self.closing = ExitStack()

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Of several processes, the first one speaks."""
        self.shown = trainer.is_global_zero

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Announce the work and begin to count its steps."""
        steps, done = int(trainer.estimated_stepping_batches), trainer.global_step
        self._say(f"{self._plan(steps, done)}; {self._memory(trainer)}")
        progress = Progress(
            self._epoch(trainer), total=steps, done=done, shown=self.shown, unit="steps", first=MEASURED
        )
        self.progress = self.closing.enter_context(progress)

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        self._count(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:  # noqa: D102
        self._count(trainer)

    def on_validation_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:  # noqa: D102
        self._count(trainer, f" on {MONITOR}")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The figures of the epoch."""
        shown = {name: value for name, value in self.epochs.rows[-1].items() if name != "epoch"}
        if not self.epochs.choose:
            shown.pop(MONITOR, None)  # the score of a classifier that is not trained here
        values = " ".join(f"{name} {value:.4g}" for name, value in shown.items())
        self._say(f"{self._epoch(trainer)}: {values}")

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Which epoch is kept, and why there are no more."""
        self._say(f"{self._end()}; {self._choice()}")
        self.closing.close()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leave no bar behind."""
        self.closing.close()

    def _plan(self, steps: int, done: int) -> str:
        """The work in a line.

        The time is not guessed: the first report of the progress has it, from the steps that were measured.
        """
        epochs, texts = self.training.epochs, len(self.data["train"])
        plan = f"training on {texts:,} texts: {steps:,} steps in {number(epochs, 'epoch')}"
        if done:
            plan += f", of which {done:,} are done"
        if self.epochs.choose and self.training.patience < epochs:
            wait = number(self.training.patience, "epoch")
            plan += (
                f"; it ends early if {self.metric} ({len(self.data['dev']):,} texts) is no better for {wait}"
            )
        return plan

    def _memory(self, trainer: pl.Trainer) -> str:
        shards = trainer.world_size if self.training.strategy == FSDP else 1
        peak = model_peak(self.epochs.model, self.config, self.longest, shards=shards)
        where = " in each process" if trainer.world_size > 1 else ""
        return f"about {peak / 1e9:.1f} GB of memory{where}"

    def _end(self) -> str:
        done, planned = len(self.epochs.rows), self.training.epochs
        if done == planned:
            return f"training ended: {number(planned, 'epoch')} done"
        wait = number(self.training.patience, "epoch")
        return f"training ended after epoch {done} of {planned}: {self.metric} was no better for {wait}"

    def _choice(self) -> str:
        kept, best = self.epochs.kept, self.epochs.best
        if best is None or not self.epochs.choose:
            return f"kept the last, epoch {kept}"
        since = " since all objectives had begun" if self.epochs.warmup else ""
        return f"kept epoch {kept}, with the best {self.metric}{since}: {best:.4g}"

    def _epoch(self, trainer: pl.Trainer) -> str:
        return f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"

    def _count(self, trainer: pl.Trainer, where: str = "") -> None:
        if self.progress is not None:
            self.progress.doing = self._epoch(trainer) + where
            self.progress.advance(trainer.global_step - self.progress.done)

    def _say(self, line: str) -> None:
        """A line above the bar; a run that was complete when it was resumed has no bar."""
        if self.progress is not None:
            self.progress.say(line)
        elif self.shown:
            say(line)


def number(amount: int, thing: str) -> str:
    """An amount with its noun.

    >>> number(1, "epoch"), number(1200, "step")
    ('1 epoch', '1,200 steps')
    """
    return f"{amount:,} {thing}" if amount == 1 else f"{amount:,} {thing}s"
