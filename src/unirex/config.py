"""Every setting of a system and its training, with its default and where the default comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from unirex.objectives import Objectives


@dataclass(frozen=True)
class Training:
    """How a system is trained.

    Args:
        epochs: at most so many passes over the training data.
        batch_size: texts per optimiser step and device.
        max_batches: at most so many batches an epoch, for a quick trial; null: all.
        accumulate: batches per optimiser step.
        learning_rate: null: what suits the encoder (1e-4 for minilm, else 2e-5).
        weight_decay: for all but biases and norms.
        warmup: share of the steps over which the learning rate rises; then it falls to 0.
        clip: largest gradient norm; 0 is no limit.
        metric: dev score that picks the best epoch; auto is the dataset's own.
        gold_fraction: per cent of the training examples that keep their gold rationale; the others lose it.
        gold_factor: with a gold_fraction below 100: one in so many examples of a batch is drawn from those
            with gold (the paper's beta); the others are each seen once an epoch.
        gold_seed: draws which examples keep their gold; null: the seed of the run.
        patience: stop after so many epochs without a better dev score.
        optimizer: `adamw`, or `unirex` as the released code (beta2 .98, no bias correction).
        dropout: false switches it off, as the released code did by mistake (SPEC A11 D-2).
        precision: passed to Lightning.
        accelerator: passed to Lightning.
        devices: passed to Lightning.
        strategy: passed to Lightning.
    """

    epochs: int = 10  # SPEC A7
    batch_size: int = 32  # SPEC A7
    max_batches: int | None = None
    accumulate: int = 1
    learning_rate: float | None = None
    weight_decay: float = 0.0  # SPEC A7
    warmup: float = 0.1  # SPEC A7
    clip: float = 0.0  # SPEC A7
    metric: Literal["auto", "accuracy", "macro_f1", "binary_f1"] = "auto"
    gold_fraction: float = 100.0  # SPEC A7
    gold_factor: float = 2.0  # SPEC A7
    gold_seed: int | None = None
    patience: int = 5  # SPEC A7
    optimizer: Literal["adamw", "unirex"] = "adamw"
    dropout: bool = True
    precision: str = "32-true"
    accelerator: str = "auto"
    devices: int | str = 1
    strategy: str = "auto"


@dataclass(frozen=True)
class Config:
    """A system: what it is made of and what it is trained for. A method is a small diff of this.

    Args:
        encoder: `minilm`, a Hub id or a folder.
        pooling: auto is mean for minilm, else the first token's state.
        max_length: tokens the encoder reads at once; null: as many as it can take, at most 4096.
        extractor: who scores the tokens; see `unirex list extractors`.
        extractor_options: its options, such as `steps` or `head`.
        budgets: sizes of the rationale, in per cent of the tokens.
        budgets_per_step: train on so many of them, drawn anew each step; null: on all.
        truncation: what is read of a text longer than that: its head, its tail, both, or all in windows.
        stride: how far windows are apart in tokens; null: three quarters of what a window shows.
        rationale_segments: numbers of the texts that can carry a rationale; null: what the dataset says.
        separators: may separator tokens be part of a rationale? (The released code: yes.)
        removal: how tokens are taken out in training.
        eval_removal: how tokens are taken out in evaluation.
        class_weights: one weight per label, in label order, for every cross-entropy.
        objectives: the terms of the loss.
        training: optimiser, schedule, hardware.
        seed: of weights, shuffling and dropout.
    """

    encoder: str = "minilm"
    pooling: Literal["auto", "cls", "pooler", "mean"] = "auto"
    max_length: int | None = None
    extractor: str = "shared-lm"
    extractor_options: dict[str, Any] = field(default_factory=dict)
    budgets: tuple[float, ...] = (1, 5, 10, 20, 50)  # SPEC 0
    budgets_per_step: int | None = None
    truncation: Literal["head", "tail", "head_tail", "windows", "gold_aware"] = "head"  # SPEC A2.6
    stride: int | None = None
    rationale_segments: tuple[int, ...] | None = None
    separators: bool = False  # SPEC A3
    removal: Literal["attention_mask", "delete", "mask_token", "pad_token"] = "attention_mask"  # SPEC A4
    eval_removal: Literal["attention_mask", "delete", "mask_token", "pad_token"] = "delete"  # SPEC A4
    class_weights: tuple[float, ...] | None = None
    objectives: Objectives = field(default_factory=Objectives)
    training: Training = field(default_factory=Training)
    seed: int = 0
