"""All systems of a server and the way of a request through them: read, wait, run, answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from unirex.data.example import Example
from unirex.encoding.batch import Encoded
from unirex.errors import UserError
from unirex.printable import printable
from unirex.serve.answers import Ask, Plain
from unirex.serve.batching import Batcher
from unirex.serve.errors import ApiError, ClientGoneError, invalid, too_large, unavailable
from unirex.serve.metrics import Metrics
from unirex.serve.served import Served
from unirex.serve.settings import Settings
from unirex.system import System

log = logging.getLogger(__name__)
T = TypeVar("T")
Gone = Callable[[], Awaitable[None]]  # returns when the client has gone away


class Service:
    """What an application answers with.

    Args:
        systems: by the names that requests use; the first is the default.
        settings: of the server.
    """

    def __init__(self, systems: Mapping[str, System], settings: Settings) -> None:
        if not systems:
            raise UserError("there is nothing to serve; name a system: unirex serve runs/slm")
        self.settings, self.metrics = settings, Metrics()
        self.systems = {name: Served(name, system) for name, system in systems.items()}
        self.batcher = Batcher(
            self._run, limits=settings.limits, batching=settings.batching, observe=self.metrics.batch
        )
        self.metrics.watch(self.batcher)
        # One thread, as tokenizers keep state while they run.
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="unirex-reading")
        self._unwatch: list[Callable[[], None]] = []

    @property
    def ready(self) -> bool:
        """Whether requests are accepted."""
        return self.batcher.thread.is_alive() and not self.batcher.stopping

    def start(self) -> None:
        """Begin to run what is submitted."""
        self._unwatch = [system.watch(self.batcher.between_chunks) for system in self.systems.values()]
        self.batcher.start()

    def close(self) -> None:
        """Finish what was accepted, and end."""
        self.batcher.close()
        self._reader.shutdown()
        for end in self._unwatch:
            end()

    def served(self, name: str | None) -> Served:
        """The system of a name; without one, the first."""
        if name is None:
            return next(iter(self.systems.values()))
        if name not in self.systems:
            known = ", ".join(self.systems)
            raise ApiError(404, "not_found", f"there is no model of this name; known: {known}.")
        return self.systems[name]

    async def answer(
        self,
        served: Served,
        ask: Callable[[], Ask],
        texts: Sequence[Any],
        *,
        truncate: bool = False,
        gone: Gone | None = None,
    ) -> list[Plain]:
        """The answers to the texts of a request, which runs together with others."""
        limits = self.settings.limits
        if not texts:
            raise invalid("there is no text to answer for.")
        if len(texts) > limits.inputs:
            raise too_large(f"{len(texts)} texts; a request may have {limits.inputs}.")
        if not self.ready:
            raise unavailable("the server is stopping.")
        if self.settings.log_texts:
            log.info("texts for %s: %s", served.name, printable(repr(texts)))

        def read() -> tuple[Ask, list[Example], list[Encoded]]:
            return ask(), *served.read(texts, limits, truncate=truncate)

        loop = asyncio.get_running_loop()
        request = self.batcher.submit(*await loop.run_in_executor(self._reader, read))
        try:
            return await _until_gone(asyncio.wrap_future(request.future), gone, limits.timeout)
        except TimeoutError:
            raise unavailable(f"no answer within {limits.timeout:g} s.") from None

    def _run(self, ask: Ask, examples: Sequence[Example], encoded: Sequence[Encoded]) -> Sequence[Plain]:
        return self.systems[ask.model].answer(ask, examples, encoded)


async def _until_gone(answer: asyncio.Future[T], gone: Gone | None, timeout: float) -> T:
    """The answer; it is cancelled when the client goes away, and when it takes too long."""
    left = asyncio.ensure_future(gone()) if gone is not None else None
    waiting: set[asyncio.Future[Any]] = {answer, left} if left is not None else {answer}
    try:
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        if left is not None and left.done():
            raise ClientGoneError
        raise TimeoutError
    finally:
        answer.cancel()  # an answer that is complete stays as it is
        if left is not None:
            left.cancel()
