"""Sessions of people in a browser: signed cookies, requests from our own pages only, limits on guessing."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from unirex.errors import UserError
from unirex.files import new_draft
from unirex.serve.errors import ApiError

DAYS = 30  # that a session lasts
SECRET_BYTES = 32
MOST_ADDRESSES = 10_000  # whose wrong attempts are remembered


class Sessions:
    """Who a browser acts for, in a cookie that it cannot make itself and that scripts cannot read.

    Nothing is kept on the server, so a session outlives a restart. Callers check on every request that the
    subject may still do what it asks for: a session cannot be taken back before it ends.

    Args:
        secret: that cookies are signed with, such as `kept_secret` has.
        kind: of subject; sessions of two kinds live side by side in one browser.
        days: that a session lasts.
    """

    def __init__(self, secret: bytes, *, kind: str, days: float = DAYS) -> None:
        self._secret = _signature(secret, f"sessions of {kind}")
        self.seconds = round(days * 24 * 3600)
        # Browsers share cookies between the ports of a host: two servers must not overwrite each other's.
        self.cookie = f"unirex-{kind}-{_signature(self._secret, 'cookie').hex()[:12]}"

    def begin(self, request: Request, response: Response, subject: str) -> None:
        """Give the browser a session for a subject, in place of any other of this kind."""
        ends = int(time.time()) + self.seconds
        value = f"{subject.encode('utf-8').hex()}.{ends}"
        signed = f"{value}.{_signature(self._secret, value).hex()}"
        self._set(request, response, signed, self.seconds)

    def subject(self, request: Request) -> str | None:
        """Whom the request acts for; None without a session, or with one that has ended or is not ours."""
        value, _, signature = request.cookies.get(self.cookie, "").rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8"), _signature(self._secret, value).hex().encode()):
            return None
        subject, _, ends = value.partition(".")
        return bytes.fromhex(subject).decode("utf-8") if int(ends) > time.time() else None

    def end(self, request: Request, response: Response) -> None:
        """Take the session from the browser."""
        self._set(request, response, "", 0)

    def _set(self, request: Request, response: Response, value: str, seconds: int) -> None:
        secure = request.url.scheme == "https"
        response.set_cookie(
            self.cookie, value, max_age=seconds, secure=secure, httponly=True, samesite="strict"
        )


def _signature(secret: bytes, text: str) -> bytes:
    return hmac.digest(secret, text.encode("utf-8"), hashlib.sha256)


def kept_secret(path: Path) -> bytes:
    """The secret in a file that only its owner can read; it is made when it is first asked for."""
    if not path.exists():
        with new_draft(path) as draft, suppress(FileExistsError):  # another process may have been faster
            draft.write_bytes(secrets.token_bytes(SECRET_BYTES))
            os.link(draft, path)
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise UserError(f"{path}: not a secret of sessions; remove it, and a new one is made.")
    return secret


def check_origin(headers: Headers, scheme: str, *, origins: Collection[str] = ()) -> None:
    """Refuse a request that a page of another site makes: browsers name the site in `Origin`.

    Args:
        headers: of the request.
        scheme: http or https, as the request came.
        origins: further ones that are ours, such as that of a proxy in front.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise _foreign()
    given = headers.get("origin")
    if given is not None and given not in (f"{scheme}://{headers.get('host', '')}", *origins):
        raise _foreign()


def _foreign() -> ApiError:
    return ApiError(403, "forbidden", "this request comes from another site's page.")


def origin_of(address: str) -> str:
    """The origin of an address, as browsers send it.

    >>> origin_of("https://Study.example.org:443/people/")
    'https://study.example.org'
    """
    parts = urlsplit(address)
    port = {"http": 80, "https": 443}.get(parts.scheme)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if parts.port in (None, port) else f":{parts.port}")


class Attempts:
    """Wrong codes or keys of each address; after several, the address has to wait.

    Args:
        most: wrong ones in a row of time.
        seconds: after which a wrong one is forgotten.
    """

    def __init__(self, most: int = 10, seconds: float = 60.0) -> None:
        self.most, self.seconds = most, seconds
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, request: Request) -> None:
        """Refuse an address that was wrong too often; even the right code is then not looked at."""
        with self._lock:
            times = self._recent(_address(request))
        if len(times) >= self.most:
            wait = max(1, round(times[0] + self.seconds - time.monotonic()))
            message = f"too many wrong attempts; try again in {wait} s."
            raise ApiError(429, "overloaded", message, {"Retry-After": str(wait)})

    def wrong(self, request: Request) -> None:
        """Remember a wrong one."""
        address = _address(request)
        with self._lock:
            self._wrong[address] = [*self._recent(address), time.monotonic()]
            self._wrong.move_to_end(address)
            if len(self._wrong) > MOST_ADDRESSES:
                self._wrong.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        begin = time.monotonic() - self.seconds
        return [at for at in self._wrong.get(address, ()) if at > begin]


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
