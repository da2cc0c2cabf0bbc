"""Atomic file writes, folders held by one process, and progress reporting."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape as escape_pattern
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from unirex.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
Advance = Callable[[int], object]  # progress callback: number of items just finished

DRAFT = ".draft-"  # in the names of what is being written; a process that is killed leaves it behind
LOCK = ".lock"  # file in a folder that a process holds, with the process in it
SUMS = "SHA256SUMS"  # file with the digests of others, as `sha256sum --check` reads it

LOG_EVERY = 30.0  # seconds between two lines of a log
REDRAW_EVERY = 0.1  # seconds between two states of a bar


class HeldError(UserError):
    """A folder is held by another process."""

    def __init__(self, message: str, folder: Path | None = None) -> None:
        super().__init__(message)
        self.folder = folder


def write_file(path: Path, content: str | bytes) -> None:
    """Write `path` atomically: a kill at any moment leaves either the old or the new file."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    replace_file(path, lambda draft: draft.write_bytes(data))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a draft beside `path`, then move it into place atomically."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give a file.")
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with new_draft(path) as draft:
        with _enough_space(path):
            write(draft)
            with draft.open("rb") as written:
                os.fsync(written.fileno())  # before the move, or a crash could leave an empty file in place
        draft.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        draft.replace(path)


@contextmanager
def new_draft(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A new file, or folder, beside `path` to prepare it in; at the end it is removed.

    This process holds it meanwhile. Drafts of this path that no process holds were left by processes that
    were killed; they are removed.
    """
    start = f".{path.name}{DRAFT}"
    with _writable(path):
        sweep_drafts(path.parent, f"{escape_pattern(start)}*")
        draft, handle = _held_draft(path.parent, start, path.suffix, folder=folder)
    try:
        yield draft
    finally:
        _remove(draft)
        os.close(handle)


def _held_draft(place: Path, start: str, ending: str, *, folder: bool) -> tuple[Path, int]:
    """A draft and the handle that holds it."""
    while True:
        if folder:
            draft = Path(tempfile.mkdtemp(dir=place, prefix=start))
            handle = os.open(
                os.devnull if os.name == "nt" else draft, os.O_RDONLY
            )  # Windows opens no folders
        else:
            handle, name = tempfile.mkstemp(dir=place, prefix=start, suffix=ending)
            draft = Path(name)
        if _lock(handle, wait=True) is None or _is_open(draft, handle):
            return draft, handle
        os.close(handle)  # another process took it for one that was left, before it was held


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
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; if another one holds it, a `HeldError` says which.

    The system releases the lock of a process that dies, however it dies. Drafts that such a process left in
    the folder are removed.
    """
    path = folder / LOCK
    while True:
        with _writable(folder):
            file = path.open("a+", encoding="utf-8")
        if _lock(file.fileno()) is False:
            said = f"{folder}: {_owner(path)} is working there; wait for it, or stop it."
            raise HeldError(said, folder)
        if _is_open(path, file.fileno()):
            break
        file.close()  # its last owner removed it between our two steps
    owner = {"process": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    try:
        file.truncate(0)
        file.write(json.dumps(owner) + "\n")
        file.flush()
        sweep_drafts(folder)
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def held(folder: Path) -> bool:
    """Whether a process holds the folder.

    Asking takes the lock for an instant: a process that wants it just then is told that it is held.
    """
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return _lock(handle) is False
    finally:
        os.close(handle)


def _lock(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or folder; False if another process has it, None if there are no locks here."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _is_open(path: Path, handle: int) -> bool:
    """Whether the open file is the one of this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text("utf-8"))
        return f"process {owner['process']} on {owner['host']} (since {owner['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def sweep_drafts(folder: Path, pattern: str = f".*{DRAFT}*") -> None:
    """Remove what processes that were killed left behind in a folder: what no process holds."""
    for path in folder.glob(pattern):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                if _lock(handle):
                    _remove(path)
            finally:
                os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_sums(folder: Path) -> None:
    """Write the digests of all files in a folder to `SHA256SUMS` there."""
    lines = [f"{_sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.name != SUMS]
    (folder / SUMS).write_text("".join(lines), "utf-8")


def check_sums(folder: Path) -> None:
    """Refuse a folder whose files are not those of its `SHA256SUMS`; one without is taken as it is."""
    try:
        lines = (folder / SUMS).read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / SUMS}: cannot be read ({error}).") from error
    for line in lines:
        digest, _, name = line.partition("  ")
        path = folder / Path(name).name
        try:
            same = _sha256(path) == digest
        except OSError as error:
            raise UserError(f"{path}: missing or unreadable; save the system again.") from error
        if not same:
            raise UserError(
                f"{path} is not as it was saved: damaged, or of another system. Save it again, or if you "
                f"changed it yourself delete {folder / SUMS}."
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _enough_space(path: Path) -> Iterator[None]:
    """Name the file that did not fit, as the system's own error does not."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(f"{path}: cannot be written ({error.strerror}).") from error


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

    A terminal and a notebook get a bar, anything else a line every 30 seconds.

    ```python
    with Progress("explaining", total=len(texts)) as progress:
        for explanation in system.explain_all(texts, advance=progress.advance):
            …
    ```

    Args:
        doing: the activity, as "explaining"; it may change on the way.
        total: how many items there are; None if unknown.
        about: the total is an estimate.
        done: items finished before the start, as of a download that is resumed.
        shown: False to report nothing.
        unit: what is counted; "bytes" are written as kB, MB and so on.
        first: seconds until the first line of a log.
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
        first: float = LOG_EVERY,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing, self.total, self.about, self.unit = doing, total, about, unit
        self.shown, self.first, self.console, self.clock = shown, first, console, clock
        self.done = self._done_before = done
        self._view: _LogLines | _TerminalBar | _NotebookBar | None = None

    def __enter__(self) -> Self:
        self._started_at = self.clock()
        if self.shown:
            self._view = self._new_view()
            self._report_at = self._started_at + self._view.first
        return self

    def __exit__(self, *_: object) -> None:
        if self._view is not None:
            self._view.close()

    def advance(self, count: int = 1) -> None:
        """Count `count` more items as finished."""
        self.done += count
        if self._view is None:
            return
        now = self.clock()
        if now >= self._report_at:
            self._report_at = now + self._view.every
            self._view.show(self.doing, self.done, self._goal(), self.status(now - self._started_at))

    def begin(self, doing: str) -> None:
        """Change the activity: a bar shows it at once, a log gets a line."""
        self.doing = doing
        if self._view is not None:
            elapsed = self.clock() - self._started_at
            self._view.begin(doing, self.done, self._goal(), self.status(elapsed))

    def say(self, line: str) -> None:
        """Show a line of news, above the bar if there is one."""
        if self._view is not None:
            self._view.say(line)

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

    def _goal(self) -> int | None:
        """The total, unless it was an estimate that has proved too low."""
        return None if self.total is None or self.done > self.total else self.total

    def _amount(self, number: int) -> str:
        if self.unit != "bytes":
            return f"{number:,}"
        from rich.filesize import decimal

        return decimal(number)

    def _new_view(self) -> _LogLines | _TerminalBar | _NotebookBar:
        if self.console is None and _in_notebook():
            return _NotebookBar()
        if sys.stderr.isatty() if self.console is None else self.console.is_terminal:
            return _TerminalBar(self.console, self.doing, self.done, self.total)
        return _LogLines(self.console, self.first)


class _LogLines:
    """Progress where there is no terminal: a line now and then."""

    every = LOG_EVERY

    def __init__(self, console: Console | None, first: float) -> None:
        self.console, self.first = console, first

    def begin(self, doing: str, done: int, goal: int | None, status: str) -> None:
        self.say(doing)

    def show(self, doing: str, done: int, goal: int | None, status: str) -> None:
        self.say(f"{doing}: {status}")

    def say(self, line: str) -> None:
        print(line, file=sys.stderr if self.console is None else self.console.file, flush=True)

    def close(self) -> None:
        pass


class _TerminalBar:
    """Progress on a terminal: a bar that is gone at the end."""

    every = first = REDRAW_EVERY

    def __init__(self, console: Console | None, doing: str, done: int, total: int | None) -> None:
        from rich import progress
        from rich.console import Console

        self.bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=None),
            progress.TextColumn("{task.fields[status]}", markup=False),
            progress.TimeElapsedColumn(),
            console=console or Console(file=sys.stderr),  # this one, also while it is redirected to a log
            transient=True,
            redirect_stdout=False,  # results on standard output may be piped elsewhere
        )
        self.bar.start()
        self.task = self.bar.add_task(doing, total=total, completed=done, status="")

    def show(self, doing: str, done: int, goal: int | None, status: str) -> None:
        self.bar.update(self.task, description=doing, completed=done, total=goal, status=status)

    begin = show

    def say(self, line: str) -> None:
        self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self.bar.stop()


class _NotebookBar:
    """Progress in a notebook: lines and a bar in the output of the cell; the lines stay.

    It needs nothing but IPython; the bars of rich and tqdm need ipywidgets.
    """

    every = first = 0.5

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self.html, self.lines, self.bar = HTML, list[str](), ""
        self.output = display(HTML(""), display_id=True)

    def show(self, doing: str, done: int, goal: int | None, status: str) -> None:
        numbers = "" if goal is None else f' value="{done}" max="{goal}"'
        self.bar = f"<div><progress{numbers}></progress> {escape(f'{doing}: {status}')}</div>"
        self._draw()

    begin = show

    def say(self, line: str) -> None:
        self.lines.append(f"<div>{escape(line)}</div>")
        self._draw()

    def close(self) -> None:
        self.bar = ""
        self._draw()

    def _draw(self) -> None:
        self.output.update(self.html("".join([*self.lines, self.bar])))


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


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
    """A rate in few digits.

    >>> _short(1234.5), _short(3.04), _short(0.0321)
    ('1,234', '3.0', '0.03')
    """
    if rate >= 10:
        return f"{rate:,.0f}"
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.1g}"
