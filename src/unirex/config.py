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


Removed = Literal["attention_mask", "delete", "mask_token", "pad_token", "previous_token"]
Variant = Literal["original", "unirex"]


@dataclass(frozen=True)
class SGT:
    """Saliency-guided training.

    Args:
        variant: as the UNIREX paper runs it, or as its authors published it (SPEC C4).
    """

    variant: Variant = "unirex"


@dataclass(frozen=True)
class L2E:
    """Learning to explain: a student imitates an attribution algorithm.

    Args:
        variant: original: explain the classifier that was taught from; unirex: another one, trained beside
            the student (SPEC A11 D-13).
        teacher: the attribution algorithm.
        teacher_options: its options.
    """

    variant: Variant = "original"
    teacher: str = "integrated-gradients"
    teacher_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fresh:
    """FRESH: predict from rationales that another model extracted.

    Args:
        variant: original: a tagger learns the rationales of a support model (SPEC C1); unirex: the support
            model's attributions are the rationales, in training and after.
        saliency: how the support model is explained; fresh-p asks people instead.
        saliency_options: its options.
    """

    variant: Variant = "original"
    saliency: str = "integrated-gradients"
    saliency_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class A2R:
    """A2R: a hard and a soft predictor that must agree.

    Args:
        variant: as its authors published it (SPEC C2), or as the UNIREX paper runs it (SPEC A11 D-10).
    """

    variant: Variant = "original"


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
        training_budgets: other sizes to train with; null: the same.
        truncation: what is read of a text longer than that: its head, its tail, both, or all in windows.
        stride: how far windows are apart in tokens; null: three quarters of what a window shows.
        rationale_segments: numbers of the texts that can carry a rationale; null: what the dataset says.
        separators: may separator tokens be part of a rationale? (The released code: yes.)
        predict_from: the text, or only its rationale of the largest budget (select-predict).
        rationale_selector: with predict_from=rationale: the highest scores, the best run of tokens, or every
            score above 0 whatever the budget.
        selector: how the choice of tokens passes gradients to the extractor: not at all, straight through,
            or so with Gumbel noise on the scores in training.
        temperature: of straight_through and gumbel: the chance to be kept is sigmoid(score / temperature).
        removal: how tokens are taken out in training.
        eval_removal: how tokens are taken out in evaluation.
        class_weights: one weight per label, in label order, for every cross-entropy.
        objectives: the terms of the loss.
        training: optimiser, schedule, hardware.
        sgt: of methods sgt and sgt-p.
        l2e: of method l2e.
        fresh: of methods fresh and fresh-p.
        a2r: of methods a2r and a2r-p.
        seed: of weights, shuffling and dropout.
    """

    encoder: str = "minilm"
    pooling: Literal["auto", "cls", "pooler", "mean"] = "auto"
    max_length: int | None = None
    extractor: str = "shared-lm"
    extractor_options: dict[str, Any] = field(default_factory=dict)
    budgets: tuple[float, ...] = (1, 5, 10, 20, 50)  # SPEC 0
    budgets_per_step: int | None = None
    training_budgets: tuple[float, ...] | None = None
    truncation: Literal["head", "tail", "head_tail", "windows", "gold_aware"] = "head"  # SPEC A2.6
    stride: int | None = None
    rationale_segments: tuple[int, ...] | None = None
    separators: bool = False  # SPEC A3
    predict_from: Literal["text", "rationale"] = "text"
    rationale_selector: Literal["top-k", "best-span", "threshold"] = "top-k"
    selector: Literal["detached", "straight_through", "gumbel"] = "detached"
    temperature: float = 1.0
    removal: Removed = "attention_mask"  # SPEC A4
    eval_removal: Removed = "delete"  # SPEC A4
    class_weights: tuple[float, ...] | None = None
    objectives: Objectives = field(default_factory=Objectives)
    training: Training = field(default_factory=Training)
    sgt: SGT = field(default_factory=SGT)
    l2e: L2E = field(default_factory=L2E)
    fresh: Fresh = field(default_factory=Fresh)
    a2r: A2R = field(default_factory=A2R)
    seed: int = 0
