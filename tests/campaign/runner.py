"""Tries cases of all kinds in turn, counts their outcomes and keeps what is needed to repeat a failure."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from campaign.children import Circumstances, run
from unirex.data.cache import code_digest
from unirex.files import write_file

# How often a case of each kind is tried for one of the dearest; 500 inputs and about 20 kills in a round.
KINDS = {
    "readers": 270,
    "settings": 60,
    "models": 150,
    "texts": 10,
    "weights": 10,
    "kills": 13,
    "sharing": 1,
    "full_disk": 2,
    "processes": 1,
}
LARGEST = 5_000_000  # bytes of the input of a failure that are kept
SAVE_EVERY = 10.0  # seconds
FAILED = "failed"


class Campaign:
    """A campaign in its folder; a new one with the same folder goes on where this one ended.

    ```
    state.json             the seed, and for each kind how many cases were tried and how they ended
    stock/                 encoders, systems, data and uninterrupted results that cases start from
    failures/KIND-NUMBER/  what went wrong, how to repeat it, and the files of the case
    ```
    """

    def __init__(self, folder: Path, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> None:
        self.folder, self.seed, self.kinds = folder.absolute(), seed, kinds
        self.tally: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
        self.seconds, self.saved_at = 0.0, time.monotonic()
        if self._state.exists():
            self._resume(json.loads(self._state.read_text("utf-8")))

    @property
    def _state(self) -> Path:
        return self.folder / "state.json"

    def _resume(self, state: dict[str, Any]) -> None:
        if state["seed"] != self.seed:
            raise SystemExit(f"{self.folder} was begun with seed {state['seed']}; give it, or another --out.")
        self.tally = state["kinds"] | {kind: state["kinds"].get(kind, {}) for kind in self.kinds}
        self.seconds = state["seconds"]

    def prepare(self) -> None:
        """Make what the cases start from, unless it is there, made by the same code."""
        from campaign.stock import make_stock, rehearse

        stock, code = self.folder / "stock", code_digest("unirex", "campaign.stock", "campaign.commands")
        if not (stock / "code").exists() or (stock / "code").read_text() != code:
            shutil.rmtree(stock, ignore_errors=True)
            stock.mkdir(parents=True)
            ended = run(lambda: make_stock(stock), limit=900)
            assert ended.code == 0, ended.err
            (stock / "code").write_text(code)
        rehearse(stock)

    def run(self, hours: float) -> None:
        """Try cases until the time is over; each kind has the share that `KINDS` says."""
        end = time.monotonic() + hours * 3600
        for kind in self._in_turn():
            if time.monotonic() >= end:
                return
            self.try_next(kind)

    def _in_turn(self) -> Iterator[str]:
        while True:
            # The kind that is furthest behind its share.
            yield min(self.kinds, key=lambda kind: (self.tried(kind) + 1) / KINDS[kind])

    def tried(self, kind: str) -> int:
        """How many cases of a kind were tried."""
        return sum(self.tally[kind].values())

    def failures(self) -> int:
        """How many cases failed."""
        return sum(outcomes.get(FAILED, 0) for outcomes in self.tally.values())

    def try_next(self, kind: str) -> None:
        """Try the next case of a kind and keep its outcome."""
        started = time.monotonic()
        outcome = self.try_case(kind, self.tried(kind))
        self.tally[kind][outcome] = self.tally[kind].get(outcome, 0) + 1
        self.seconds += time.monotonic() - started
        if time.monotonic() - self.saved_at > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the state, from which a later campaign goes on."""
        write_file(self._state, json.dumps(self._summary(), indent=1) + "\n")
        self.saved_at = time.monotonic()

    def try_case(self, kind: str, number: int) -> str:
        """The outcome of one case; its files are kept if it failed."""
        module = import_module(f"campaign.{kind}")
        with tempfile.TemporaryDirectory(prefix=f"{kind}-", ignore_cleanup_errors=True) as place:
            ended = run(
                lambda: self._case(module, number, Path(place)),
                module.LIMIT,
                Circumstances({"TMPDIR": place}),
            )
            if ended.code == 0:
                return ended.out.splitlines()[-1]
            why = "it took too long" if ended.code is None else f"exit code {ended.code}"
            self._keep_failure(kind, number, f"{why}\n{ended.out}\n{ended.err}", Path(place))
        return FAILED

    def _case(self, module: ModuleType, number: int, place: Path) -> int:
        chance = random.Random(f"{self.seed}/{module.__name__.rpartition('.')[2]}/{number}")
        tempfile.tempdir = None  # as TMPDIR says, not as the parent had it
        print("\n" + module.case(chance, place, self.folder / "stock"))
        return 0

    def _keep_failure(self, kind: str, number: int, what: str, place: Path) -> None:
        folder = self.folder / "failures" / f"{kind}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        if sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) <= LARGEST:
            shutil.copytree(place, folder / "files", symlinks=True)
        repeat = f"make campaign SEED={self.seed} CASE={kind}-{number}"
        about = {"kind": kind, "number": number, "seed": self.seed, "revision": revision(), "repeat": repeat}
        write_file(folder / "failure.json", json.dumps(about, indent=1) + "\n")
        write_file(folder / "said.txt", what)

    def _summary(self) -> dict[str, Any]:
        return {"seed": self.seed, "revision": revision(), "seconds": self.seconds, "kinds": self.tally}

    def table(self) -> str:
        """How many cases of each kind were tried, how many failed, and how the others ended."""
        lines = ["| kind | tried | failed | outcomes |", "|:--|--:|--:|:--|"]
        for kind, outcomes in self.tally.items():
            others = [f"{name} {count:,}" for name, count in sorted(outcomes.items()) if name != FAILED]
            failed = outcomes.get(FAILED, 0)
            lines.append(f"| {kind} | {self.tried(kind):,} | {failed:,} | {', '.join(others)} |")
        total = sum(map(self.tried, self.tally))
        return "\n".join([*lines, f"| all | {total:,} | {self.failures():,} | |"])


@cache
def revision() -> str:
    """The revision of the source."""
    from unirex.training.run_folder import git_revision

    return git_revision() or "unknown"
