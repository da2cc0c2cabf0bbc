"""The local engine: shards run in worker processes of this machine, or in this process if one is enough."""

from __future__ import annotations

import os
import traceback
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from unirex.errors import UserError
from unirex.experiments.workers import become_worker, worker_context
from unirex.scale.cores import threads_used
from unirex.scale.crew import (
    Advanced,
    Crew,
    Died,
    Done,
    Event,
    Failed,
    Loaded,
    Opened,
    Ready,
    RunShard,
    Work,
)
from unirex.scale.shards import Shard


class Here(Crew):
    """This process as the only worker; errors are raised as they are."""

    def __init__(self, work: Work, *, threads: int) -> None:
        self.work, self.threads = work, threads
        self.run: RunShard | None = None
        self.opened: Opened | None = None  # until it is said
        self.shard: Shard | None = None

    def start(self) -> None:
        """Load the model."""
        self.opened = self.work.open()
        self.run = self.opened.run

    def give(self, worker: Hashable, shard: Shard) -> None:
        """Keep the shard for `events`."""
        self.shard = shard

    def events(self, advanced: Advanced) -> Iterator[Event]:
        """Run the shard that was given."""
        if self.opened is not None:
            opened, self.opened = self.opened, None
            yield Loaded(self, opened.memory)
        if self.run is None or self.shard is None:
            yield Ready(self)
            return
        with threads_used(self.threads):
            outcome = self.run(self.shard, lambda count: advanced(self, count))
        self.shard = None
        yield Done(self, outcome)

    def __exit__(self, *_: object) -> None:
        self.run = None


class Processes(Crew):
    """Processes of this machine, with a connection to each."""

    def __init__(self, work: Work, *, threads: int) -> None:
        self.work, self.threads = work, threads
        # The process that forks workers, and what it has imported, is one for the whole program, as the first
        # job asks for it: multiprocessing has no other. What a later job misses, its workers import.
        self.context = worker_context("unirex.system")
        self.workers: dict[Connection, Any] = {}
        self.started: list[Connection] = []

    def start(self) -> None:
        """Start a process; it can be given a shard while it loads the model."""
        here, there = self.context.Pipe()
        process = self.context.Process(
            target=_serve, args=(there, self.work, self.threads, dict(os.environ)), daemon=True
        )
        process.start()
        there.close()  # or its end would not be seen when the process dies
        self.workers[here] = process
        self.started.append(here)

    def give(self, worker: Hashable, shard: Shard) -> None:
        """Send the shard; that a process is dead is seen in `events`."""
        with suppress(OSError):
            cast(Connection, worker).send(shard)

    def events(self, advanced: Advanced) -> Iterator[Event]:
        """What has happened; waits unless a process was just started."""
        if self.started:
            started, self.started = self.started, []
            yield from map(Ready, started)
            return
        for connection in cast(list[Connection], wait(list(self.workers))):
            try:
                news = connection.recv()
            except (EOFError, OSError):
                self._end(connection)
                yield Died(connection)
                continue
            if isinstance(news, int):
                advanced(connection, news)
            else:
                yield news(connection)

    def _end(self, connection: Connection) -> None:
        connection.close()
        self.workers.pop(connection).join()

    def __exit__(self, *_: object) -> None:
        for process in self.workers.values():
            process.kill()  # what it was doing is not noted as done, and is done next time
        for connection in list(self.workers):
            self._end(connection)


def _serve(connection: Connection, work: Work, threads: int, environment: Mapping[str, str]) -> None:
    """The life of a worker: load, then run shards until the connection ends.

    It sends how many texts are finished, and events but for who it is, which the other end knows.
    """
    become_worker(threads, environment)
    try:
        with threads_used(threads):
            opened = work.open()
            connection.send(partial(Loaded, memory=opened.memory))
            while True:
                shard = connection.recv()
                outcome = opened.run(shard, connection.send)
                connection.send(partial(Done, outcome=outcome))
    except EOFError:
        return
    except UserError as error:
        connection.send(partial(Failed, message=str(error), mistake=True))
    except Exception:
        connection.send(partial(Failed, message=traceback.format_exc(), mistake=False))
