"""Who runs shards: workers that each hold a model, are given one shard at a time, and may die."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from unirex.errors import UserError
from unirex.files import Advance
from unirex.scale.shards import Shard

DEATHS = 3  # of its workers, after which a shard is given up


@dataclass(frozen=True)
class Outcome:
    """What is known of a finished shard: facts for the manifest, and what the caller puts together."""

    facts: Mapping[str, Any]
    value: Any = None


RunShard = Callable[[Shard, Advance], Outcome]


@dataclass(frozen=True)
class Memory:
    """What a worker holds in bytes: with its model loaded, and what a batch adds at most (None: unknown)."""

    loaded: int
    batch: int | None

    def said(self, workers: int) -> str:
        """What one worker holds, and all of them."""
        most, known = self.loaded + (self.batch or 0), self.batch is not None
        parts = f" at most ({_size(self.loaded)} with its model, {_size(self.batch or 0)} for a batch)"
        rest = "" if known else "; what batches add is predicted for learnt scores and gradients only"
        return (
            f"note: a worker holds about {_size(most)} of memory{parts if known else ' with its model'} "
            f"beside texts of its shard; all {workers}, about {_size(workers * most)}{rest}"
        )


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 10**8 else f"{number / 1e6:.0f} MB"


@dataclass(frozen=True)
class Opened:
    """What a worker has loaded: how it runs a shard, and what it will hold."""

    run: RunShard
    memory: Memory | None = None


class Work(Protocol):
    """What is done with shards; plain values, so that it can be sent to any process."""

    def open(self) -> Opened:
        """Load what all shards need, once in a process."""


@dataclass(frozen=True)
class Ready:
    """A worker can take a shard."""

    worker: Hashable


@dataclass(frozen=True)
class Loaded:
    """A worker has loaded its model, and says what it will hold."""

    worker: Hashable
    memory: Memory | None


@dataclass(frozen=True)
class Done:
    """A worker finished its shard, and can take another."""

    worker: Hashable
    outcome: Outcome


@dataclass(frozen=True)
class Failed:
    """A shard cannot be done: a mistake of the user, or else an error with its traceback."""

    worker: Hashable
    message: str
    mistake: bool


@dataclass(frozen=True)
class Died:
    """A worker is gone, and why, as far as it is known."""

    worker: Hashable
    why: str = "its process was killed"


Event = Ready | Loaded | Done | Failed | Died
Advanced = Callable[[Hashable, int], object]  # a worker finished some texts of its shard


class Crew(AbstractContextManager["Crew"], Protocol):
    """Workers of one engine; at the end of the block all of them are stopped."""

    def start(self) -> None:
        """Start one more worker; a `Ready` says when it can take a shard."""

    def give(self, worker: Hashable, shard: Shard) -> None:
        """Let a worker that is ready run a shard."""

    def events(self, advanced: Advanced) -> Iterable[Event]:
        """What has happened; waits until something has. Texts that are finished meanwhile are counted."""


@dataclass
class _Shift:
    """Which worker has which shard, and how many texts are finished."""

    advance: Advance
    waiting: deque[Shard] = field(default_factory=deque)
    busy: dict[Hashable, Shard] = field(default_factory=dict)
    idle: list[Hashable] = field(default_factory=list)
    alive: int = 0  # those that are starting, too
    counted: Counter[Hashable] = field(default_factory=Counter)  # texts of the shard at hand, by worker
    deaths: Counter[int] = field(default_factory=Counter)  # by number of the shard; -1: at the start

    def hand_out(self, crew: Crew, workers: int) -> None:
        """Give shards to workers that are ready, and start workers for the others."""
        while self.idle and self.waiting:
            worker, shard = self.idle.pop(), self.waiting.popleft()
            self.busy[worker] = shard
            crew.give(worker, shard)
        while self.alive < min(workers, len(self.busy) + len(self.waiting)):
            crew.start()
            self.alive += 1

    def count(self, worker: Hashable, texts: int) -> None:
        """A worker finished some texts of its shard."""
        self.counted[worker] += texts
        self.advance(texts)

    def finish(self, event: Done) -> Shard:
        """The shard that is done; its worker can take another."""
        self.idle.append(event.worker)
        self.advance(int(event.outcome.facts.get("texts", 0)) - self.counted.pop(event.worker, 0))
        return self.busy.pop(event.worker)

    def lose(self, event: Failed | Died) -> None:
        """Put the shard of a worker that died back; what cannot be done at all is raised."""
        shard = self.busy.pop(event.worker, None)
        if isinstance(event, Failed):
            if event.mistake:
                raise UserError(event.message)
            raise RuntimeError(f"{shard or 'a worker'} failed:\n{event.message}")
        self.alive -= 1
        self.idle = [worker for worker in self.idle if worker != event.worker]
        self.advance(-self.counted.pop(event.worker, 0))  # these texts are run again
        number = -1 if shard is None else shard.number
        self.deaths[number] += 1
        if self.deaths[number] >= DEATHS:
            what = shard or "starting a worker"
            raise UserError(
                f"{what}: failed {DEATHS} times ({event.why}), perhaps for lack of memory; try fewer "
                "--workers. What is finished is kept, and the same command goes on."
            )
        if shard is not None:
            self.waiting.appendleft(shard)


def run_shards(
    shards: Iterable[Shard],
    crew: Crew,
    *,
    workers: int,
    advance: Advance | None = None,
    tell: Callable[[str], object] | None = None,
) -> Iterator[tuple[Shard, Outcome]]:
    """Run all shards, each by one worker; they come out as they finish.

    A shard whose worker dies is given to another one; after three deaths it is an error. Of the shards only
    as many as there are workers are taken in advance. `tell` is called with a line on memory, when the first
    worker has loaded its model and before it runs anything.
    """
    shift, source = _Shift(advance or (lambda _: None)), iter(shards)
    with crew:
        while True:
            shift.waiting.extend(islice(source, workers - len(shift.waiting)))
            if not shift.waiting and not shift.busy:
                return
            shift.hand_out(crew, workers)
            for event in crew.events(shift.count):
                if isinstance(event, Ready):
                    shift.idle.append(event.worker)
                elif isinstance(event, Loaded):
                    if tell is not None and event.memory is not None:
                        tell(event.memory.said(workers))
                    tell = None
                elif isinstance(event, Done):
                    yield shift.finish(event), event.outcome
                else:
                    shift.lose(event)
