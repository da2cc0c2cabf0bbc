"""The engines that run shards, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

from unirex.errors import UserError, unknown
from unirex.scale.cores import threads_each
from unirex.scale.crew import Crew, Work

Engine = Literal["local", "ray"]
ENGINES = get_args(Engine)


@dataclass(frozen=True)
class Staff:
    """Who runs shards, and how many of them.

    Args:
        engine: `local`: processes of this machine; `ray`: actors of a Ray cluster.
        workers: how many; None: one here, on Ray as many as have room.
        threads: CPU threads of each; None: the cores divided among the workers, on Ray one.
        address: of a Ray cluster; None: that of RAY_ADDRESS, else one is started here.
        device: where models run; each actor of Ray gets a GPU of its own if it is `cuda`.
    """

    engine: str = "local"
    workers: int | None = None
    threads: int | None = None
    address: str | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        for name in ("workers", "threads"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise UserError(f"--{name} {number}: give at least 1.")
        if self.address is not None and self.engine != "ray":
            raise UserError("--address is that of a Ray cluster; it is for --engine ray.")

    @contextmanager
    def crew(self, work: Work) -> Iterator[tuple[Crew, int]]:
        """The crew for some work, and how many workers it may start."""
        if self.engine == "ray":
            from unirex.scale.ray_engine import Actors, ray_session

            threads, gpus = self.threads or 1, int((self.device or "").startswith("cuda"))
            with ray_session(self.address, cores=self.workers and self.workers * threads) as session:
                room = session.room(self.workers, cores=threads, gpus=gpus)
                yield Actors(session, work, threads=threads, gpus=gpus), room
            return
        from unirex.scale.processes import Here, Processes

        workers = self.workers or 1
        threads = self.threads or threads_each(workers)
        yield (Here if workers == 1 else Processes)(work, threads=threads), workers
