"""Worker processes: how they are started, what they share, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from typing import Any

from unirex.errors import UserError
from unirex.report.page import count

PATIENCE = 2.0  # seconds that a process which is killed has to be gone
UNGUARDED = (
    "every worker process ended while starting. Workers read the script that starts them again: put what it "
    "does below `if __name__ == '__main__':`, or use one worker. Without a script: is there enough memory?"
)


def check_processes(workers: int, threads: int | None) -> None:
    """Refuse numbers that no machine has."""
    if workers < 1:
        raise UserError(f"--workers {workers}: give at least 1.")
    if threads is not None and threads < 1:
        raise UserError(f"--threads {threads}: give at least 1.")


def processes(workers: int, threads: int) -> str:
    """Who runs the cells, in words."""
    return f"{count(workers, 'worker')} of {count(threads, 'thread')}"


@contextmanager
def worker_pool(workers: int, threads: int, *, first: bool = False) -> Iterator[Executor]:
    """Worker processes with a share of the cores each; they end when this process ends, however it does.

    It is an error if the `first` ones end before they begin: no cell is to blame.
    """
    context = worker_context("unirex.system", "unirex.training.train")
    begun = context.RawValue("b", 0)  # without a lock, which a killed worker could hold
    arguments = (threads, dict(os.environ), begun)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=become_worker, initargs=arguments)
    # All at once: the death of one that is started later is not noticed before another cell ends.
    pool._safe_to_dynamically_spawn_children = False  # type: ignore[attr-defined]
    started = pool._processes  # the pool forgets them when it breaks
    try:
        yield pool
        if pool._broken:
            _kill(started)  # the pool only asks them to end, which a training does after its batch
    except BaseException:
        _kill(started)  # at Ctrl-C: what they were doing is resumed next time
        _end_fork_server()
        raise
    finally:
        broken = pool._broken
        pool.shutdown(wait=False, cancel_futures=True)
    if first and broken and not begun.value:
        raise UserError(UNGUARDED)


def _kill(processes: Mapping[int, Any]) -> None:
    """End processes at once, and wait until they have let go of their memory and locks."""
    for process in list(processes.values()):
        process.kill()
    for process in list(processes.values()):
        with suppress(OSError, ValueError):
            process.join(PATIENCE)


def worker_context(*imported: str) -> Any:
    """How worker processes are started: anew, or forked from a new process that has only imported these.

    Copies of this process could not use torch's threads. A process that has looked for CUDA devices, as
    importing does, cannot be forked either, and on macOS none that has loaded the system's libraries.
    """
    import torch

    if sys.platform != "linux" or torch.backends.cuda.is_built():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(imported))
    with _interrupts_ignored():  # by the process that is started, too: importing would end in a traceback
        forkserver.ensure_running()
    return context


def _end_fork_server() -> None:
    """End what workers are forked from; still importing, it would then fork for a process that is gone."""
    pid = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl-C does nothing meanwhile; only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def become_worker(threads: int, environment: Mapping[str, str], begun: Any = None) -> None:
    """Set a new process up as a worker: its threads, no Ctrl-C, and no longer a life than its parent's.

    Args:
        threads: CPU threads it computes with.
        environment: of the parent now; what it is forked from may be older.
        begun: a shared value that is set, so that the parent knows.
    """
    if begun is not None:
        begun.value = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    os.environ.clear()
    os.environ.update(environment)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):  # read when libraries load
        os.environ[name] = str(threads)
    import torch

    torch.set_num_threads(threads)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
