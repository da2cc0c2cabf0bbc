"""What every request passes before a route sees it: host, key, size, number; logs and counts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from hmac import compare_digest
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unirex.report.page import policy
from unirex.serve.errors import (
    ApiError,
    ClientGoneError,
    failed,
    malformed,
    overloaded,
    too_large,
    unauthorized,
)
from unirex.serve.sessions import check_origin
from unirex.serve.settings import Settings, is_loopback

if TYPE_CHECKING:
    from unirex.serve.metrics import Metrics

log = logging.getLogger("unirex.serve")
SAFE_HEADERS = {
    "Content-Security-Policy": f"{policy()}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
CLIENT_GONE = 499  # what other servers log, too, when there was no one to answer


class Guard:
    """Middleware: refuses what must not reach a route, reads bodies within limits, logs and counts.

    Args:
        app: what comes after it.
        settings: of the server.
        metrics: where requests are counted; None: nowhere.
        open_paths: answered without a key.
        origins: None: requests carry the key. Else they carry a session, which the routes check; the guard
            sees that they come from pages of this server, which is also known by these origins.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        metrics: Metrics | None = None,
        open_paths: Collection[str] = (),
        origins: Collection[str] | None = None,
    ) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.open_paths, self.origins = frozenset(open_paths), origins
        self.in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        # Anything else, such as a web socket, gets no answer.

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin, status = time.perf_counter(), 0

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._count(1)
        try:
            self._check(scope)
            await self.app(scope, await self._received(scope, receive), answered)
        except ApiError as error:
            await error.response()(scope, receive, answered)
        except ClientGoneError:
            status = CLIENT_GONE
        except Exception as error:
            log.error("%s %s: %s", scope["method"], _route(scope), type(error).__name__)
            if not status:
                await failed().response()(scope, receive, answered)
        finally:
            self._count(-1)
            self._note(scope, status, time.perf_counter() - begin)

    def _count(self, change: int) -> None:
        self.in_hand += change
        if self.metrics is not None:
            self.metrics.in_hand.set(self.in_hand)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """Log and count a request by its route: paths, queries and bodies are a client's and may be texts."""
        route = _route(scope)
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other"
        if self.metrics is not None:
            self.metrics.request(route, method, status, seconds)
        log.info("%s %s %d %.0f ms", method, route, status, 1000 * seconds)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self.origins is not None:
            self._check_page(scope, headers)
        elif self.settings.api_key is None:
            self._check_host(headers.get("host", ""), fix="a key")
        elif scope["path"] not in self.open_paths:
            self._check_key(headers.get("authorization", ""))
        if self.in_hand > self.settings.limits.requests:
            raise overloaded(1)
        if scope["method"] in ("POST", "PUT", "PATCH"):
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise ApiError(415, "malformed", "send JSON: Content-Type: application/json")

    def _check_page(self, scope: Scope, headers: Headers) -> None:
        """Of requests with a session: a server of this machine by its own names, changes by its own pages."""
        if is_loopback(self.settings.host) and not self.origins:
            self._check_host(headers.get("host", ""), fix="--url")
        if scope["method"] not in ("GET", "HEAD"):
            check_origin(headers, scope["scheme"], origins=self.origins or ())

    def _check_host(self, host: str, *, fix: str) -> None:
        """Only this machine's own names, where no key is asked: a page that renames itself could ask else."""
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if not is_loopback(name):
            raise ApiError(403, "forbidden", f"this server answers to localhost only; start it with {fix}.")

    def _check_key(self, given: str) -> None:
        scheme, _, key = given.partition(" ")
        right = compare_digest(key.encode("utf-8"), (self.settings.api_key or "").encode("utf-8"))
        if scheme.lower() != "bearer" or not right:
            raise unauthorized()

    async def _received(self, scope: Scope, receive: Receive) -> Receive:
        """The body read as a whole, within limits of size and time; then what else there is to receive."""
        limits = self.settings.limits
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal():
            raise malformed("Content-Length is not a number.")
        if int(length[:20]) > limits.bytes:
            raise too_large(f"the body is larger than {limits.bytes} bytes.")
        try:
            body = await asyncio.wait_for(_body(receive, limits.bytes), limits.body_timeout)
        except TimeoutError:
            raise malformed(f"the body did not arrive within {limits.body_timeout:g} s.") from None
        first = True

        async def replay() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        return replay


async def _body(receive: Receive, most: int) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > most:
            raise too_large(f"the body is larger than {most} bytes.")
        parts.append(part)
    return b"".join(parts)


def _route(scope: Scope) -> str:
    """The pattern of the route that a request matched."""
    return getattr(scope.get("route"), "path", None) or "unmatched"
