"""Progress of a whole study: cells done, cells running, and the time left by the work in each cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf

from unirex.experiments.cells import Cell
from unirex.files import Progress, duration

DOING = {"train": "training", "measure": "measuring"}
DONE = {"train": "trained", "measure": "measured"}


class StudyProgress(Progress):
    """Cells done, running, and the time left: a bar on a terminal, elsewhere a line for every change.

    The time left is the work in the cells to come, at the pace of the cells of their kind that are finished.

    Args:
        cells: all cells of the study.
        done: keys of those finished before.
        workers: cells that run at the same time.
        work: of each cell by key, in any unit; without it all cells count alike.
        paces: seconds for a unit of work by kind of cell, as far as they are known before.
        shown: False to report nothing.
        clock: seconds from a fixed moment on.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        *,
        done: Sequence[str] = (),
        workers: int = 1,
        work: Mapping[str, float] | None = None,
        paces: Mapping[str, float] | None = None,
        shown: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            "study", total=len(cells), done=len(done), unit="cells", shown=shown, first=inf, clock=clock
        )
        self.workers, self.work, self.paces = workers, work or {}, dict(paces or {})
        self.pending = {cell.key: cell for cell in cells if cell.key not in done}
        self.running: dict[str, float] = {}  # key → when it began
        self.waited: set[str] = set()  # keys of cells that other processes make
        self._spent = dict.fromkeys(DOING, (0.0, 0.0))  # seconds and work of what was finished here

    def started(self, cell: Cell) -> None:
        """A cell begins; one that is waited for is only looked at."""
        self.running[cell.key] = self.clock()
        if cell.key not in self.waited:
            self.begin(f"{DOING[cell.work]} {cell.name}")

    def postponed(self, cell: Cell, *, first: bool) -> None:
        """A cell is being made by another process."""
        self.running.pop(cell.key, None)
        self.waited.add(cell.key)
        if first:
            self.say(f"waiting for {cell.name}, which another process makes")

    def released(self, cell: Cell) -> None:
        """The other process is gone: a cell that was waited for is made here."""
        self.waited.discard(cell.key)

    def interrupted(self, cell: Cell) -> None:
        """A cell was running when its process, or one beside it, was killed."""
        self.running.pop(cell.key, None)
        self.say(f"a worker was killed; {cell.name} runs again, alone")

    def finished(self, cell: Cell, seconds: float) -> None:
        """A cell is done."""
        spent, work = self._spent[cell.work]
        self._spent[cell.work] = spent + seconds, work + self._work(cell)
        self._settled(cell, f"{DONE[cell.work]} {cell.name} in {duration(seconds)}")

    def failed(self, cell: Cell, error: str) -> None:
        """A cell cannot be done."""
        self._settled(cell, f"failed: {cell.work} {cell.name}: {error.rstrip('.')}")

    def _settled(self, cell: Cell, news: str) -> None:
        self.running.pop(cell.key, None)
        self.pending.pop(cell.key, None)
        self.advance()
        self.say(f"{news}; {self.status(0.0)}" if self.pending else news)

    def status(self, elapsed: float) -> str:
        """How many cells are settled, and the time left as far as it is known."""
        left = self.seconds_left()
        about = "" if left is None else f", about {duration(left)} left"
        return f"{self.done:,} of {self.total:,} cells{about}"

    def seconds_left(self) -> float | None:
        """Until the last cell is done; None if no pace is known yet."""
        known = {kind: pace for kind in DOING if (pace := self._pace(kind)) is not None}
        if not known:
            return None
        usual = sum(known.values()) / len(known)
        left, now = 0.0, self.clock()
        for key, cell in self.pending.items():
            whole = known.get(cell.work, usual) * self._work(cell)
            left += max(0.0, whole - (now - self.running[key])) if key in self.running else whole
        return left / min(self.workers, max(1, len(self.pending)))

    def _work(self, cell: Cell) -> float:
        return self.work.get(cell.key, 1.0)

    def _pace(self, kind: str) -> float | None:
        seconds, work = self._spent[kind]
        return seconds / work if work else self.paces.get(kind)
