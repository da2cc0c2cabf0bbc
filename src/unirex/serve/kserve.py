"""KServe's protocols: v1 `:predict` and `:explain`, and the health and metadata of v2."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

import unirex
from unirex.serve import schemas
from unirex.serve.api import FAILURES, answer, as_json, ready, service_of

router = APIRouter(tags=["KServe"])


@router.get("/v1/models")
async def models(request: Request) -> Response:
    """The names of the systems."""
    return as_json({"models": list(service_of(request).systems)})


@router.get("/v1/models/{name}", responses={404: FAILURES[404], 503: FAILURES[503]})
async def model(name: str, request: Request) -> Response:
    """Whether a system is ready."""
    served = service_of(request).served(name)
    await ready(request)
    return as_json({"name": served.name, "ready": True})


@router.post("/v1/models/{name}:predict", response_model=schemas.KServePredictions, responses=FAILURES)
async def predict(name: str, body: schemas.InstancesBody, request: Request) -> Response:
    """Classify texts."""
    served = service_of(request).served(name)
    truncate = body.parameters is not None and body.parameters.truncate
    return as_json({"predictions": await answer(request, served, None, body.texts(), truncate=truncate)})


@router.post("/v1/models/{name}:explain", response_model=schemas.KServeExplanations, responses=FAILURES)
async def explain(name: str, body: schemas.InstancesBody, request: Request) -> Response:
    """Classify texts and show the reasons."""
    served, asked = service_of(request).served(name), body.parameters or schemas.Parameters()
    results = await answer(request, served, asked, body.texts(), truncate=asked.truncate)
    return as_json({"explanations": results})


@router.get("/v2")
async def server() -> Response:
    """The name and version of the server."""
    return as_json({"name": "unirex", "version": unirex.__version__, "extensions": []})


@router.get("/v2/health/live")
async def live() -> Response:
    """Whether the process answers at all."""
    return as_json({"live": True})


@router.get("/v2/health/ready", responses={503: FAILURES[503]})
async def server_ready(request: Request) -> Response:
    """Whether requests are accepted."""
    return await ready(request)


@router.get("/v2/models/{name}/ready", responses={404: FAILURES[404], 503: FAILURES[503]})
async def model_ready(name: str, request: Request) -> Response:
    """Whether a system is ready."""
    return await model(name, request)
