"""Which rows an encoder runs together: the cheapest chunks of rows of similar length, bounded in memory.

Rows are sorted by length and cut where padding would cost more than another chunk. A chunk is padded only to
its own longest row and holds no more tokens than the device takes at once; results are returned in the
original order of the rows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from unirex.models.activations import NUMBER, kept_numbers

ATTENTION = 1024  # tokens in a row at which attention costs as much as the rest of a layer
CHUNK = 4 << 30  # bytes of activations in a chunk of an accelerator
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # bytes that a container may use
_sharing = 1  # processes that train on this machine; see `share_memory`


@dataclass(frozen=True)
class Limits:
    """Limits of a device, in tokens."""

    chunk: int  # padded tokens run at once, at most; a longer row runs alone
    overhead: int  # fixed cost of a chunk, in tokens
    saved: int  # tokens whose activations are kept for the backward pass; others are recomputed there
    matrices: float = 0.0  # what attention adds to a token that is kept, for each token of its row

    def kept(self, tokens: int, width: int) -> float:
        """As how many tokens these count, in rows of a width, if they are kept for the backward pass."""
        return tokens * (1 + self.matrices * width)


@dataclass
class Activations:
    """What is kept for one backward pass so far, by `Limits.kept`, of all encoders and all views."""

    kept: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Rows in chunks, each to be padded to its width."""

    chunks: tuple[tuple[Tensor, int], ...]  # row numbers, width

    @property
    def tokens(self) -> int:
        """Tokens the encoder runs, padding included."""
        return sum(len(rows) * width for rows, width in self.chunks)

    def run(
        self,
        work: Callable[[Tensor, int], tuple[Tensor, ...]],
        limits: Limits,
        *,
        activations: Activations | None = None,
    ) -> tuple[Tensor, ...]:
        """The results of `work(rows, width)` on every chunk, in the order of the rows.

        Beyond `limits.saved` tokens no activations are kept, and the work is recomputed in the backward pass.
        Dropout draws the same numbers both times, so gradients are the same too.

        Args:
            work: gives one or more tensors with a row for each of its rows.
            limits: of the device.
            activations: what is kept already for the same backward pass; these are added to it.
        """
        parts, activations = [], activations or Activations()
        for rows, width in self.chunks:
            added = limits.kept(len(rows) * width, width)
            again = activations.kept + added > limits.saved and torch.is_grad_enabled()
            parts.append(checkpoint(work, rows, width, use_reentrant=False) if again else work(rows, width))
            if not again and any(result.requires_grad for result in parts[-1]):
                activations.kept += added
        back = torch.cat([rows for rows, _ in self.chunks]).argsort()
        return tuple(torch.cat(column)[back] for column in zip(*parts, strict=True))


def plan(lengths: Tensor, limits: Limits, *, apart: int | None = None) -> Plan:
    """The cheapest chunks for rows of these lengths.

    Args:
        lengths: [R].
        limits: of the device.
        apart: rows longer than this run only with rows of the very same length.
    """
    order = lengths.argsort(stable=True)
    ordered = lengths[order].cpu().numpy()
    cuts = _cuts(ordered, limits, apart)
    starts = [0, *cuts[:-1]]
    return Plan(
        tuple(
            (order[start:end], max(1, int(ordered[end - 1]))) for start, end in zip(starts, cuts, strict=True)
        )
    )


def _cuts(lengths: NDArray[np.int64], limits: Limits, apart: int | None) -> list[int]:
    """The ends of the chunks that sorted rows are cut into, such that all together cost least.

    Dynamic programming over the blocks of equal length: `best[n]` is the least cost of the first n blocks,
    `chosen[n]` the block at which their last chunk starts.
    """
    ends = _blocks(lengths, limits)
    starts = np.array([0, *ends])
    best, chosen = np.zeros(len(ends) + 1), np.zeros(len(ends) + 1, dtype=np.int64)
    for last, end in enumerate(ends, 1):
        width = int(lengths[end - 1])
        tokens = (end - starts[:last]) * width  # if the chunk starts at block 0, 1, …, last - 1
        costs = best[:last] + tokens * (1 + width / ATTENTION) + limits.overhead
        costs[: last - 1][tokens[: last - 1] > limits.chunk] = np.inf
        if apart is not None and width > apart:
            costs[lengths[starts[:last]] < width] = np.inf
        chosen[last] = costs.argmin()
        best[last] = costs[chosen[last]]
    cuts, last = [], len(ends)
    while last:
        cuts.append(ends[last - 1])
        last = int(chosen[last])
    return cuts[::-1]


def _blocks(lengths: NDArray[np.int64], limits: Limits) -> list[int]:
    """Ends of the runs of equal length, cut where a run is larger than a chunk."""
    ends: list[int] = []
    start = 0
    for end in [*(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]:
        size = max(1, limits.chunk // max(1, int(lengths[start : start + 1].sum())))
        ends += [*range(start + size, end, size), end] if end > start else []
        start = end
    return ends


def device_limits(encoder: Any) -> Limits:
    """The limits of the device that an encoder is on, for its size."""
    config = encoder.config
    limits = config_limits(config, str(next(encoder.parameters()).device))
    heads = unfused_heads(encoder)
    if not heads:
        return limits
    ratio = kept_numbers(config.hidden_size, heads, 1) / kept_numbers(config.hidden_size)
    return replace(limits, matrices=ratio - 1)


def config_limits(config: Any, device: str) -> Limits:
    """The limits of a device for an encoder of this configuration, with fused attention."""
    layers = getattr(config, "num_hidden_layers", 12)
    return _limits(device, int(NUMBER * layers * kept_numbers(config.hidden_size)), _sharing)


def unfused_heads(encoder: Any) -> int:
    """Heads of attention whose matrices are kept for the backward pass; 0 where a fused kernel keeps none."""
    config, device = encoder.config, next(encoder.parameters()).device.type
    keeps = keeps_matrices(config, device, dropout=encoder.training)
    return getattr(config, "num_attention_heads", 12) if keeps else 0


def keeps_matrices(config: Any, device: str, *, dropout: bool) -> bool:
    """Whether attention keeps its matrices for the backward pass, as no fused kernel can be used.

    There is none for attention in single steps (`eager`), and on a CPU none with dropout of its own.
    """
    shares = [getattr(config, name, 0.0) for name in ("attention_probs_dropout_prob", "attention_dropout")]
    single = getattr(config, "_attn_implementation", None) == "eager"
    return single or (dropout and any(shares) and device == "cpu")


@cache
def _limits(device: str, token: int, sharing: int = 1) -> Limits:
    """Measured on two CPU cores; for other devices, from the cost of starting kernels.

    The chunks do not depend on the memory of the machine, as dropout draws its numbers chunk by chunk: equal
    seeds must give equal results. What is recomputed draws the same numbers again, so that may depend on it.
    """
    saved = memory(device) // 4 // token
    if torch.device(device).type == "cpu":
        return Limits(chunk=4096, overhead=128, saved=max(4096, saved // sharing))
    return Limits(chunk=min(max(4096, CHUNK // token), 1 << 17), overhead=2048, saved=max(8192, saved))


@contextmanager
def share_memory(processes: int) -> Iterator[None]:
    """Keep activations in this share of the machine's memory; a GPU is not shared."""
    global _sharing
    before, _sharing = _sharing, _sharing * processes
    try:
        yield
    finally:
        _sharing = before


def memory(device: str) -> int:
    """Bytes of memory a device has."""
    if torch.device(device).type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system reports it
        whole = 8 << 30
    try:
        return min(whole, int(CONTAINER.read_text()))
    except (OSError, ValueError):  # there is none, or it is "max"
        return whole


def peak_memory(device: str = "cpu") -> int:
    """Bytes held at most so far: on a GPU by its tensors, else by this process; 0 if the system does not say.

    Linux says it in `status`; its `getrusage` also counts what the process that started this one held.
    """
    if torch.device(device).type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    status = Path("/proc/self/status")
    for line in status.read_text("ascii").splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts in bytes, others in KiB
