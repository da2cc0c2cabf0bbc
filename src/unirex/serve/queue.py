"""Texts that wait, and which of them run next: short ones first, no request at the cost of others.

Every text gets a turn when it arrives: the present turn plus the seconds that it takes, by estimate, and
that the texts before it in its own request take. The earliest turn leads the next batch, which is filled up
with texts that are asked the same. So the texts of a large request take turns with other requests, a slow
text lets quick ones pass, and one that has waited for `patience` seconds goes next whatever it costs.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from unirex.data.example import Example
from unirex.encoding.batch import Encoded
from unirex.serve.settings import Batching

FIRST_GUESS = 1e-4  # seconds a token, before anything was measured
NEWS = 0.3  # weight of the last batch in the pace


class Question(Protocol):
    """What is asked of a text. Texts with equal questions run together."""

    @property
    def kind(self) -> Hashable:
        """What decides how long a token takes; there are few of them."""

    @property
    def passes(self) -> int:
        """How many times the encoder runs over a text, roughly."""

    def lets_pass(self, other: Any) -> bool:
        """Whether texts that are asked another question may run between two chunks of its own."""

    def __hash__(self) -> int: ...


@dataclass(eq=False)
class Request:
    """The texts of one request; its future gets all results, or the first error."""

    size: int
    future: Future[list[Any]] = field(default_factory=Future)
    results: dict[int, Any] = field(default_factory=dict)

    @property
    def gone(self) -> bool:
        """Whether no one waits for further results: cancelled, or failed already."""
        return self.future.done()

    def put(self, number: int, result: Any) -> None:
        """Take the result of one text; with the last one the request is answered."""
        self.results[number] = result
        if len(self.results) == self.size:
            with suppress(InvalidStateError):  # cancelled meanwhile
                self.future.set_result([self.results[number] for number in range(self.size)])

    def fail(self, error: BaseException) -> None:
        """Answer with an error."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


@dataclass(eq=False)
class Job:
    """One text of a request."""

    request: Request
    number: int
    example: Example
    encoded: Encoded
    question: Question
    since: float = field(default_factory=time.monotonic)
    turn: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens that the encoder runs for it in one pass."""
        return self.encoded.length


class Pace:
    """Seconds a token for each kind of question, measured as batches run."""

    def __init__(self) -> None:
        self._seconds: dict[Hashable, float] = {}

    def seconds(self, question: Question, tokens: int) -> float:
        """How long this many tokens take, by estimate."""
        return tokens * self._seconds.get(question.kind, FIRST_GUESS * question.passes)

    def measured(self, question: Question, tokens: int, seconds: float) -> None:
        """Learn from a batch."""
        now = seconds / max(tokens, 1)
        before = self._seconds.get(question.kind, now)
        self._seconds[question.kind] = (1 - NEWS) * before + NEWS * now


class Queue:
    """Waiting texts. It knows no threads: whoever shares it holds a lock."""

    def __init__(self, batching: Batching) -> None:
        self.batching, self.pace, self.turn = batching, Pace(), 0.0
        self.jobs: list[Job] = []

    def add(self, jobs: Iterable[Job]) -> None:
        """Take the texts of one request."""
        turn = self.turn
        for job in jobs:
            turn += self.cost(job)
            job.turn = turn
            self.jobs.append(job)

    def cost(self, job: Job) -> float:
        """Seconds a text takes, by estimate."""
        return self.pace.seconds(job.question, job.tokens)

    def drop_gone(self) -> int:
        """Forget the texts no one waits for; how many there were."""
        before = len(self.jobs)
        self.jobs = [job for job in self.jobs if not job.request.gone]
        return before - len(self.jobs)

    @property
    def tokens(self) -> int:
        """Of all that wait."""
        return sum(job.tokens for job in self.jobs)

    @property
    def seconds(self) -> float:
        """Until all that wait is done, by estimate."""
        return sum(map(self.cost, self.jobs))

    def take(self, *, beside: Question | None = None) -> list[Job]:
        """The next batch, taken from the queue; empty if there is none.

        Args:
            beside: the question of a batch that is paused; only quick texts are taken that it lets pass.
        """
        self.drop_gone()
        waiting = self.jobs
        if beside is not None:
            waiting = [job for job in waiting if self._is_quick(job) and beside.lets_pass(job.question)]
        if not waiting:
            return []
        lead = self._lead(waiting)
        batch = self._filled(lead, waiting)
        self.turn = max(self.turn, lead.turn)
        taken = set(map(id, batch))
        self.jobs = [job for job in self.jobs if id(job) not in taken]
        return batch

    def _is_quick(self, job: Job) -> bool:
        return self.cost(job) <= self.batching.seconds and job.tokens <= self.batching.tokens

    def _lead(self, waiting: Sequence[Job]) -> Job:
        """The text that goes next: the one with the earliest turn, or one that has waited long enough."""
        oldest = min(waiting, key=lambda job: job.since)
        if time.monotonic() - oldest.since >= self.batching.patience:
            return oldest
        return min(waiting, key=lambda job: job.turn)

    def _filled(self, lead: Job, waiting: Sequence[Job]) -> list[Job]:
        """The lead, and others that are asked the same, as many as a batch takes."""
        batch, tokens, seconds = [lead], lead.tokens, self.cost(lead)
        others = (job for job in waiting if job is not lead and job.question == lead.question)
        for job in sorted(others, key=lambda job: job.turn):
            tokens, seconds = tokens + job.tokens, seconds + self.cost(job)
            limits = self.batching
            if len(batch) == limits.texts or tokens > limits.tokens or seconds > limits.seconds:
                break
            batch.append(job)
        return batch
