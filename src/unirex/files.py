"""Atomic file writes and progress reporting."""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unirex.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
Advance = Callable[[int], object]  # progress callback: number of items just finished

LOG_EVERY = 30.0  # seconds between two lines of a log
REDRAW_EVERY = 0.1  # seconds between two states of a bar


def write_file(path: Path, content: str | bytes) -> None:
    """Write `path` atomically: a kill at any moment leaves either the old or the new file."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    replace_file(path, lambda draft: draft.write_bytes(data))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a draft beside `path`, then move it into place atomically."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb") as written:
            os.fsync(written.fileno())  # before the move, or a crash could leave an empty file in place
        draft.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make a folder to write into; on failure, remove the empty folders this made."""
    with _writable(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Turn a failed write into an error that names `path` as the user gave it, not the draft beside it."""
    try:
        yield
    except FileExistsError as error:
        raise UserError(f"{path}: is a file, or lies below one; give another place.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}).") from error


def _umask() -> int:
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    return mask


class Progress:
    """Counts finished items and reports the count, the rate and the time left on standard error.

    A terminal gets a bar, anything else a line every 30 seconds.

    ```python
    with Progress("explaining", total=len(texts)) as progress:
        for explanation in system.explain_all(texts, advance=progress.advance):
            …
    ```

    Args:
        doing: the activity, as "explaining".
        total: how many items there are; None if unknown.
        about: the total is an estimate.
        done: items finished before the start, as of a download that is resumed.
        shown: False to report nothing.
        unit: what is counted; "bytes" are written as kB, MB and so on.
        console: where to write; standard error by default.
        clock: seconds from a fixed moment on.
    """

    def __init__(
        self,
        doing: str,
        *,
        total: int | None = None,
        about: bool = False,
        done: int = 0,
        shown: bool = True,
        unit: str = "texts",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing, self.total, self.about, self.unit = doing, total, about, unit
        self.shown, self.console, self.clock = shown, console, clock
        self.done = self._done_before = done
        self._bar: Any = None
        self._closing = ExitStack()

    def __enter__(self) -> Progress:
        self._started_at = self._reported_at = self.clock()
        if self.shown and self._on_terminal():
            self._bar = self._closing.enter_context(self._new_bar())
            self._task = self._bar.add_task(self.doing, total=self.total, completed=self.done, status="")
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def advance(self, count: int = 1) -> None:
        """Count `count` more items as finished."""
        self.done += count
        if not self.shown:
            return
        now = self.clock()
        if now - self._reported_at >= (LOG_EVERY if self._bar is None else REDRAW_EVERY):
            self._reported_at = now
            self._report(self.status(now - self._started_at))

    def status(self, elapsed: float) -> str:
        """The count, the rate and the time left after `elapsed` seconds, in words."""
        goal = self._goal()
        rate = (self.done - self._done_before) / elapsed if elapsed > 0 else 0.0
        of = f" of {'about ' if self.about else ''}{self._amount(goal)}" if goal is not None else ""
        if self.unit == "bytes":
            parts = [f"{self._amount(self.done)}{of}", f"{self._amount(int(rate))}/s"]
        else:
            parts = [f"{self._amount(self.done)}{of} {self.unit}", f"{_short(rate)}/s"]
        if goal is not None and rate > 0:
            parts.append(f"{duration((goal - self.done) / rate)} left")
        return ", ".join(parts)

    def _report(self, status: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, total=self._goal(), status=status)
        else:
            stream = sys.stderr if self.console is None else self.console.file
            print(f"{self.doing}: {status}", file=stream, flush=True)

    def _goal(self) -> int | None:
        """The total, unless it was an estimate that has proved too low."""
        return None if self.total is None or self.done > self.total else self.total

    def _amount(self, number: int) -> str:
        if self.unit != "bytes":
            return f"{number:,}"
        from rich.filesize import decimal

        return decimal(number)

    def _on_terminal(self) -> bool:
        return sys.stderr.isatty() if self.console is None else self.console.is_terminal

    def _new_bar(self) -> Any:
        from rich import progress
        from rich.console import Console

        return progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=None),
            progress.TextColumn("{task.fields[status]}", markup=False),
            progress.TimeElapsedColumn(),
            console=self.console or Console(stderr=True),
            transient=True,
            redirect_stdout=False,  # results on standard output may be piped elsewhere
        )


def tracked(items: Iterable[T], progress: Progress) -> Iterator[T]:
    """The items one by one; each is counted once the caller asks for the next."""
    with progress:
        for item in items:
            yield item
            progress.advance()


def duration(seconds: float) -> str:
    """A time in the units people use.

    >>> duration(4.2), duration(75), duration(600), duration(7500)
    ('5 s', '75 s', '10 min', '2 h 5 min')
    """
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def say(line: str) -> None:
    """Print a line of news to standard error, at once."""
    print(line, file=sys.stderr, flush=True)


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
