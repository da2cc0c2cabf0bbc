"""A user study in the browser: people join by a code and answer; its owner sees how far they are."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request, Response

from unirex.errors import one_line
from unirex.serve.errors import handle_errors, unavailable
from unirex.serve.guard import Guard
from unirex.serve.sessions import origin_of
from unirex.serve.settings import Settings
from unirex.serve.study import owner, people
from unirex.serve.study.web import StudyWeb
from unirex.user_study.store import StoreError
from unirex.user_study.study import UserStudy

__all__ = ["create_study_app"]
log = logging.getLogger("unirex.serve")


def create_study_app(study: UserStudy, settings: Settings, *, url: str | None = None) -> FastAPI:
    """An ASGI application that asks the people of a study. It loads no model.

    Args:
        study: to ask.
        settings: host and limits; its key opens the owner's pages.
        url: address that people reach the server by, if a proxy stands in front.
    """
    app = FastAPI(title="unirex study", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.web = StudyWeb.of(study, settings.api_key)
    for router in (people.router, owner.router):
        app.include_router(router)
    app.add_middleware(Guard, settings=settings, origins=[] if url is None else [origin_of(url)])
    handle_errors(app)

    @app.exception_handler(StoreError)
    async def not_stored(_: Request, error: StoreError) -> Response:
        log.error("%s", one_line(error))
        return unavailable("the study's answers cannot be reached now; try again in a moment.").response()

    return app
