"""The engine Ray: shards run by actors, cells of studies by tasks, on one machine or on a cluster.

Actors and tasks of Ray's core, not its datasets: a shard is written by the actor that ran it, so nothing but
actors asks for cores, and a pool that has all of them cannot wait for readers and writers that have none.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from unirex.errors import UserError, one_line
from unirex.experiments.cells import Cell, Needs
from unirex.experiments.engine import KilledError
from unirex.scale.cores import threads_used
from unirex.scale.crew import (
    Advanced,
    Crew,
    Died,
    Done,
    Event,
    Failed,
    Loaded,
    Ready,
    RunShard,
    Work,
)
from unirex.scale.shards import Shard

RETRIES = 3  # of a cell whose process or machine dies
ADDRESS = "RAY_ADDRESS"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@dataclass(frozen=True)
class Session:
    """A Ray cluster that this process is connected to."""

    ray: Any

    def room(self, workers: int | None, *, cores: int, gpus: int = 0) -> int:
        """How many workers with so many cores and GPUs each there is room for; at most `workers`."""
        nodes = self._nodes()
        if gpus and not any(node.get("GPU", 0) >= gpus for node in nodes):
            raise UserError("--device cuda: no machine of the Ray cluster has a GPU; leave it out.")
        wanted = {"CPU": cores, "GPU": gpus}
        rooms = [min(int(node.get(kind, 0)) // n for kind, n in wanted.items() if n) for node in nodes]
        if not (room := sum(rooms)):
            raise UserError(
                f"--threads {cores}: no machine of the Ray cluster has that many cores; give fewer."
            )
        return min(room, workers or room)

    def check(self, needs: Needs, *, cores: int) -> None:
        """Refuse what no machine has: Ray would wait for one for ever."""
        asked = {"CPU": cores, "memory": needs.memory, "GPU": needs.gpus}
        for node in self._nodes():
            if all(node.get(name, 0) >= number for name, number in asked.items()):
                return
        memory = f"{needs.memory / 2**30:.0f} GiB of memory" + f" and {needs.gpus} GPUs" * bool(needs.gpus)
        raise UserError(f"no machine of the Ray cluster has {cores} cores and {memory} for a cell.")

    def has_gpus(self) -> bool:
        """Whether any machine has a GPU."""
        return any(node.get("GPU", 0) for node in self._nodes())

    def _nodes(self) -> list[dict[str, float]]:
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]


@contextmanager
def ray_session(address: str | None = None, *, cores: int | None = None) -> Iterator[Session]:
    """A connection to the cluster at an address or at RAY_ADDRESS; else one of `cores` cores is started here.

    A connection that there is already is used and left as it is.
    """
    ray = _ray()
    if ray.is_initialized():
        yield Session(ray)
        return
    address = address or os.environ.get(ADDRESS)
    here = {"num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(
            address=address or "local",
            logging_level=logging.ERROR,
            log_to_driver=False,
            **({} if address else here),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"--address {address}: no Ray cluster answers there ({one_line(error)}).") from error
    try:
        yield Session(ray)
    finally:
        ray.shutdown()


def _ray() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ImportError as error:
        raise UserError("--engine ray needs Ray: pip install 'unirex[ray]'") from error


class _Worker:
    """An actor: one model, one shard at a time."""

    def __init__(self, work: Work, threads: int) -> None:
        self.work, self.threads = work, threads
        self.run: RunShard | None = None

    def load(self) -> tuple[str, Any]:
        """Load the model; not in `__init__`, where an error would end the actor without a word."""
        try:
            opened = self.work.open()
            self.run = opened.run
            return "ready", opened.memory
        except Exception as error:
            return "failed", _failure(error)

    def shard(self, shard: Shard) -> tuple[str, Any]:
        """The outcome of a shard, or what went wrong."""
        try:
            run = self.run or self.work.open().run
            with threads_used(self.threads):
                return "done", run(shard, lambda _: None)
        except Exception as error:
            return "failed", _failure(error)


def _failure(error: Exception) -> tuple[str, bool]:
    mistake = isinstance(error, UserError)
    return (str(error) if mistake else traceback.format_exc()), mistake


class Actors(Crew):
    """Actors of a Ray cluster. Texts are counted when their shard is finished."""

    def __init__(self, session: Session, work: Work, *, threads: int, gpus: int = 0) -> None:
        self.ray, self.work, self.threads, self.gpus = session.ray, work, threads, gpus
        self.pending: dict[Any, Any] = {}  # what an actor was asked → the actor
        self.actors: list[Any] = []

    def start(self) -> None:
        """Ask for an actor; it may have to wait for room, and shards go to others meanwhile."""
        actors = self.ray.remote(_Worker).options(num_cpus=self.threads, num_gpus=self.gpus)
        actor = actors.remote(self.work, self.threads)
        self.actors.append(actor)
        self.pending[actor.load.remote()] = actor

    def give(self, worker: Hashable, shard: Shard) -> None:
        """Send the shard."""
        actor: Any = worker
        self.pending[actor.shard.remote(shard)] = actor

    def events(self, advanced: Advanced) -> Iterator[Event]:
        """What has happened; waits until something has."""
        finished, _ = self.ray.wait(list(self.pending), num_returns=1)
        for reference in finished:
            actor = self.pending.pop(reference)
            try:
                kind, news = self.ray.get(reference)
            except self.ray.exceptions.RayError as error:  # its process or its machine is gone
                yield Died(actor, one_line(error))
                continue
            if kind == "failed":
                yield Failed(actor, *news)
            elif kind == "done":
                yield Done(actor, news)
            else:
                yield Loaded(actor, news)
                yield Ready(actor)

    def __exit__(self, *_: object) -> None:
        for actor in self.actors:
            self.ray.kill(actor)


class CellTasks(Executor):
    """Runs cells of a study as Ray tasks, each with the cores, memory and GPUs it needs.

    A task whose process or machine dies is run again by Ray; what the cell has finished of its training is
    in the store, which all machines share.
    """

    def __init__(self, session: Session, *, threads: int) -> None:
        self.session, self.threads = session, threads

    def submit(self, run: Callable[[Cell], float], cell: Cell, /) -> Future[float]:  # type: ignore[override]
        """Run a cell; the seconds it took."""
        answer: Future[float] = Future()
        answer.set_running_or_notify_cancel()
        cores = cell.needs.cores * self.threads
        needs = replace(cell.needs, gpus=cell.needs.gpus or self._free_gpus(cell))
        try:
            self.session.check(needs, cores=cores)
        except UserError as error:  # of this cell: the others go on
            answer.set_exception(error)
            return answer
        task = self.session.ray.remote(_run_cell).options(
            num_cpus=cores,
            num_gpus=needs.gpus,
            memory=needs.memory,
            max_retries=RETRIES,
            name=cell.name,
        )
        asked = task.remote(run, cell, self.threads).future()
        asked.add_done_callback(lambda done: self._settle(done, answer))
        return answer

    def _free_gpus(self, cell: Cell) -> int:
        """One for a cell that takes whatever device there is, if the cluster has GPUs."""
        training = cell.content.get("config", {}).get("training", {})
        return int(training.get("accelerator", "auto") == "auto" and self.session.has_gpus())

    def _settle(self, done: Future[float], answer: Future[float]) -> None:
        """Pass on what became of a task; an error as the cell raised it, without that of Ray around it."""
        error: Any = done.exception()
        if error is None:
            answer.set_result(done.result())
        elif isinstance(error, self.session.ray.exceptions.RayTaskError):
            answer.set_exception(error.cause)
        elif isinstance(error, self._killed()):
            answer.set_exception(KilledError())
        else:  # of the cluster: it is run again next time
            answer.set_exception(UserError(f"Ray lost it ({type(error).__name__}: {one_line(error)})"))

    def _killed(self) -> tuple[type[BaseException], ...]:
        errors = self.session.ray.exceptions
        return errors.WorkerCrashedError, errors.OutOfMemoryError


def _run_cell(run: Callable[[Cell], float], cell: Cell, threads: int) -> float:
    with threads_used(threads):
        return run(cell)


@contextmanager
def cell_tasks(
    address: str | None = None, *, workers: int | None = None, threads: int | None = None
) -> Iterator[tuple[CellTasks, int]]:
    """An executor of cells on Ray, and how many may run at once: as many as have room, or `workers`."""
    threads = threads or 1
    with ray_session(address, cores=workers and workers * threads) as session:
        yield CellTasks(session, threads=threads), session.room(workers, cores=threads)
