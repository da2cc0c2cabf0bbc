"""Runs cells as soon as what they need is there: in this process, in worker processes, or in another pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unirex.errors import UserError, one_line
from unirex.experiments.cells import Cell, keep_failure, run_cell
from unirex.experiments.progress import StudyProgress
from unirex.experiments.workers import check_processes, processes, worker_pool
from unirex.files import HeldError, held
from unirex.scale.cores import threads_each, threads_used

RunCell = Callable[[Cell, Path], None]
PATIENCE = 2.0  # seconds until a cell that another process works on is looked at again


class KilledError(UserError):
    """The process of a cell ended without a word: killed, or out of memory."""

    def __init__(self, message: str = "its process was killed") -> None:
        super().__init__(message)


@dataclass(frozen=True)
class Failure:
    """A cell that could not be done, and why."""

    cell: Cell
    error: str


def run_cells(
    cells: Sequence[Cell],
    store: Path,
    *,
    workers: int = 1,
    threads: int | None = None,
    retry_failed: bool = False,
    shown: bool = True,
    work: Mapping[str, float] | None = None,
    paces: Mapping[str, float] | None = None,
    run: RunCell = run_cell,
    pool: Executor | None = None,
) -> list[Failure]:
    """Run the cells that are not done; those that fail are returned, the others go on.

    Args:
        cells: each after those whose results it uses.
        store: folder of all cells.
        workers: processes; one: this one.
        threads: CPU threads of a cell; None: the cores divided among the workers.
        retry_failed: also run what failed before.
        shown: report progress.
        work: in each cell, by key, for the time left; see `StudyProgress`.
        paces: seconds for a unit of work, by kind of cell, as far as known.
        run: what is done with a cell.
        pool: who runs them, `workers` at a time, if not processes of this machine.
    """
    check_processes(workers, threads)
    store.mkdir(parents=True, exist_ok=True)
    threads = threads or threads_each(workers)
    queue = Queue(cells, store, retry_failed=retry_failed)
    settled = [cell.key for cell in cells if cell not in queue.waiting]
    with StudyProgress(cells, done=settled, workers=workers, work=work, paces=paces, shown=shown) as progress:
        if queue.waiting:
            progress.say(f"{progress.status(0.0)}; {processes(workers, threads)}")
        if pool is not None:
            for cell in _run_in_pool(pool, queue, store, run, progress, workers):
                if cell.state(store) != "done":
                    queue.fail(cell, "was interrupted: a worker of the pool was killed")
        elif workers == 1:
            with threads_used(threads):
                _run_here(queue, store, run, progress)
        else:
            _run_in_processes(queue, store, run, progress, workers, threads)
    while queue.waiting:
        queue.fail(queue.waiting[0], "was not run")
    return queue.failures


class Queue:
    """Which cells can run next, given what is done and what has failed.

    A cell that another process works on goes to the end, so that none keeps the others waiting.
    """

    def __init__(self, cells: Sequence[Cell], store: Path, *, retry_failed: bool = False) -> None:
        self.postponed: dict[str, Path | None] = {}  # key → what another process held when it was tried
        states = {cell.key: cell.state(store) for cell in cells}
        self.done = {key for key, state in states.items() if state == "done"}
        self.waiting = [cell for cell in cells if cell.key not in self.done]
        self.failures: list[Failure] = []
        if not retry_failed:
            for cell in [cell for cell in self.waiting if states[cell.key] == "failed"]:
                self.fail(cell, cell.failure(store))
        self._drop_hopeless()

    def next(self) -> Cell | None:
        """A cell that can run now, taken from those that wait."""
        for cell in self.waiting:
            if self.done.issuperset(cell.after):
                self.waiting.remove(cell)
                return cell
        return None

    def finish(self, cell: Cell) -> None:
        """Count a cell as done."""
        self.done.add(cell.key)

    def fail(self, cell: Cell, error: str) -> None:
        """Count a cell as failed, and with it all that need its result."""
        self.failures.append(Failure(cell, error))
        self.waiting = [other for other in self.waiting if other.key != cell.key]
        self._drop_hopeless()

    def postpone(self, cell: Cell, folder: Path | None) -> bool:
        """Put a cell back: another process holds a folder it needs. Whether that is so for the first time."""
        first = cell.key not in self.postponed
        self.postponed[cell.key] = folder
        self.waiting.append(cell)
        return first

    def _drop_hopeless(self) -> None:
        failed = {failure.cell.key: failure.cell for failure in self.failures}
        for cell in list(self.waiting):
            broken = [failed[key] for key in cell.after if key in failed]
            if broken:
                self.fail(cell, f"needs {broken[0].work} {broken[0].name}, which failed")
                return  # fail() goes on from here


def _next(queue: Queue, store: Path, progress: StudyProgress) -> Cell | None:
    """The next cell to run; one that failed in the process it was waited for has failed here, too."""
    while cell := queue.next():
        if cell.key not in queue.postponed or cell.state(store) != "failed":
            folder = queue.postponed.get(cell.key)
            if folder is not None and not held(folder) and cell.state(store) == "waiting":
                progress.released(cell)
            return cell
        _failed(queue, cell, UserError(cell.failure(store)), store, progress)
    return None


def _run_here(queue: Queue, store: Path, run: RunCell, progress: StudyProgress) -> None:
    while cell := _next(queue, store, progress):
        progress.started(cell)
        begin = time.monotonic()
        try:
            run(cell, store)
        except HeldError as error:
            _postponed(queue, cell, error, progress)
        except Exception as error:
            _failed(queue, cell, error, store, progress)
        else:
            _finished(queue, cell, time.monotonic() - begin, store, progress)


def _run_in_processes(
    queue: Queue, store: Path, run: RunCell, progress: StudyProgress, workers: int, threads: int
) -> None:
    """Keep all workers busy; when one dies, the cells that were running run again, each alone.

    So it is seen which of them ends its process; one that only lacked memory beside others succeeds.
    """
    run, first = partial(_sharing_memory, run, workers), True
    while queue.waiting:
        with worker_pool(workers, threads, first=first) as pool:
            running = _run_in_pool(pool, queue, store, run, progress, workers)
        first = False
        suspects = [cell for cell in running if cell.state(store) != "done"]
        for cell in running:
            if cell in suspects:
                progress.interrupted(cell)
            else:
                _done(queue, cell, store, progress)
        for cell in suspects:
            with worker_pool(1, threads) as pool:
                _run_alone(pool, cell, queue, store, run, progress)


def _run_in_pool(
    pool: Executor, queue: Queue, store: Path, run: RunCell, progress: StudyProgress, workers: int
) -> list[Cell]:
    """Run what can be run; the cells that were running if the pool broke before the end."""
    running: dict[Future[float], Cell] = {}
    submit = partial(pool.submit, partial(_timed, run, store))
    try:
        _fill(submit, queue, running, workers, store, progress)
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                _settle(future, running[future], queue, store, progress)
                del running[future]
            _fill(submit, queue, running, workers, store, progress)
    except BrokenProcessPool:
        return _interrupted(running, queue, store, progress)
    return []


def _interrupted(
    running: Mapping[Future[float], Cell], queue: Queue, store: Path, progress: StudyProgress
) -> list[Cell]:
    """The cells that a broken pool has left, without those that had ended before."""
    left = []
    for future, cell in running.items():
        try:
            _settle(future, cell, queue, store, progress)
        except BrokenProcessPool:
            left.append(cell)
    return left


def _run_alone(
    pool: Executor, cell: Cell, queue: Queue, store: Path, run: RunCell, progress: StudyProgress
) -> None:
    progress.started(cell)
    future = pool.submit(partial(_timed, run, store), cell)
    try:
        _settle(future, cell, queue, store, progress)
    except BrokenProcessPool:
        if cell.state(store) == "done":
            _done(queue, cell, store, progress)
        else:
            _failed(queue, cell, KilledError(), store, progress)


def _fill(
    submit: Callable[[Cell], Future[float]],
    queue: Queue,
    running: dict[Future[float], Cell],
    workers: int,
    store: Path,
    progress: StudyProgress,
) -> None:
    while len(running) < workers and (cell := _next(queue, store, progress)):
        try:
            running[submit(cell)] = cell
        except BrokenProcessPool:
            queue.waiting.append(cell)  # a worker died between two cells
            raise
        progress.started(cell)


def _settle(future: Future[float], cell: Cell, queue: Queue, store: Path, progress: StudyProgress) -> None:
    try:
        seconds = future.result()
    except HeldError as error:
        _postponed(queue, cell, error, progress)
    except BrokenProcessPool:
        raise
    except Exception as error:
        _failed(queue, cell, error, store, progress)
    else:
        _finished(queue, cell, seconds, store, progress)


def _postponed(queue: Queue, cell: Cell, error: HeldError, progress: StudyProgress) -> None:
    progress.postponed(cell, first=queue.postpone(cell, error.folder))
    time.sleep(PATIENCE)


def _finished(queue: Queue, cell: Cell, seconds: float, store: Path, progress: StudyProgress) -> None:
    if cell.key in queue.postponed:
        _done(queue, cell, store, progress)
    else:
        queue.finish(cell)
        progress.finished(cell, seconds)


def _done(queue: Queue, cell: Cell, store: Path, progress: StudyProgress) -> None:
    """Count a cell that another process has made, or one that was killed after its end."""
    queue.finish(cell)
    progress.finished(cell, float(cell.result(store)["seconds"]))


def _failed(queue: Queue, cell: Cell, error: Exception, store: Path, progress: StudyProgress) -> None:
    if isinstance(error, KilledError):  # others were kept where they happened
        keep_failure(cell.folder(store), error)
    before = len(queue.failures)
    queue.fail(cell, one_line(error))
    for failure in queue.failures[before:]:
        progress.failed(failure.cell, failure.error)


def _sharing_memory(run: RunCell, workers: int, cell: Cell, store: Path) -> None:
    from unirex.models.plan import share_memory

    with share_memory(workers):
        run(cell, store)


def _timed(run: RunCell, store: Path, cell: Cell) -> float:
    begin = time.monotonic()
    try:
        run(cell, store)
    except SystemExit as error:  # of SIGTERM; it would end the process that waits for this one
        raise UserError("its process was asked to end; the same command goes on with it.") from error
    return time.monotonic() - begin
