"""Atomic file writes, checkpoints without pickle, and progress reporting."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from unirex.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console


def write_file(path: Path, content: str | bytes) -> None:
    """Put the content at `path` so that a kill at any moment leaves either the old or the new file."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    replace_file(path, lambda draft: draft.write_bytes(data))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a draft beside `path`, then put it in place in one move."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """A folder to write into; if that fails, no empty folder is left that was not there before."""
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
    """A place that cannot be written is named as it was given, not as a draft beside it."""
    try:
        yield
    except FileExistsError as error:
        raise UserError(f"{path}: is a file, or lies below one; give another place.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}).") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """A nested structure of tensors and plain values as one safetensors file."""
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    plain = _without_tensors(state, tensors)
    metadata = {"state": json.dumps(plain)}
    replace_file(path, lambda draft: save_file(tensors, str(draft), metadata))


def load_state(path: Path) -> dict[str, Any]:
    """The structure `save_state` wrote. Nothing is executed, whatever the file holds."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            plain = json.loads((file.metadata() or {})["state"])
        return _with_tensors(plain, tensors)
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not a checkpoint of this library ({error}).") from error


def _without_tensors(value: Any, tensors: dict[str, Any]) -> Any:
    """Plain JSON with every tensor moved to `tensors` and every type JSON lacks spelt out."""
    import torch

    if isinstance(value, torch.Tensor):
        name = str(len(tensors))
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {
            "items": [[_without_tensors(k, tensors), _without_tensors(v, tensors)] for k, v in value.items()]
        }
    if isinstance(value, tuple):
        return {"tuple": [_without_tensors(one, tensors) for one in value]}
    if isinstance(value, list):
        return [_without_tensors(one, tensors) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__} without pickle")


def _with_tensors(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "tuple" in value:
        return tuple(_with_tensors(one, tensors) for one in value["tuple"])
    return {_with_tensors(k, tensors): _with_tensors(v, tensors) for k, v in value["items"]}


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
