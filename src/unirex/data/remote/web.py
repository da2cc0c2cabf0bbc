"""Requests over http and https, and nothing else: no local files, no ftp, no way down from https to http."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from unirex.errors import UserError, one_line

TIMEOUT = 30.0  # seconds in which a byte must come
NO_SUCH_RANGE = 416


@contextmanager
def opened(url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
    """The answer to a request, of a status that is no error (416 is one for the caller to judge)."""
    from unirex import __version__

    _check_scheme(url, url)
    request = Request(url, headers={"User-Agent": f"unirex/{__version__}", **headers})
    try:
        response = _opener().open(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        raise UserError(f"{url}: HTTP {error.code} {error.reason}; {_advice(error.code)}") from None
    except (HTTPException, OSError) as error:
        raise UserError(
            f"{url}: cannot be reached ({why(error)}); check the network, and HTTPS_PROXY if you need one"
        ) from None
    with response:
        yield response


def why(error: Exception) -> str:
    """What went wrong on the way, in few words."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"nothing came for {TIMEOUT:g} s"
    return one_line(reason) if isinstance(reason, Exception) else str(reason)


def _advice(status: int) -> str:
    if status in (401, 403, 404, 410):
        moved = "the server refuses it" if status < 404 else "it was moved or withdrawn"
        return f"{moved}; fetch the dataset by hand and put it into its folder below the data root"
    return "try again later"


def _check_scheme(origin: str, url: str) -> None:
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise UserError(f"{origin}: leads to '{url}', but only http and https are followed")
    if scheme == "http" and urlsplit(origin).scheme == "https":
        raise UserError(
            f"{origin}: leads to '{url}', and https to http is not followed; report it to the publisher"
        )


class _Redirects(HTTPRedirectHandler):
    """Looks where a redirect leads before it is followed."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        """Follows to http and https."""
        try:
            _check_scheme(req.full_url, urljoin(req.full_url, headers.get("Location", "")))
        except UserError:
            fp.close()
            raise
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Statuses(HTTPErrorProcessor):
    """Hands on the answer to a range that is not there; who asked for it knows what it means."""

    def http_response(self, request: Request, response: Any) -> Any:
        """Every other status is treated as usual."""
        return response if response.status == NO_SUCH_RANGE else super().http_response(request, response)

    https_response = http_response


def _opener() -> OpenerDirector:
    opener = OpenerDirector()  # by hand, as the usual one also opens file:, ftp: and data:
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, _Redirects, _Statuses):
        opener.add_handler(handler())
    return opener
