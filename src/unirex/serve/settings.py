"""Every setting of a server: where it listens, who may ask, how much, and what runs together."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from typing import Any

from unirex.errors import UserError

KEY = "UNIREX_API_KEY"  # variable of the environment
SHORTEST_KEY = 16  # characters


@dataclass(frozen=True)
class Limits:
    """What a request may ask for, and how much is accepted before the answer is 429.

    Args:
        inputs: texts of a request.
        bytes: of the body of a request.
        tokens: of all texts of a request; each choice counts with the text it is read with.
        parts: segments and choices of one text.
        budgets: sizes of rationales in one request.
        requests: in hand at once, from their headers to their answer.
        waiting: texts that wait to be run.
        waiting_tokens: of these texts.
        wait: seconds that the waiting texts take to run, by estimate.
        timeout: seconds from a request's acceptance to its answer; then it is dropped with 503.
        body_timeout: seconds for the body of a request to arrive.
    """

    inputs: int = 64
    bytes: int = 1_000_000
    tokens: int = 16_384
    parts: int = 32
    budgets: int = 10
    requests: int = 512
    waiting: int = 1024
    waiting_tokens: int = 131_072
    wait: float = 20.0
    timeout: float = 60.0
    body_timeout: float = 20.0

    def __post_init__(self) -> None:
        check_positive("limits", self)


@dataclass(frozen=True)
class Batching:
    """How texts of several requests run together.

    Args:
        texts: run at once, at most.
        tokens: run at once, at most; a longer text runs alone.
        seconds: a batch should take at most, by estimate; a slower text runs alone, and is paused for others.
        linger: seconds to wait for as many texts as were in the batch before.
        patience: seconds after which a text goes next, however slow it is.
    """

    texts: int = 64
    tokens: int = 8192
    seconds: float = 0.25
    linger: float = 0.002
    patience: float = 2.0

    def __post_init__(self) -> None:
        check_positive("batching", self)


@dataclass(frozen=True)
class Settings:
    """How a server behaves; its defaults are for one machine and its own user."""

    host: str = "127.0.0.1"
    api_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    batching: Batching = field(default_factory=Batching)
    log_texts: bool = False

    def __post_init__(self) -> None:
        if self.api_key is not None:
            check_key(self.api_key)
        elif not is_loopback(self.host):
            raise UserError(
                f"--host {self.host}: other machines could ask without a key; give --api_key, or set {KEY}."
            )


def check_positive(name: str, settings: Any) -> None:
    """Refuse a setting that is not above 0."""
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if not value > 0:
            raise UserError(f"{name}.{setting.name} {value}: must be above 0.")


def check_key(key: str) -> None:
    """Refuse a key that a header cannot carry or that is soon guessed; the message does not repeat it."""
    if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(
            f"the API key needs at least {SHORTEST_KEY} printable ASCII characters and no blanks."
        )


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own, which no other can reach.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
