"""How far a download is: a bar on a terminal, plain lines elsewhere, or nothing; always on stderr."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from rich.filesize import decimal


class Progress:
    """Says nothing, for who does not want to hear."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def say(self, line: str) -> None:
        """One line of news."""

    def start(self, name: str, *, done: int, total: int | None) -> None:
        """A file begins, or goes on after `done` bytes."""

    def advance(self, more: int) -> None:
        """Some bytes of it have come."""


class Lines(Progress):
    """A line for each tenth of a file, for logs."""

    def say(self, line: str) -> None:
        """One line of news."""
        print(line, file=sys.stderr, flush=True)

    def start(self, name: str, *, done: int, total: int | None) -> None:
        """A file begins, or goes on after `done` bytes."""
        self._name, self._done, self._total = name, done, total
        self._step = max((total or 0) // 10, 10**7)  # no tenths of what comes in a moment
        self._next = done + self._step
        size = f" {decimal(total)}" if total else ""
        self.say(f"{name}: going on from {self._state()}" if done else f"{name}: fetching{size}")

    def advance(self, more: int) -> None:
        """Some bytes of it have come."""
        self._done += more
        if self._done >= self._next:
            self._next += self._step
            self.say(f"{self._name}: {self._state()}")

    def _state(self) -> str:
        return f"{decimal(self._done)} of {decimal(self._total)}" if self._total else decimal(self._done)


class Bar(Progress):
    """A bar that moves, for people."""

    def __init__(self, console: Any) -> None:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as RichProgress

        name = TextColumn("{task.description}", markup=False)
        columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._bar = RichProgress(*columns, console=console)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        """One line of news, above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def start(self, name: str, *, done: int, total: int | None) -> None:
        """A file begins, or goes on after `done` bytes."""
        self._task = self._bar.add_task(name, total=total, completed=done)

    def advance(self, more: int) -> None:
        """Some bytes of it have come."""
        self._bar.advance(self._task, more)


def shown(progress: bool) -> Progress:
    """What suits where stderr goes."""
    if not progress:
        return Progress()
    from rich.console import Console

    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines()
