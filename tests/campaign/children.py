"""Functions and commands in forked processes, which start in milliseconds: everything is imported before."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
CRASHED = 70  # exit code of a process that ended with an exception
FILE_OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "shutil.move")


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said."""

    code: int | None  # exit code; negative: of the signal; None: it took too long and was killed
    out: str
    err: str
    operations: int = 0


@dataclass(frozen=True)
class Circumstances:
    """What a process has to cope with.

    Args:
        environment: variables that it has beside those of this process.
        file_size: bytes that fit into a file before the disk is full.
        memory: bytes that it can have at most.
        kill_at: number of the file operation below `watched` at which it is killed.
        watched: the folder whose operations are counted.
    """

    environment: Mapping[str, str] | None = None
    file_size: int | None = None
    memory: int | None = None
    kill_at: int | None = None
    watched: Path | None = None

    def apply(self) -> None:
        os.environ.update(self.environment or {})
        for name, limit in (("RLIMIT_FSIZE", self.file_size), ("RLIMIT_AS", self.memory)):
            if limit is not None:
                resource.setrlimit(getattr(resource, name), (limit, limit))
        if self.watched is not None:
            sys.addaudithook(self._count_operations(str(self.watched)))

    def _count_operations(self, folder: str) -> Callable[[str, tuple], None]:
        done = 0

        def operation(event: str, arguments: tuple) -> None:
            nonlocal done
            if event not in FILE_OPERATIONS or not str(arguments[0]).startswith(folder):
                return
            done += 1
            os.environ["CAMPAIGN_OPERATIONS"] = str(done)
            if done == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        return operation


class Child:
    """A function in a process of its own; what it returns is the exit code."""

    def __init__(self, call: Callable[[], int], circumstances: Circumstances | None = None) -> None:
        _leave_threads()
        pipes = [os.pipe() for _ in range(3)]  # not files: those a full disk would silence
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(call, circumstances or Circumstances(), [write for _, write in pipes])
        with suppress(OSError):  # the child does the same; whichever comes first
            os.setpgid(self.pid, self.pid)
        self.started = time.monotonic()
        for _, write in pipes:
            os.close(write)
        self.said = {read: b"" for read, _ in pipes}
        self.code: int | None = None

    def kill(self) -> None:
        """End it at once, with all processes it has started."""
        if self.code is None:
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self, limit: float) -> Ended:
        """How it ends within these seconds of its start; it is killed after them."""
        late = not self._listen(self.started + limit)
        if late:
            self.kill()
            self._listen(None)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        out, err, operations = (text.decode("utf-8", "backslashreplace") for text in self.said.values())
        return Ended(None if late else self.code, out, err, int(operations or 0))

    def _listen(self, until: float | None) -> bool:
        """Collect what is said until all pipes are closed; whether they are."""
        open_pipes = set(self.said)
        while open_pipes:
            patience = None if until is None else max(until - time.monotonic(), 0)
            ready = select.select(open_pipes, [], [], patience)[0]
            if not ready:
                return False
            for pipe in ready:
                text = os.read(pipe, 1 << 16)
                self.said[pipe] += text
                if not text:
                    os.close(pipe)
                    open_pipes.discard(pipe)
        return True


def _leave_threads() -> None:
    """Work in one thread from here on: others would be missing in a process that is forked from this one."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _become(call: Callable[[], int], circumstances: Circumstances, pipes: list[int]) -> None:
    """Be the new process until its end."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    os.dup2(pipes[0], 1)
    os.dup2(pipes[1], 2)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    code = CRASHED
    try:
        circumstances.apply()
        code = call()
    except BaseException:
        traceback.print_exc()
    finally:
        os.write(pipes[2], os.environ.get("CAMPAIGN_OPERATIONS", "0").encode())
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def command(*arguments: object) -> Callable[[], int]:
    """A call of the command line."""

    def call() -> int:
        from unirex.cli import main

        return main([str(argument) for argument in arguments])

    return call


def run(call: Callable[[], int], limit: float = 120, circumstances: Circumstances | None = None) -> Ended:
    """How a function ends in a process of its own."""
    return Child(call, circumstances).wait(limit)


def check_refused(ended: Ended) -> str:
    """The one line of a command that refuses what it was given."""
    lines = [line for line in ended.err.splitlines() if line.startswith("unirex: error: ")]
    assert ended.code == 2, f"exit code {ended.code}: {ended.out}\n{ended.err}"
    assert len(lines) == 1 and ended.err.strip().endswith(lines[0]), f"more than a line: {ended.err}"
    assert "Traceback" not in ended.err, ended.err
    return lines[0]


def check_succeeded(ended: Ended) -> str:
    """What a command prints that ends well."""
    assert ended.code == 0, f"exit code {ended.code}: {ended.out}\n{ended.err}"
    return ended.out
