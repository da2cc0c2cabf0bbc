"""Micro-batching: one thread that runs what waits, so that requests which wait together run together.

Models run in this thread only, one batch at a time, whatever the number of systems and clients: memory is
that of one batch, and models need no locks.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from unirex.data.example import Example
from unirex.encoding.batch import Encoded
from unirex.errors import UserError
from unirex.serve.errors import failed, overloaded, unavailable
from unirex.serve.queue import Job, Question, Queue, Request
from unirex.serve.settings import Batching, Limits

log = logging.getLogger(__name__)
Run = Callable[[Any, Sequence[Example], Sequence[Encoded]], Sequence[Any]]  # (question, …) -> results
Observe = Callable[[Any, int, int, float], None]  # (question, texts, tokens, seconds)


class AbandonedError(Exception):
    """No one waits for the running batch any more."""


class Batcher:
    """Runs texts in batches, in a thread of its own.

    Args:
        run: the results for texts that are asked one question.
        limits: how much may wait.
        batching: how much runs together.
        observe: called after every batch.
    """

    def __init__(
        self, run: Run, *, limits: Limits, batching: Batching, observe: Observe | None = None
    ) -> None:
        self.run, self.limits, self.batching = run, limits, batching
        self.observe: Observe = observe or (lambda *_: None)
        self.queue, self.changed, self.stopping = Queue(batching), threading.Condition(), False
        self.dropped = 0  # texts of cancelled requests that were not run to their end
        self._running: list[Job] = []
        self._since, self._paused, self._last = 0.0, 0.0, 1
        self._nested = False
        self.thread = threading.Thread(target=self._loop, name="unirex-batches", daemon=True)

    def start(self) -> None:
        """Begin to run what waits."""
        self.thread.start()

    def close(self) -> None:
        """Accept nothing more, finish what was accepted, and end."""
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        if self.thread.is_alive():
            self.thread.join()

    def submit(self, question: Question, examples: Sequence[Example], encoded: Sequence[Encoded]) -> Request:
        """Accept the texts of a request; refused with 429 if too much waits, with 503 at the end."""
        request = Request(len(examples))
        pairs = enumerate(zip(examples, encoded, strict=True))
        jobs = [Job(request, number, example, item, question) for number, (example, item) in pairs]
        with self.changed:
            self._check_room(jobs)
            self.queue.add(jobs)
            self.changed.notify_all()
        return request

    def _check_room(self, jobs: Sequence[Job]) -> None:
        if self.stopping:
            raise unavailable("the server is stopping.")
        queue, limits = self.queue, self.limits
        if not queue.jobs:
            return  # alone it may be as large as a request can be
        self.dropped += queue.drop_gone()
        if (
            len(queue.jobs) + len(jobs) > limits.waiting
            or queue.tokens + sum(job.tokens for job in jobs) > limits.waiting_tokens
            or queue.seconds > limits.wait
        ):
            raise overloaded(queue.seconds)

    def _loop(self) -> None:
        while (batch := self._next()) is not None:
            self._run(batch)

    def _next(self) -> list[Job] | None:
        """The next batch, once there is one; None at the end."""
        with self.changed:
            while not self.queue.jobs:
                if self.stopping:
                    return None
                self.changed.wait()
            # Clients that were answered together ask again within a moment.
            end = time.monotonic() + self.batching.linger
            while len(self.queue.jobs) < self._last and not self.stopping:
                if not self.changed.wait(end - time.monotonic()) or time.monotonic() >= end:
                    break
            return self.queue.take()

    def _run(self, batch: list[Job]) -> None:
        """Run a batch and answer its requests; if it fails, run every request by itself."""
        if not batch:
            return
        self._last = len(batch)
        outer, self._running = (self._running, self._since, self._paused), batch
        self._since, self._paused = time.monotonic(), 0.0
        try:
            self._answer(batch)
        except AbandonedError:
            self.dropped += len(batch)
        except Exception as error:
            requests = list(dict.fromkeys(job.request for job in batch))
            if len(requests) == 1:
                requests[0].fail(_told(error))
            else:
                for request in requests:
                    self._run([job for job in batch if job.request is request])
        finally:
            self._running, self._since, self._paused = outer

    def _answer(self, batch: list[Job]) -> None:
        question, tokens = batch[0].question, sum(job.tokens for job in batch)
        results = self.run(question, [job.example for job in batch], [job.encoded for job in batch])
        seconds = time.monotonic() - self._since - self._paused
        with self.changed:
            self.queue.pace.measured(question, tokens, seconds)
        self.observe(question, len(batch), tokens, seconds)
        for job, result in zip(batch, results, strict=True):
            job.request.put(job.number, result)

    def between_chunks(self) -> None:
        """To be called before each chunk that an encoder runs: gives up, or lets quick texts pass.

        A batch whose requests are all gone ends here. One that takes long is paused while a batch of quick
        texts runs, in the same thread.
        """
        if threading.get_ident() != self.thread.ident or not self._running:
            return
        if all(job.request.gone for job in self._running):
            raise AbandonedError
        slow = time.monotonic() - self._since - self._paused > self.batching.seconds
        if self._nested or not slow:
            return
        with self.changed:
            batch = self.queue.take(beside=self._running[0].question)
        if batch:
            begin, self._nested = time.monotonic(), True
            try:
                self._run(batch)
            finally:
                self._nested = False
                self._paused += time.monotonic() - begin


def _told(error: Exception) -> Exception:
    """The error that a client sees: a mistake of its own, or that something failed."""
    if isinstance(error, UserError):
        return error
    # Without its message, which may quote the text.
    places = "".join(traceback.format_tb(error.__traceback__))
    log.error("a batch failed: %s\n%s", type(error).__name__, places)
    return failed()
