"""The long commands: how they are called, called again after a kill, and what they leave."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from campaign.children import Child, Circumstances, Ended, command
from campaign.stock import TRAINING
from unirex.files import DRAFT, write_file

LIMIT = 120
TIMES = (
    "seconds",
    "peak_memory_bytes",
    "git",
    "python",
    "versions",
    "since",
)  # facts of the machine and the moment
TRAINED = ("--summary", 0, "--pooling", "mean", *TRAINING)


@dataclass(frozen=True)
class Place:
    """A folder that commands write to, and the stock they read from."""

    stock: Path
    folder: Path

    def start(self, name: str, circumstances: Circumstances | None = None, *, again: bool = False) -> Child:
        """Start a long command; `again` after one that was interrupted."""
        return Child(COMMANDS[name](self, again), circumstances)

    def run(self, name: str, *, again: bool = False) -> Ended:
        """Run it to its end, and count the operations on files."""
        return self.start(name, Circumstances(watched=self.folder), again=again).wait(LIMIT)

    def circumstances(self, **changes: object) -> Circumstances:
        return Circumstances(watched=self.folder, **changes)


def _train(place: Place, again: bool, *more: object) -> Callable[[], int]:
    data, encoder = place.stock / "data.jsonl", place.stock / "learner"
    arguments = ("--data", data, "--encoder", encoder, "--out", place.folder / "run", *TRAINED, *more)
    return command("train", *arguments, *(["--resume"] if again else []))


def _often_saved(place: Place, again: bool) -> Callable[[], int]:
    """Training with a checkpoint after every step."""
    train = _train(place, again)

    def call() -> int:
        from unirex.training import epochs

        epochs.CHECKPOINT_EVERY = 0.0
        return train()

    return call


def _evaluate(place: Place, again: bool) -> Callable[[], int]:
    system, data = place.stock / "system", place.stock / "data.jsonl"
    return command("evaluate", system, "--data", data, "--out", place.folder / "evaluation", "--draws", 1)


def _explain(place: Place, again: bool) -> Callable[[], int]:
    system, data = place.stock / "system", place.stock / "data.jsonl"
    return command("explain", system, "--data", data, "--out", place.folder / "explanations.jsonl")


def _convert(ending: str) -> Callable[[Place, bool], Callable[[], int]]:
    return lambda place, _: command(
        "data", "convert", place.stock / "many.jsonl", place.folder / f"data{ending}"
    )


def _save_over(place: Place, again: bool) -> Callable[[], int]:
    """Save a system where another one is."""

    def call() -> int:
        from unirex.system import load

        if not again:
            load(place.stock / "other").save_pretrained(place.folder / "saved")
        load(place.stock / "system").save_pretrained(place.folder / "saved")
        return 0

    return call


def _fill_cache(place: Place, again: bool) -> Callable[[], int]:
    """Read a dataset that is large enough to be kept."""

    def call() -> int:
        import os

        os.environ["UNIREX_CACHE"] = str(place.folder / "cache")
        return command("data", "stats", place.stock / "many.jsonl", "--encoder", place.stock / "learner")()

    return call


COMMANDS: dict[str, Callable[[Place, bool], Callable[[], int]]] = {
    "train": _train,
    "train-often-saved": _often_saved,
    "train-stages": lambda place, again: _train(
        place, again, "--method", "fresh", "--fresh.saliency", "gradient"
    ),
    "evaluate": _evaluate,
    "explain": _explain,
    "convert-parquet": _convert(".parquet"),
    "convert-tasks": _convert(".json"),
    "save-over": _save_over,
    "fill-cache": _fill_cache,
}


@dataclass(frozen=True)
class Usual:
    """What a command does that is not disturbed."""

    seconds: float
    operations: int  # on files
    largest: int  # bytes of a file
    content: dict[str, str]


def usual(stock: Path, name: str) -> Usual:
    """What a command does that is not disturbed; it is run for that once."""
    path = stock / f"{name}.json"
    if not path.exists():
        place = Place(stock, stock / "undisturbed" / name)
        shutil.rmtree(place.folder, ignore_errors=True)
        place.folder.mkdir(parents=True)
        started = time.monotonic()
        ended = place.run(name)
        assert ended.code == 0, (name, ended)
        seconds = time.monotonic() - started
        largest = max(file.stat().st_size for file in place.folder.rglob("*") if file.is_file())
        found = Usual(seconds, ended.operations, largest, content(place.folder))
        write_file(path, json.dumps(asdict(found)))
    return Usual(**json.loads(path.read_text()))


def content(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder, without times and facts of the machine."""
    return {
        path.relative_to(folder).as_posix(): _digest(path)
        for path in sorted(folder.rglob("*"))
        if (path.is_file() and path.suffix != ".parquet") or path.name.startswith("data.")
    }


def _digest(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix in (".json", ".jsonl"):
        lines = [data] if path.suffix == ".json" else data.splitlines()
        data = json.dumps([_timeless(json.loads(line)) for line in lines]).encode()
    return hashlib.sha256(data).hexdigest()


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in TIMES}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def drafts(folder: Path) -> list[str]:
    """What was being written when a process was killed."""
    return [path.name for path in folder.rglob("*") if DRAFT in path.name]
