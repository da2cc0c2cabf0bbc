"""How far a long piece of work is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

EVERY = 30.0  # seconds between two lines of a log
REDRAW = 0.1  # seconds between two states of a bar


class Progress:
    """Counts what is done, and says so on standard error, with the rate and the time left.

    ```python
    with Progress("explaining", total=len(texts)) as progress:
        for one in system.explain_all(texts, advance=progress.advance):
            …
    ```

    Args:
        doing: what is being done, as "explaining".
        total: how much there is to do; None where nobody knows.
        about: the total is an estimate.
        shown: False to say nothing.
        unit: what is counted.
        console: where to write; standard error if not given.
        clock: seconds from some moment on.
    """

    def __init__(
        self,
        doing: str,
        *,
        total: int | None = None,
        about: bool = False,
        shown: bool = True,
        unit: str = "texts",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing, self.total, self.about, self.unit = doing, total, about, unit
        self.shown, self.console, self.clock = shown, console, clock
        self.done = 0
        self._bar: Any = None
        self._closing = ExitStack()

    def __enter__(self) -> Progress:
        self._start = self._told = self.clock()
        if self.shown and self._terminal():
            self._bar = self._closing.enter_context(self._new_bar())
            self._task = self._bar.add_task(self.doing, total=self.total, told="")
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self.done += count
        if not self.shown:
            return
        now = self.clock()
        if now - self._told >= (EVERY if self._bar is None else REDRAW):
            self._told = now
            self._tell(self.status(now - self._start))

    def _tell(self, status: str) -> None:
        if self._bar is None:
            print(f"{self.doing}: {status}", file=self._stream(), flush=True)
        else:
            self._bar.update(self._task, completed=self.done, total=self._goal(), told=status)

    def status(self, elapsed: float) -> str:
        """The count, the rate and the time left after so many seconds, in words."""
        goal, rate = self._goal(), self.done / elapsed if elapsed > 0 else 0.0
        of = f" of {'about ' if self.about else ''}{goal:,}" if goal is not None else ""
        parts = [f"{self.done:,}{of} {self.unit}", f"{_short(rate)}/s"]
        if goal is not None and rate > 0:
            parts.append(f"{duration((goal - self.done) / rate)} left")
        return ", ".join(parts)

    def _goal(self) -> int | None:
        """The total, unless it was an estimate that has proved too low."""
        return None if self.total is None or self.done > self.total else self.total

    def _terminal(self) -> bool:
        return sys.stderr.isatty() if self.console is None else self.console.is_terminal

    def _stream(self) -> TextIO:
        return sys.stderr if self.console is None else self.console.file  # type: ignore[return-value]

    def _new_bar(self) -> Any:
        from rich import progress
        from rich.console import Console

        return progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=None),
            progress.TextColumn("{task.fields[told]}"),
            progress.TimeElapsedColumn(),
            console=self.console or Console(stderr=True),
            transient=True,
            redirect_stdout=False,  # what is printed is for whoever reads the pipe
        )


def tracked(items: Iterable[T], progress: Progress) -> Iterator[T]:
    """The items one by one, each counted when it has been dealt with."""
    with progress:
        for item in items:
            yield item
            progress.advance()


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(4.2), duration(75), duration(600), duration(7500)
    ('5 s', '75 s', '10 min', '2 h 5 min')
    """
    whole = int(-(-seconds // 1))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
