"""Optimisers and the learning-rate schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedModel

from unirex.config import Training


def build_optimizer(model: nn.Module, training: Training, learning_rate: float) -> Optimizer:
    """The optimiser over everything trainable; biases and norms are never decayed."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": training.weight_decay},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    if training.head_rate != 1:
        parts = [part for part in model.modules() if isinstance(part, PreTrainedModel) and part is not model]
        inside = {id(parameter) for part in parts for parameter in part.parameters()}
        groups = [
            {**group, "params": [p for p in group["params"] if (id(p) in inside) == encoder], "lr": rate}
            for group in groups
            for encoder, rate in ((True, learning_rate), (False, learning_rate * training.head_rate))
        ]
    if training.optimizer == "unirex":
        return UncorrectedAdamW(groups, lr=learning_rate)
    # Fused: one pass over memory instead of several; it does not support fp16 scaling with clipping.
    return AdamW(groups, lr=learning_rate, fused=training.precision != "16-mixed")


def linear_schedule(optimizer: Optimizer, *, steps: int, warmup: float) -> LambdaLR:
    """A schedule that rises linearly over the warm-up, then falls linearly to 0."""
    rising = max(1, round(steps * warmup))

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / rising if warmup else 1.0
        return max(0.0, (steps - step) / max(1, steps - rising))

    return LambdaLR(optimizer, factor)


class UncorrectedAdamW(Optimizer):
    """Adam with decoupled weight decay and no bias correction, as in BERT and the paper's code."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.98),  # Paper: its code's; torch's own default is (0.9, 0.999)
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: torch.Tensor, gradient: torch.Tensor, group: dict[str, Any]) -> None:
        state, (beta1, beta2) = self.state[parameter], group["betas"]
        if not state:
            state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["mean"].lerp_(gradient, 1 - beta1)
        state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.addcdiv_(state["mean"], state["square"].sqrt().add_(group["eps"]), value=-group["lr"])
