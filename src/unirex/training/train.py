"""Training: a thin Lightning module, and runs that can be resumed exactly."""

from __future__ import annotations

import json
import logging
import re
import signal
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import PreTrainedModel

from unirex.config import Config
from unirex.data.example import AnswerNumbers, Example, Splits
from unirex.encoding.batch import Batch, collate
from unirex.encoding.batching import TOKENS, by_length, training_batches
from unirex.encoding.encode import TextEncoder, warn_truncated
from unirex.encoding.gold import GoldPool, keep_gold, limit_gold
from unirex.encoding.packed import Encodings, WithScores, encode_all
from unirex.errors import UserError, one_line
from unirex.files import say, write_file
from unirex.metrics import performance
from unirex.modeling import Draws, RationaleModel
from unirex.models.encoders import encoder_source, use_flash_attention
from unirex.models.plan import share_memory
from unirex.perturb import drops_exactly
from unirex.training.checkpoints import PlainCheckpoints
from unirex.training.divergence import DivergedError, StopIfDiverged
from unirex.training.epochs import MONITOR, TERMS, Epochs, Patience
from unirex.training.feedback import Feedback
from unirex.training.optimizer import build_optimizer, linear_schedule
from unirex.training.processes import FSDP, check_strategy, processes
from unirex.training.sharding import ShardedStrategy

LIGHTNING_LOGS = ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero")
# How the exchange between processes fails when one of them is gone.
LOST_PROCESS = re.compile(
    r"^Dist\w*Error|gloo|nccl|connection (reset|closed|refused)|broken pipe", re.IGNORECASE
)
Scores = Sequence[Sequence[NDArray[np.float32]]]  # for each example, one array per sequence


def train(
    model: RationaleModel,
    encoder: TextEncoder,
    data: Splits,
    config: Config,
    *,
    folder: Path,
    resume: bool = False,
    progress: bool = True,
    given: Mapping[str, Scores] | None = None,
) -> None:
    """Train the model in place; afterwards it holds the weights of the epoch with the best dev score.

    Splits may be `given` precomputed token scores, for each example one array per sequence.

    The folder receives `metrics.csv` and, while training lasts, `checkpoints/`. Ctrl-C raises
    KeyboardInterrupt and leaves the last checkpoints, of the epoch before and of the last ten minutes; with
    `resume` training goes on from there and ends with the weights an uninterrupted run gives. Another number
    of processes goes on from the epoch before.
    """
    training, pad = config.training, encoder.tokenizer.pad_token_id
    gold = gold_pool(data["train"], config)
    parts = encode_parts(encoder, data, gold, progress=progress)
    batches = training_batches(
        parts["train"].lengths.tolist(),
        gold,
        batch_size=training.batch_size,
        factor=training.gold_factor,
        seed=config.seed,
    )
    # Twice as many texts as in training: validation keeps no activations for a backward pass.
    order = list(by_length(parts["dev"].lengths.tolist(), 2 * training.batch_size, tokens=TOKENS))
    metric = data.info.metric if training.metric == "auto" else training.metric
    epochs = Epochs(model, folder, config, batches)
    feedback = (
        [Feedback(epochs, config, data, metric, longest=int(parts["train"].lengths.max()))]
        if progress
        else []
    )
    rate = training.learning_rate or encoder_source(config.encoder).learning_rate
    trainer = build_trainer(config, folder, [StopIfDiverged(epochs, rate), epochs, *feedback])
    batches.rank, batches.world_size = trainer.global_rank, trainer.world_size
    if gold is not None and trainer.is_global_zero:
        write_file(folder / "gold.json", json.dumps(gold.to_dict(), indent=2) + "\n")
    checkpoint, repeated = epochs.resumable(trainer) if resume else (None, "")
    if repeated and progress and trainer.is_global_zero:
        say(repeated)
    learner = Learner(model, config, metric, rate)
    attention = model.task.encoder.config._attn_implementation
    # Probe now, in full precision: `fit` may convert the weights, and the answer is kept.
    drops_exactly(model.task.encoder, 0)
    use_flash_attention(model.task.encoder, training.precision)
    checkpoint_activations(model, training.activation_checkpointing)
    with quiet_lightning(), share_memory(trainer.num_devices):
        scored = {name: WithScores(parts[name], scores) for name, scores in (given or {}).items()}
        shown: Mapping[str, Encodings | WithScores] = {**parts, **scored}
        pinned = trainer.strategy.root_device.type == "cuda"
        train_loader = loader(shown["train"], batches, pad, pinned=pinned)
        dev_loader = loader(shown["dev"], order, pad, pinned=pinned)
        try:
            with lost_process_said(trainer):
                run(trainer, learner, train_loader, dev_loader, checkpoint)
                epochs.finish(trainer)
        except DivergedError as error:
            if error.kept:
                epochs.load_best()
            raise
        finally:
            # All of these may have been switched for training.
            checkpoint_activations(model, False)
            model.task.encoder.set_attn_implementation(attention)
            model.float().eval()


def checkpoint_activations(model: RationaleModel, wanted: bool) -> None:
    """Switch the encoders to keep only the inputs of their layers for the backward pass, or back."""
    for part in model.modules():
        if isinstance(part, PreTrainedModel) and part is not model and part.supports_gradient_checkpointing:
            if wanted:
                # Reentrant ones would not see gradients taken inside the forward pass.
                part.gradient_checkpointing_enable({"use_reentrant": False})
                part.config.use_cache = False  # nothing is generated; transformers would warn at every start
            elif part.is_gradient_checkpointing:
                part.gradient_checkpointing_disable()


def gold_pool(examples: Sequence[Example], config: Config) -> GoldPool | None:
    """The training examples that keep their gold; None: all that have any."""
    training = config.training
    if training.gold_fraction == 100:
        return None
    seed = config.seed if training.gold_seed is None else training.gold_seed
    return keep_gold(examples, training.gold_fraction, seed)


def encode_parts(
    encoder: TextEncoder, data: Splits, gold: GoldPool | None, *, progress: bool
) -> dict[str, Encodings]:
    """The training and dev splits in tokens; warns about truncated texts."""
    parts = {}
    for name in ("train", "dev"):
        examples, suffix = data[name], name
        if gold is not None and name == "train":
            examples, suffix = limit_gold(examples, gold), f"{name} gold {gold.fraction} {gold.seed}"
        digest = None if data.digest is None else f"{data.digest} {suffix}"
        parts[name] = encode_all(encoder, examples, digest=digest, progress=progress)
        cut = parts[name].truncated.tolist()
        warn_truncated(cut, encoder.max_length, windows=encoder.truncation == "windows")
    return parts


def build_trainer(config: Config, folder: Path, callbacks: list[Callback]) -> pl.Trainer:
    """The Lightning trainer for these settings."""
    training = config.training
    check_strategy(training)
    together = processes(training)
    # Without the task objective the dev score means nothing: all epochs are run, and the last is kept.
    patience = training.patience if config.objectives.task.weight else training.epochs
    stop = Patience(patience, config.objectives.warmup)
    options: dict[str, Any] = {
        "accelerator": training.accelerator,
        "devices": together.each,
        "num_nodes": together.nodes,
        "strategy": ShardedStrategy() if training.strategy == FSDP else training.strategy,
        "precision": training.precision,
        "max_epochs": training.epochs,
        "limit_train_batches": training.max_batches,
        "accumulate_grad_batches": training.accumulate,
        "gradient_clip_val": training.clip or None,
        "callbacks": [stop, *callbacks],
        "plugins": [PlainCheckpoints()],
        "enable_progress_bar": False,  # `Feedback` shows the progress
        "default_root_dir": folder,
        "inference_mode": False,  # attributions need gradients in evaluation too
        "num_sanity_val_steps": 0,
        "use_distributed_sampler": False,  # our batches are already divided among the processes
        "enable_checkpointing": False,  # `Epochs` writes the checkpoints and `metrics.csv`
        "enable_model_summary": False,
        "logger": False,
    }
    with quiet_lightning():
        try:
            return pl.Trainer(**options)
        except (ValueError, TypeError, RuntimeError, MisconfigurationException) as error:
            raise UserError(f"training: {one_line(error)}") from error


def loader(
    encodings: Encodings | WithScores, batches: Any, pad_token_id: int, *, pinned: bool = False
) -> DataLoader[Any]:
    """Batches as dictionaries of tensors; `pinned` ones are copied to a GPU while it computes."""
    return DataLoader(
        encodings,  # type: ignore[arg-type]
        batch_sampler=batches,
        collate_fn=lambda items: collate(items, pad_token_id).tensors(),
        pin_memory=pinned,  # Lightning then copies without waiting
        generator=torch.Generator(),  # its own, as making an iterator draws from the global one otherwise
    )


def run(trainer: pl.Trainer, learner: Learner, train: Any, dev: Any, checkpoint: Path | None) -> None:
    """Fit; Ctrl-C raises KeyboardInterrupt (Lightning would exit the process)."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(learner, train, dev, ckpt_path=None if checkpoint is None else str(checkpoint))
    except SystemExit as error:
        if trainer.interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        if handler is not None and signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def lost_process_said(trainer: pl.Trainer) -> Iterator[None]:
    """If another process of the same training has died, this one cannot go on: a `UserError`."""
    try:
        yield
    except RuntimeError as error:
        if trainer.world_size == 1 or not LOST_PROCESS.search(f"{type(error).__name__} {error}"):
            raise
        raise UserError(
            "training: another process of this training has ended, so this one cannot go on; the same "
            "command with --resume continues from the last checkpoint."
        ) from error


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silence Lightning's advertisements and hints about loader workers."""
    loggers = [logging.getLogger(name) for name in LIGHTNING_LOGS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class Learner(pl.LightningModule):
    """The model as Lightning trains it: the loss is the model's own, the dev score is the task metric."""

    def __init__(self, model: RationaleModel, config: Config, metric: str, learning_rate: float) -> None:
        super().__init__()
        self.model, self.settings, self.metric, self.learning_rate = model, config, metric, learning_rate
        self.answers: list[tuple[AnswerNumbers, AnswerNumbers]] = []  # gold, predicted

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:  # noqa: D102
        # At every batch, as Lightning sets all modules to training mode by itself.
        self.model.train(self.settings.training.dropout)
        if not any(parameter.requires_grad for parameter in self.model.task.parameters()):
            self.model.task.eval()  # trained before, as in L2E: no dropout
        steps = int(self.trainer.estimated_stepping_batches)
        self.model.trained_steps, self.model.progress = self.global_step, self.global_step / max(steps, 1)
        self.model.draws = self._draws(batch_idx)

    def _draws(self, batch: int) -> Draws:
        """Of several processes: from one order for each batch, which a resumed run finds again."""
        if self.trainer.world_size == 1:
            return Draws()
        seed = (self.settings.seed * 1_000_003 + self.current_epoch) * 1_000_003 + batch
        generator = torch.Generator().manual_seed(seed % (1 << 63))
        return Draws(self.global_rank, generator)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> dict[str, Any]:  # noqa: D102
        output = self.model(**batch)
        terms = {"loss": output.loss} | {f"loss/{name}": loss for name, loss in output.losses.items()}
        return {"loss": output.loss, TERMS: {name: term.detach() for name, term in terms.items()}}

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:  # noqa: D102
        step = self.model.step(Batch(**batch))
        gold, predicted = step.labelling.numbers(batch["labels"]), step.labelling.predicted(step.logits)
        self.answers += zip(gold, predicted, strict=True)
        if self.model.config.rationale_selector == "threshold":  # rationales of any size: log their size
            self.log("selected", 100 * step.masks[0].sum() / step.batch.selectable.sum())

    def on_validation_epoch_end(self) -> None:  # noqa: D102
        gold, predicted = zip(*self.answers, strict=True)
        self.answers.clear()
        labels = {} if self.metric == "accuracy" else {"labels": range(len(self.model.config.labels))}
        score = getattr(performance, self.metric)(predicted, gold, **labels)
        self.log(MONITOR, 100 * score, prog_bar=True, rank_zero_only=False)

    def configure_optimizers(self) -> Any:  # noqa: D102
        training = self.settings.training
        optimizer = build_optimizer(self.model, training, self.learning_rate)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = linear_schedule(optimizer, steps=steps, warmup=training.warmup)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
