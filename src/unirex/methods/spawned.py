"""`training.strategy spawn`: one training in fresh interpreters that this process starts and watches.

Nothing of this process is copied: the settings go into a JSON file and the data into Arrow files of a
temporary folder, where every process (`python -m unirex.methods FOLDER`) reads them. So it works in notebooks
and in scripts that are not written to be started several times. A process that dies ends the others at once;
if this one dies, all end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.config import Config, plain
from unirex.data.store import write_splits
from unirex.errors import UserError
from unirex.files import write_file
from unirex.training.processes import spawned_devices

if TYPE_CHECKING:
    from unirex.data.example import Splits
    from unirex.system import System

REQUEST = "request.json"
POLL = 0.1  # seconds
GRACE = 5.0  # seconds the other processes have to end by themselves, and to say why


def fit_spawned(data: Splits, config: Config, out: Path, **options: Any) -> System:
    """Train in as many processes as `training.devices` says; the system is read from the run's folder."""
    from unirex.system import load

    ddp = replace(config, training=replace(config.training, strategy="ddp"))
    request = {"config": plain(ddp), "out": str(out.resolve()), "origin": dict(data.origin), **options}
    with tempfile.TemporaryDirectory(prefix="unirex-spawn-") as folder:
        write_splits(Path(folder), data)
        write_file(Path(folder) / REQUEST, json.dumps(request))
        watch(start(Path(folder), spawned_devices(config.training)), Path(folder))
    return load(out)


def start(folder: Path, number: int) -> list[subprocess.Popen[bytes]]:
    """The processes, which find each other by the environment, as those of any launcher do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(number), "NODE_RANK": "0"}
    command = [sys.executable, "-m", "unirex.methods", str(folder)]
    # Their standard input ends when this process does, however it ends.
    return [
        subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | shared | {"LOCAL_RANK": str(rank)})
        for rank in range(number)
    ]


def watch(processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait for all; if one fails, end the others and raise what it said, or how it ended."""
    try:
        while None in (codes := [process.poll() for process in processes]):
            if any(codes):
                break
            time.sleep(POLL)
        failed = next((rank for rank, code in enumerate(codes) if code), None)
        if failed is not None:
            _wait(processes)
            raise UserError(_reason(folder, failed, processes[failed].returncode, len(processes)))
    except KeyboardInterrupt:  # which they get as well, and leave a checkpoint
        _wait(processes)
        raise
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _wait(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + GRACE
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(POLL)


def _reason(folder: Path, rank: int, code: int, number: int) -> str:
    """What the process said before it ended, or which signal ended it."""
    said = error_file(folder, rank)
    if said.is_file():
        return said.read_text("utf-8")
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return (
        f"training: process {rank} of {number} was ended {how}, so the others were too; the same command "
        "with --resume continues from the last checkpoint."
    )


def error_file(folder: Path, rank: int | str) -> Path:
    """Where a process leaves the line about a mistake of the user's."""
    return folder / f"error-{rank}.txt"
