"""Training in two processes of which one is killed: the other ends with a line, and training can go on."""

from __future__ import annotations

import random
import socket
import time
from pathlib import Path

from campaign.children import Child, Circumstances, Ended, check_succeeded, command
from campaign.stock import TRAINING

LIMIT = 900
PATIENCE = 180  # seconds within which the process that is left must end
TOGETHER = ("--training.devices", 2, "--training.accelerator", "cpu", "--training.strategy", "ddp")


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Kill one of two processes once training has begun, then resume with two or with one."""
    processes = _start(folder, stock)
    victim = chance.randrange(2)
    _wait_for(folder / "run" / "metrics.csv", processes)
    time.sleep(chance.uniform(0, 2))
    processes[victim].kill()
    ended = [process.wait(LIMIT / 3) for process in processes]
    left = ended[1 - victim]
    if ended[victim].code == 0:
        return "ended before"
    if left.code != 0:
        _check_line(left)
    together = chance.random() < 0.5
    if together:
        for process in _start(folder, stock, "--resume"):
            check_succeeded(process.wait(LIMIT))
    else:
        check_succeeded(Child(_train(folder, stock, "--resume")).wait(LIMIT))
    assert (folder / "run" / "model.safetensors").exists()
    return f"process {victim} killed, resumed with {2 if together else 1}"


def _train(folder: Path, stock: Path, *more: object):
    data, encoder = stock / "data.jsonl", stock / "learner"
    shared = ("--data", data, "--encoder", encoder, "--pooling", "mean", "--summary", 0, *TRAINING)
    return command("train", "--out", folder / "run", *shared, "--training.epochs", 6, *more)


def _start(folder: Path, stock: Path, *more: object) -> list[Child]:
    """Two processes that find each other, as a launcher starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "NODE_RANK": "0"}
    return [
        Child(_train(folder, stock, *TOGETHER, *more), Circumstances(shared | {"LOCAL_RANK": rank}))
        for rank in ("0", "1")
    ]


def _wait_for(path: Path, processes: list[Child]) -> None:
    """Wait until the first epoch is over."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"training did not begin: {[process.wait(0) for process in processes]}"
        time.sleep(0.05)


def _check_line(ended: Ended) -> None:
    """The process that is left says in a line that another one is gone."""
    assert ended.code == 2, f"exit code {ended.code}\n{ended.out}\n{ended.err}"
    last = ended.err.strip().splitlines()[-1]
    assert last.startswith("unirex: error: ") and "Traceback" not in ended.err, ended.err
