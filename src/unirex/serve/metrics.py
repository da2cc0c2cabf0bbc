"""What Prometheus reads at `/metrics`. Labels are routes and names of systems, so there are few of them."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from unirex.serve.batching import Batcher

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)
TOKENS = (16, 64, 256, 1024, 4096, 16_384)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counts of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        shared: Any = {"registry": self.registry}
        self.requests = Counter(
            "unirex_requests", "Requests answered.", ["route", "method", "status"], **shared
        )
        self.seconds = Histogram(
            "unirex_request_seconds", "From a request to its answer.", ["route"], buckets=SECONDS, **shared
        )
        self.texts = Counter("unirex_texts", "Texts run.", ["model"], **shared)
        self.tokens = Counter("unirex_tokens", "Tokens of the texts run.", ["model"], **shared)
        self.batch_texts = Histogram(
            "unirex_batch_texts", "Texts run together.", ["model"], buckets=TEXTS, **shared
        )
        self.batch_tokens = Histogram(
            "unirex_batch_tokens", "Tokens run together.", ["model"], buckets=TOKENS, **shared
        )
        self.batch_seconds = Histogram(
            "unirex_batch_seconds", "Time of a batch.", ["model"], buckets=SECONDS, **shared
        )
        self.in_hand = Gauge("unirex_requests_in_hand", "Requests being answered.", **shared)

    def batch(self, question: Any, texts: int, tokens: int, seconds: float) -> None:
        """Count a batch."""
        model = question.model
        self.texts.labels(model).inc(texts)
        self.tokens.labels(model).inc(tokens)
        self.batch_texts.labels(model).observe(texts)
        self.batch_tokens.labels(model).observe(tokens)
        self.batch_seconds.labels(model).observe(seconds)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def watch(self, batcher: Batcher) -> None:
        """Show what waits in the queue."""
        shared: Any = {"registry": self.registry}
        gauges = {
            "unirex_queue_texts": ("Texts that wait.", lambda: len(batcher.queue.jobs)),
            "unirex_queue_tokens": ("Tokens that wait.", lambda: batcher.queue.tokens),
            "unirex_queue_seconds": ("Time to run what waits, by estimate.", lambda: batcher.queue.seconds),
            "unirex_texts_dropped": ("Texts of requests that were cancelled.", lambda: batcher.dropped),
        }
        for name, (about, value) in gauges.items():
            Gauge(name, about, **shared).set_function(value)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
