"""The processes of one training: how many there are, which of them this one is, and who started them.

`ddp` and `fsdp` start the command again in every process; `spawn` starts fresh interpreters that this process
watches (`methods/spawned.py`); torchrun and Ray Train start all of them and say so in the environment.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from unirex.config import Training
from unirex.errors import UserError

SPAWN = "spawn"
FSDP = "fsdp"
COPIES = ("_spawn", "_fork", "_notebook")  # ends of Lightning's strategies that copy this process


@dataclass(frozen=True)
class Processes:
    """How many processes train together."""

    each: int | str  # on a node; text where Lightning counts the devices
    nodes: int = 1

    @property
    def several(self) -> bool:
        """Whether there is more than one, or may be."""
        return self.nodes > 1 or self.each not in (1, "1")


def launched() -> Processes | None:
    """The processes a launcher has started, as torchrun and Ray Train describe them; None without one."""
    total, local = os.environ.get("WORLD_SIZE"), os.environ.get("LOCAL_WORLD_SIZE")
    if total is None or local is None:
        return None
    if not (total.isdecimal() and local.isdecimal()) or not 1 <= int(local) <= int(total):
        raise UserError(f"WORLD_SIZE {total} and LOCAL_WORLD_SIZE {local} of the environment are no sizes.")
    if int(total) % int(local):
        raise UserError(f"{total} processes, {local} of them on this node: every node needs as many.")
    return Processes(int(local), int(total) // int(local))


def processes(training: Training) -> Processes:
    """The processes of a training: those a launcher has started, else what the settings ask for."""
    started, asked = launched(), Processes(training.devices, training.nodes)
    if started is None:
        return asked
    for name, given, found in (("devices", asked.each, started.each), ("nodes", asked.nodes, started.nodes)):
        if given not in (1, "1", "auto") and str(given) != str(found):
            raise UserError(
                f"training.{name} {given}: the launcher has started {found}; leave the setting out."
            )
    return started


def is_first_process() -> bool:
    """Whether this process writes files: under data parallelism every process runs the same script."""
    if "RANK" in os.environ:  # of all nodes: torchrun, Ray Train
        return int(os.environ["RANK"]) == 0
    return all(int(os.environ.get(name, 0)) == 0 for name in ("NODE_RANK", "LOCAL_RANK"))


def check_strategy(training: Training) -> None:
    """Refuse strategies that cannot share a run."""
    if training.strategy.endswith(COPIES):
        raise UserError(
            f"training.strategy {training.strategy}: its processes would be copies of this one, which cannot "
            "share a run; use spawn, which starts fresh ones, or ddp, which starts the command in every one."
        )
    if training.strategy == SPAWN and launched() is not None:
        raise UserError("training.strategy spawn: a launcher has started the processes; use ddp or fsdp.")
    if training.strategy == SPAWN and training.nodes > 1:
        raise UserError("training.strategy spawn is for one node; start several by torchrun (docs/scale.md).")
    if training.strategy == SPAWN:
        spawned_devices(training)


def spawned_devices(training: Training) -> int:
    """How many processes `spawn` starts."""
    number = str(training.devices)
    if not number.isdecimal() or int(number) < 1:
        raise UserError(
            f"training.devices {training.devices}: with strategy spawn give a number of processes."
        )
    return int(number)
