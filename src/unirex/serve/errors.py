"""What a client gets when there is no answer: `{"error": …, "error_type": …}` and a status."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from unirex.errors import UserError, one_line

_LIST = (
    "a list of strings, lists of strings (a pair or more) and objects (text, text_pair, segments, choices)"
)
TEXTS = {"inputs": f"give a string, an object, or {_LIST}", "instances": f"give {_LIST}"}
SHOWN_PROBLEMS = 3  # of a body that does not fit the schema


class ApiError(Exception):
    """A request that gets no answer.

    Args:
        status: of HTTP.
        kind: `error_type` of the body.
        message: what is wrong and how to mend it; never the text itself.
        headers: of the response.
    """

    def __init__(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message, self.headers = status, kind, message, dict(headers or {})

    def response(self) -> JSONResponse:
        """The error as a response."""
        return JSONResponse({"error": self.message, "error_type": self.kind}, self.status, self.headers)


class ClientGoneError(Exception):
    """The client closed the connection: there is no one to answer."""


def malformed(message: str) -> ApiError:
    """400: the body cannot be read."""
    return ApiError(400, "malformed", message)


def unauthorized() -> ApiError:
    """401: no key, or not the right one."""
    return ApiError(
        401, "unauthorized", "give the key: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
    )


def too_large(message: str) -> ApiError:
    """413: more than one request may ask for."""
    return ApiError(413, "too_large", message)


def invalid(message: str) -> ApiError:
    """422: a field that does not exist, or a value that does not fit."""
    return ApiError(422, "validation", message)


def overloaded(seconds: float) -> ApiError:
    """429: too much is waiting; the header says after how many seconds to try again."""
    wait = max(1, math.ceil(seconds))
    return ApiError(
        429, "overloaded", f"too much is waiting; try again in {wait} s.", {"Retry-After": str(wait)}
    )


def failed() -> ApiError:
    """500: the model failed, or the server did; what happened is in its log."""
    return ApiError(500, "backend", "the request could not be processed; the server's log says why.")


def unavailable(message: str) -> ApiError:
    """503: the server is stopping, or the answer took too long."""
    return ApiError(503, "unavailable", message, {"Retry-After": "5"})


NAMES = {400: "malformed", 404: "not_found", 405: "method_not_allowed"}


def of_status(status: int, message: str, headers: Mapping[str, str] | None = None) -> ApiError:
    """The error for a status that the framework chose."""
    return ApiError(status, NAMES.get(status, "error"), message, headers)


def of_problems(problems: Sequence[Mapping[str, Any]]) -> ApiError:
    """The error for a body that does not fit the schema: where and why, without repeating what was given."""
    if any(problem["type"] == "json_invalid" for problem in problems):
        return malformed("the body is not JSON.")
    found = list(dict.fromkeys(map(_told, problems)))
    more = len(found) - SHOWN_PROBLEMS
    return invalid("; ".join(found[:SHOWN_PROBLEMS]) + (f"; and {more} more." if more > 0 else "."))


def _told(problem: Mapping[str, Any]) -> str:
    """A problem in words; of texts what they can be, not every way in which they are not."""
    texts = next((part for part in problem["loc"] if part in TEXTS), None)
    if texts is not None and problem["type"] != "missing":
        return f"{texts}: {TEXTS[texts]}"
    return f"{_place(problem['loc'])}: {problem['msg']}"


def _place(location: Sequence[Any]) -> str:
    """A field by its path; a name that the client made up is cut short."""
    return ".".join(str(part)[:40] for part in location if part != "body") or "body"


def handle_errors(app: FastAPI) -> None:
    """Every error in the same form; a client's texts are never repeated."""

    @app.exception_handler(ApiError)
    async def refused(_: Request, error: ApiError) -> Response:
        return error.response()

    @app.exception_handler(UserError)
    async def mistaken(_: Request, error: UserError) -> Response:
        return invalid(one_line(error)).response()

    @app.exception_handler(RequestValidationError)
    async def misshapen(_: Request, error: RequestValidationError) -> Response:
        return of_problems(error.errors()).response()

    @app.exception_handler(HTTPException)
    async def chosen(_: Request, error: HTTPException) -> Response:
        return of_status(error.status_code, str(error.detail), error.headers).response()
