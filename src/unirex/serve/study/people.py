"""The routes of the people who answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from unirex.errors import UserError, one_line
from unirex.serve.errors import ApiError
from unirex.serve.schemas import Body
from unirex.serve.study.web import as_json, shell, web_of
from unirex.user_study.definition import ALIGNMENT, CONFIDENCE
from unirex.user_study.store import StoreError
from unirex.user_study.study import Annotator, Reply, UserStudy

SCALES = {"simulation": CONFIDENCE, "rating": ALIGNMENT, "reading": {}}
router = APIRouter()


class JoinBody(Body):
    """Who comes."""

    code: Annotated[str, Field(max_length=100)]


class AnswerBody(Body):
    """One answer; which of its fields a question takes is for the study to say."""

    position: Annotated[int, Field(ge=0, le=1_000_000, strict=True)]
    label: Annotated[str | None, Field(max_length=10_000)] = None
    confidence: Annotated[int | None, Field(strict=True, ge=1, le=9)] = None
    alignment: Annotated[int | None, Field(strict=True, ge=1, le=9)] = None
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class WithdrawBody(Body):
    """The decision to withdraw, spelled out: no other request looks like it."""

    delete_my_answers: Annotated[bool, Field(strict=True)]


def person_of(request: Request) -> Annotator:
    """Who asks; their session outlives a restart, but not their withdrawal."""
    web = web_of(request)
    subject = web.people.subject(request)
    if subject is None:
        raise ApiError(401, "unauthorized", "enter your code to go on.")
    person = web.study.annotator(int(subject))
    if person.withdrawn:
        raise ApiError(401, "unauthorized", "you have withdrawn from this study; your code has ended.")
    return person


Person = Annotated[Annotator, Depends(person_of)]


@router.get("/")
def start() -> Response:
    """The page of the study; its script asks for all it shows."""
    return shell("Study", "study")


@router.get("/health")
def health() -> Response:
    """Whether the server answers."""
    return as_json({"ready": True})


@router.post("/join")
def join(body: JoinBody, request: Request) -> Response:
    """Begin, or come back, with a code."""
    web = web_of(request)
    web.wrong_codes.check(request)
    try:
        person = web.study.join(body.code)
    except StoreError:
        raise
    except UserError as error:
        web.wrong_codes.wrong(request)
        raise ApiError(403, "wrong_code", one_line(error)) from None
    response = as_json(state(web.study, person))
    web.people.begin(request, response, str(person.number))
    return response


@router.get("/state")
def where(request: Request) -> Response:
    """What the person has to do next; who has no session enters a code."""
    web = web_of(request)
    if web.people.subject(request) is None:
        return as_json({"stage": "enter"})
    return as_json(state(web.study, person_of(request)))


@router.post("/consent")
def consent(request: Request, person: Person) -> Response:
    """The person agrees to take part."""
    study = web_of(request).study
    return as_json(state(study, study.consent(person)))


@router.post("/answer")
def answer(body: AnswerBody, request: Request, person: Person) -> Response:
    """Store an answer; once it is on disk, say what comes next, and what was right if it was practice."""
    study = web_of(request).study
    if body.position > person.answered:
        raise ApiError(409, "out_of_order", "this is not your next question.")
    question = study.question(person, body.position)
    reply = Reply(body.label, body.confidence, body.alignment)
    try:
        right = study.answer(person, question, reply, seconds=body.seconds)
    except StoreError:
        raise
    except UserError as error:
        if study.annotator(person.number).answered > body.position:  # in another window, with another answer
            raise ApiError(409, "answered", one_line(error)) from None
        raise
    return as_json({"right": right, **state(study, study.annotator(person.number))})


@router.post("/withdraw")
def withdraw(body: WithdrawBody, request: Request, person: Person) -> Response:
    """Delete what the person answered and end their code."""
    if not body.delete_my_answers:
        raise ApiError(422, "validation", "delete_my_answers: must be true.")
    web = web_of(request)
    response = as_json({"stage": "withdrawn", "deleted": web.study.withdraw(person)})
    web.people.end(request, response)
    return response


@router.post("/leave")
def leave(request: Request) -> Response:
    """Forget the person in this browser; their code brings them back."""
    response = as_json({"stage": "left"})
    web_of(request).people.end(request, response)
    return response


def state(study: UserStudy, person: Annotator) -> dict[str, Any]:
    """What a page shows now. Nothing in it tells the arm, the right label, or what is a check."""
    counts = {"answered": person.answered, "questions": person.questions}
    if not person.consented:
        return {"stage": "consent", "consent": study.definition.consent, **counts}
    question = study.next(person)
    if question is None:
        return {"stage": "done", **counts}
    return {
        "stage": "question",
        "question": asdict(question),
        "scale": list(SCALES[question.task].values()),
        "instructions": study.definition.instructions[question.task],
        "answered": question.position,
        "questions": question.questions,
    }
