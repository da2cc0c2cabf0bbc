"""Sharded data parallelism: weights, gradients and optimiser state divided among the processes between steps.

FSDP2 (`fully_shard`) on any device torch can gather on, CPUs over gloo included. The learner is one unit: its
weights are gathered once before a step and its gradients divided once after. Sharding every layer by itself
would need less memory, but it exchanges weights at every call of a layer, and processes would wait for each
other for ever: the planner (`models/plan.py`) runs each process's texts in a number of chunks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer

STEPS = ("training_step", "validation_step")  # what runs with the whole weights


class ShardedStrategy(DDPStrategy):
    """As `ddp`, with each process keeping its part of the weights and of the optimiser's state.

    Checkpoints hold whole tensors under the names a single process gives them, so a run may go on with
    another number of processes and another strategy.
    """

    def configure_ddp(self) -> None:
        """Divide the learner's weights, equal everywhere, among the processes."""
        learner: Any = self.model
        for tensor in (*learner.parameters(), *learner.buffers()):
            torch.distributed.broadcast(tensor.data, src=0)
        fully_shard(learner, mesh=init_device_mesh(self.root_device.type, (self.world_size,)))
        for name in STEPS:
            register_fsdp_forward_method(learner, name)

    def teardown(self) -> None:
        """End without moving the divided learner to the CPU, which fails if a step was interrupted."""
        learner, self._lightning_module = self._lightning_module, None
        super().teardown()
        self._lightning_module = learner

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """The whole weights, in every process."""
        return whole_state(super().lightning_module_state_dict())

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The whole state of the optimiser, in every process."""
        return whole_state(optimizer.state_dict())

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Give every process its part of the state in a checkpoint."""
        super().load_optimizer_state_dict(checkpoint)
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                divide_like(parameter, state)


def whole_state(state: Any) -> Any:
    """A nested structure with every divided tensor whole; all processes must ask together."""
    if isinstance(state, DTensor):
        return state.full_tensor().detach()
    if isinstance(state, Mapping):
        return {key: whole_state(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(whole_state(value) for value in state)
    return state


def divide_like(parameter: Tensor, state: dict[str, Any]) -> None:
    """Divide the tensors of an optimiser's state that have the shape of their divided parameter."""
    if not isinstance(parameter, DTensor):
        return
    for name, value in state.items():
        if isinstance(value, Tensor) and not isinstance(value, DTensor) and value.shape == parameter.shape:
            state[name] = distribute_tensor(value, parameter.device_mesh, parameter.placements)


def make_whole(module: nn.Module) -> None:
    """Replace divided weights by whole ones without values, to be loaded; no process needs another for it."""
    divided = any(isinstance(parameter, DTensor) for parameter in module.parameters())
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            if isinstance(parameter, DTensor):
                empty = torch.empty(parameter.shape, dtype=parameter.dtype, device=parameter.device)
                part.register_parameter(name, nn.Parameter(empty, parameter.requires_grad))
                part._load_state_dict_post_hooks.clear()  # those of `fully_shard`, which expect a part
    if divided:
        module.cpu()  # as a trainer leaves a module that is not divided
