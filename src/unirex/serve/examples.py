"""Examples of a dataset beside the systems: listed, shown with their gold, predicted as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from fastapi import APIRouter, Query, Request, Response

from unirex.data.example import Answer, Example
from unirex.serve import schemas
from unirex.serve.answers import Plain
from unirex.serve.api import FAILURES, as_json, service_of
from unirex.serve.errors import ApiError
from unirex.serve.served import Served
from unirex.serve.service import Service

HEAD = 160  # characters of a text in the list
LISTED = 500  # examples in one answer, at most
TOGETHER = 32  # examples that are predicted by one request, at most

router = APIRouter(tags=["Examples"])


@dataclass(frozen=True)
class Examples:
    """Some examples of a dataset; predictions are kept once they are known.

    Args:
        name: of the dataset and its split.
        items: the examples.
    """

    name: str | None = None
    items: Sequence[Example] = ()
    predicted: dict[tuple[str, int], Answer | None] = field(default_factory=dict)  # by system and number

    def head(self, number: int) -> Plain:
        """An entry of the list."""
        example = self.items[number]
        text = " ".join(example.text[: 2 * HEAD].split())
        head = text if len(text) <= HEAD else text[:HEAD].rstrip() + "…"
        marked = any(example.rationale or ())
        return {"number": number, "id": example.id, "label": example.label, "head": head, "marked": marked}

    async def predictions(self, service: Service, served: Served, start: int) -> list[Answer | None]:
        """The labels of some examples from `start` on: those that are known, else of one more batch."""
        numbers = range(start, min(start + TOGETHER, len(self.items)))
        if numbers and (served.name, start) not in self.predicted:
            await self._predict(service, served, numbers)
        known = takewhile(lambda number: (served.name, number) in self.predicted, numbers)
        return [self.predicted[served.name, number] for number in known]

    async def _predict(self, service: Service, served: Served, numbers: range) -> None:
        """Predict these examples, or half of them as often as they are more than a request may have."""
        texts = [replace(self.items[number], label=None, rationale=None) for number in numbers]
        try:
            results = await service.answer(served, served.ask_label, texts, truncate=True)
        except ApiError as error:
            if error.status != 413:
                raise
            if len(numbers) > 1:
                await self._predict(service, served, numbers[: len(numbers) // 2])
                return
            results = [{"label": None}]
        for number, result in zip(numbers, results, strict=True):
            self.predicted[served.name, number] = result["label"]


def examples_of(request: Request) -> Examples:
    """The examples of the application."""
    return request.app.state.examples


@router.get("/examples", response_model=schemas.ExampleHeads, responses={401: FAILURES[401]})
async def listed(
    request: Request, start: int = Query(0, ge=0), count: int = Query(LISTED, ge=1, le=LISTED)
) -> Response:
    """The beginnings of the examples that the server was started with; none without `--data`."""
    examples = examples_of(request)
    numbers = range(min(start, len(examples.items)), min(start + count, len(examples.items)))
    heads = [examples.head(number) for number in numbers]
    return as_json({"name": examples.name, "total": len(examples.items), "examples": heads})


@router.get(
    "/examples/{number}",
    response_model=schemas.WholeExample,
    responses={status: FAILURES[status] for status in (401, 404, 422)},
)
async def whole(request: Request, number: int) -> Response:
    """One example with what people marked in it."""
    items = examples_of(request).items
    if not 0 <= number < len(items):
        raise ApiError(404, "not_found", f"there are {len(items)} examples, counted from 0.")
    example = items[number]
    return as_json(
        {
            "number": number,
            "id": example.id,
            "segments": example.segments,
            "choices": example.choices,
            "label": example.label,
            "rationale": example.rationale,
        }
    )


@router.post("/examples/predictions", response_model=schemas.ExamplePredictions, responses=FAILURES)
async def predictions(body: schemas.SomeExamples, request: Request) -> Response:
    """The labels that a system predicts for some examples; ask again from where the answer ends."""
    service, examples = service_of(request), examples_of(request)
    served = service.served(body.model)
    labels = await examples.predictions(service, served, body.start)
    return as_json({"model": served.name, "start": body.start, "labels": labels})
