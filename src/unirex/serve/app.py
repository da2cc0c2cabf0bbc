"""The application: systems, routes and guards put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

import unirex
from unirex.serve import api, kserve
from unirex.serve.errors import handle_errors
from unirex.serve.guard import Guard
from unirex.serve.reference import reference
from unirex.serve.service import Service
from unirex.serve.settings import Settings
from unirex.system import System

ABOUT = (
    "Text classifiers that show their reasons. Errors are {error, error_type}; a server with a key wants "
    "Authorization: Bearer KEY."
)
OPEN_PATHS = (  # answered without a key: they tell nothing about texts or systems
    "/docs",
    "/openapi.json",
    "/health",
    "/health/live",
    "/health/ready",
    "/v2/health/live",
    "/v2/health/ready",
)
pages = APIRouter(include_in_schema=False)


def create_app(
    systems: Mapping[str, System],
    settings: Settings | None = None,
    *,
    routers: Sequence[APIRouter] = (),
    open_paths: Sequence[str] = (),
) -> FastAPI:
    """An ASGI application that answers for these systems.

    Args:
        systems: by the names that requests use; the first is the default.
        settings: limits, key, batching; by default for this machine's own user.
        routers: further routes; they find the `Service` in `request.app.state.service`.
        open_paths: paths of theirs that need no key.
    """
    settings = settings or Settings()
    service = Service(systems, settings)
    app = FastAPI(
        title="unirex",
        version=unirex.__version__,
        description=ABOUT,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    for router in (api.router, kserve.router, pages, *routers):
        app.include_router(router)
    app.add_middleware(
        Guard, settings=settings, metrics=service.metrics, open_paths=(*OPEN_PATHS, *open_paths)
    )
    handle_errors(app)
    _describe_key(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.start()
    try:
        yield
    finally:
        await anyio.to_thread.run_sync(service.close)


@pages.get("/docs")
async def docs(request: Request) -> Response:
    """The API as a page."""
    return HTMLResponse(reference(request.app.openapi()))


def _describe_key(app: FastAPI) -> None:
    """Say in OpenAPI that a key may be needed, and everywhere but at the open paths."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            schema.setdefault("components", {})["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer"}
            }
            for path, methods in schema["paths"].items():
                for operation in methods.values():
                    operation["security"] = [{}] if path in OPEN_PATHS else [{"key": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
