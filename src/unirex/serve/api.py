"""The routes: `/predict`, `/explain`, `/info`, `/health`, `/metrics`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response

import unirex
from unirex.serve import metrics, schemas
from unirex.serve.answers import Ask, Plain
from unirex.serve.errors import too_large, unavailable
from unirex.serve.served import Served
from unirex.serve.service import Service

router = APIRouter()
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error, "description": about}
    for status, about in {
        400: "The body cannot be read.",
        401: "The key is missing or wrong.",
        404: "There is no model of this name.",
        413: "More texts, bytes or tokens than a request may have.",
        415: "The body is not declared as JSON.",
        422: "A field or a value that does not fit.",
        429: "Too much is waiting; Retry-After says when to try again.",
        500: "The model failed.",
        503: "The server is stopping, or the answer took too long.",
    }.items()
}


def service_of(request: Request) -> Service:
    """What the application answers with."""
    return request.app.state.service


def as_json(value: Any) -> Response:
    """A response of plain JSON types; faster than by a model, and what is not a number is an error."""
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False), media_type="application/json")


async def answer(
    request: Request, served: Served, asked: schemas.Asked | None, texts: Sequence[Any], *, truncate: bool
) -> list[Plain]:
    """The answers to texts: labels, or with `asked` their reasons too."""
    service = service_of(request)

    def ask() -> Ask:
        return served.ask_label() if asked is None else ask_reasons(service, served, asked)

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return await service.answer(served, ask, texts, truncate=truncate, gone=gone)


def ask_reasons(service: Service, served: Served, asked: schemas.Asked) -> Ask:
    """The question that the options of a request make."""
    budgets: Sequence[float | None] = asked.budgets or [None if asked.budget == "all" else asked.budget]
    if asked.budget == "all":
        budgets = served.budgets()
    elif len(budgets) > service.settings.limits.budgets:
        raise too_large(f"{len(budgets)} budgets; a request may have {service.settings.limits.budgets}.")
    return served.ask_reasons(
        budgets=budgets,
        selector=asked.selector,
        unit=asked.unit,
        target=asked.target,
        contrast=asked.contrast,
        extractor=asked.extractor,
        dial=asked.dial,
        faithfulness=asked.faithfulness,
        floor=asked.floor,
    )


@router.post("/predict", response_model=schemas.Predictions, responses=FAILURES, tags=["Answers"])
async def predict(body: schemas.PredictBody, request: Request) -> Response:
    """Classify texts."""
    served = service_of(request).served(body.model)
    results = await answer(request, served, None, body.texts(), truncate=body.truncate)
    return as_json({"model": served.name, "results": results})


@router.post("/explain", response_model=schemas.Explanations, responses=FAILURES, tags=["Answers"])
async def explain(body: schemas.ExplainBody, request: Request) -> Response:
    """Classify texts and show the reasons."""
    served = service_of(request).served(body.model)
    results = await answer(request, served, body, body.texts(), truncate=body.truncate)
    return as_json({"model": served.name, "results": results})


@router.get("/info", tags=["Server"], responses={401: FAILURES[401]})
async def info(request: Request) -> Response:
    """The systems that are served, the default first, and the limits of a request."""
    service = service_of(request)
    return as_json(
        {
            "version": unirex.__version__,
            "models": [served.info() for served in service.systems.values()],
            "limits": asdict(service.settings.limits),
        }
    )


@router.get("/health/live", tags=["Server"])
async def live() -> Response:
    """Whether the process answers at all."""
    return as_json({"live": True})


@router.get("/health", tags=["Server"], responses={503: FAILURES[503]})
@router.get("/health/ready", tags=["Server"], responses={503: FAILURES[503]})
async def ready(request: Request) -> Response:
    """Whether requests are accepted."""
    if not service_of(request).ready:
        raise unavailable("the server is stopping.")
    return as_json({"ready": True})


@router.get("/metrics", tags=["Server"], response_class=Response, responses={401: FAILURES[401]})
async def prometheus(request: Request) -> Response:
    """Requests, latencies, batches, tokens and the queue, for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type=metrics.CONTENT_TYPE)
