"""The CPU cores that this process may use, and how many of them a computation takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def usable_cores() -> int:
    """Cores this process may run on: fewer than the machine has under `taskset` or in a job of a cluster."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_each(workers: int) -> int:
    """CPU threads of each worker if the usable cores are divided among them."""
    return max(1, usable_cores() // workers)


@contextmanager
def threads_used(threads: int) -> Iterator[None]:
    """Compute with this many CPU threads, then with as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
