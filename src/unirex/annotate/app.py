"""The application in which people annotate: one page, a few routes, no model."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import asdict
from hmac import compare_digest
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from unirex.annotate.items import MOST_SPANS, Reply
from unirex.annotate.project import LONGEST_REASON, Annotator, Project
from unirex.annotate.status import status_of
from unirex.database import StoreError
from unirex.errors import UserError, one_line
from unirex.report.markup import element
from unirex.report.page import header
from unirex.serve.errors import ApiError, failed, handle_errors, unauthorized
from unirex.serve.guard import Guard
from unirex.serve.live import live_page, resource
from unirex.serve.sessions import Attempts, Sessions
from unirex.serve.settings import KEY, Settings, is_loopback

MOST_LABELS = 1000  # of one reply
MOST_SEGMENTS = 100
Number = Annotated[int, Field(ge=0, lt=1 << 53)]
router = APIRouter()
log = logging.getLogger("unirex.serve")


class Body(BaseModel):
    """What a page sends; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Joining(Body):
    """Who begins: a code, or on the owner's machine a name."""

    who: Annotated[str, Field(max_length=200)]


class OneText(Body):
    """A text by its number."""

    text: Number


class Saving(OneText):
    """An annotation."""

    version: Number
    label: Annotated[list[Number], Field(max_length=MOST_LABELS)]
    marks: Annotated[
        list[Annotated[list[Annotated[list[Number], Field(max_length=2)]], Field(max_length=MOST_SPANS)]],
        Field(max_length=MOST_SEGMENTS),
    ]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class Skipping(OneText):
    """A text that is left to others."""

    version: Number
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


class Nothing(Body):
    """A body without fields: browsers of other sites cannot send JSON without asking first."""


def create_app(
    project: Project, settings: Settings | None = None, *, origins: Collection[str] = ()
) -> FastAPI:
    """An ASGI application for one annotation.

    Args:
        project: the annotation.
        settings: host, key and limits; by default for this machine's own user.
        origins: further ones it is known by, such as that of a proxy in front; they need a key.
    """
    settings = settings or Settings()
    check_origins(settings, origins)
    app = FastAPI(title="unirex annotate", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.project, app.state.settings = project, settings
    app.state.sessions = Sessions(project.store.secret(), kind="annotator")
    app.state.attempts = Attempts()
    app.include_router(router)
    app.add_middleware(Guard, settings=settings, origins=origins)
    handle_errors(app)

    @app.exception_handler(StoreError)
    async def broken(_: Request, error: StoreError) -> Response:
        log.error("%s", one_line(error))
        return failed().response()

    return app


def check_origins(settings: Settings, origins: Collection[str]) -> None:
    """Refuse further origins without a key: other machines ask by them, whatever the host is."""
    if origins and settings.api_key is None:
        raise UserError(
            f"--url {', '.join(origins)}: other machines could ask without a key; "
            f"give --api_key, or set {KEY}."
        )


def _project(request: Request) -> Project:
    return request.app.state.project


def _me(request: Request) -> Annotator:
    """The person that the request acts for."""
    subject = request.app.state.sessions.subject(request)
    if subject is None:
        raise ApiError(401, "unauthorized", "say who you are first.")
    return _project(request).annotator(int(subject))


Me = Annotated[Annotator, Depends(_me)]


def _names(request: Request) -> bool:
    """Whether people may join by a name of their own: only where no other machine can ask."""
    settings: Settings = request.app.state.settings
    return is_loopback(settings.host) and settings.api_key is None


@router.get("/")
def page(request: Request) -> Response:
    """The page; its script asks for all else."""
    definition = _project(request).definition
    names = "true" if _names(request) else "false"
    body = [
        header("annotation", definition.title, "Mark the words that decide, choose the label, save"),
        element("p", role="alert", id="alert"),
        element("p", role="status", id="status", class_="hidden-text"),
        element("div", id="annotate", data_names=names),
        element("noscript", element("p", "This page needs JavaScript.")),
    ]
    return live_page(definition.title, body, scripts=["annotate.js"], style=resource("annotate.css"))


@router.post("/join")
def join(body: Joining, request: Request, response: Response) -> dict[str, Any]:
    """Begin or come back; the browser gets a session."""
    project, attempts = _project(request), request.app.state.attempts
    attempts.check(request)
    try:
        me = project.join(body.who)
    except StoreError:
        raise
    except UserError:
        if not _names(request):
            attempts.wrong(request)
            raise
        me = project.join_by_name(body.who)
    request.app.state.sessions.begin(request, response, str(me.number))
    return _about(request, me)


@router.get("/session")
def session(request: Request, me: Me) -> dict[str, Any]:
    """Who the browser acts for, and what is the same for all texts."""
    return _about(request, me)


def _about(request: Request, me: Annotator) -> dict[str, Any]:
    definition = _project(request).definition
    return {
        "me": me.name,
        "names": _names(request),
        "multi_label": definition.multi_label,
        "guidelines": definition.guidelines,
        "digest": definition.digest[:16],
        "progress": _project(request).progress(me),
    }


@router.post("/leave")
def leave(body: Nothing, request: Request, response: Response) -> dict[str, Any]:
    """End the session of this browser; what was saved stays."""
    request.app.state.sessions.end(request, response)
    return {}


@router.post("/next")
def following(body: Nothing, request: Request, me: Me) -> dict[str, Any]:
    """The text that this person annotates now."""
    project = _project(request)
    item = project.next(me)
    waiting = 0 if item is not None else project.waiting(me)
    return {
        "item": None if item is None else asdict(item),
        "waiting": waiting,
        "progress": project.progress(me),
    }


@router.get("/before")
def before(request: Request, me: Me) -> dict[str, Any]:
    """The texts that this person had, the first one first."""
    return {"texts": _project(request).before(me)}


@router.get("/texts/{text}")
def earlier(text: Number, request: Request, me: Me) -> dict[str, Any]:
    """A text that this person had before, as it stands."""
    return asdict(_project(request).item(me, text))


@router.post("/save")
def save(body: Saving, request: Request, me: Me) -> dict[str, Any]:
    """Store an annotation; it is on disk before this is answered."""
    project, reply = _project(request), Reply(tuple(body.label), body.marks)
    version = project.save(me, body.text, reply, version=body.version, seconds=body.seconds)
    return {"version": version, "progress": project.progress(me)}


@router.post("/skip")
def skip(body: Skipping, request: Request, me: Me) -> dict[str, Any]:
    """Leave a text to others."""
    project = _project(request)
    version = project.skip(me, body.text, body.reason, version=body.version)
    return {"version": version, "progress": project.progress(me)}


@router.post("/renew")
def renew(body: OneText, request: Request, me: Me) -> dict[str, Any]:
    """Keep a text longer while it is on the screen."""
    _project(request).renew(me, body.text)
    return {}


@router.get("/status")
def status(request: Request) -> dict[str, Any]:
    """Who did how much, and how far they agree: for the owner, who gives the key if the server has one."""
    settings: Settings = request.app.state.settings
    if settings.api_key is not None:
        attempts = request.app.state.attempts
        attempts.check(request)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not compare_digest(key.encode(), settings.api_key.encode()):
            attempts.wrong(request)
            raise unauthorized()
    return status_of(_project(request)).to_dict()
