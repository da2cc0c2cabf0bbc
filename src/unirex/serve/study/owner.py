"""The routes of the study's owner: progress and report."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from unirex.errors import UserError
from unirex.report.markup import element
from unirex.report.page import header, page
from unirex.serve.errors import ApiError
from unirex.serve.schemas import Body
from unirex.serve.study.web import as_json, shell, web_of
from unirex.user_study.store import StoreError
from unirex.user_study.study import Annotator, UserStudy

router = APIRouter()


class KeyBody(Body):
    """The key of the study's owner."""

    key: Annotated[str, Field(max_length=1000)]


def owner_of(request: Request) -> None:
    """Refuse all but the owner."""
    if web_of(request).owners.subject(request) is None:
        raise ApiError(401, "unauthorized", "enter the key of this study's owner.")


@router.get("/owner")
def owner_page() -> Response:
    """The owner's page."""
    return shell("Progress of the study", "study_owner")


@router.post("/owner/session")
def owner_session(body: KeyBody, request: Request) -> Response:
    """Let the owner in."""
    web = web_of(request)
    web.wrong_keys.check(request)
    if web.key is None or not compare_digest(body.key.encode("utf-8"), web.key.encode("utf-8")):
        web.wrong_keys.wrong(request)
        raise ApiError(403, "wrong_key", "this is not the key of this study's owner.")
    response = as_json(progress(web.study))
    web.owners.begin(request, response, "owner")
    return response


@router.get("/owner/progress", dependencies=[Depends(owner_of)])
def owner_progress(request: Request) -> Response:
    """Who is how far."""
    return as_json(progress(web_of(request).study))


@router.post("/owner/leave")
def owner_leave(request: Request) -> Response:
    """Forget the owner in this browser."""
    response = as_json({})
    web_of(request).owners.end(request, response)
    return response


@router.get("/owner/report")
def owner_report(request: Request) -> Response:
    """The report of the answers so far, as a page."""
    web = web_of(request)
    if web.owners.subject(request) is None:
        return RedirectResponse("/owner", 303)
    from unirex.user_study.analysis import Analysis
    from unirex.user_study.report import report_page, report_sections

    try:
        with web.reporting:
            analysis = Analysis(web.study)
            return HTMLResponse(report_page(analysis, report_sections(analysis)))
    except StoreError:
        raise
    except UserError:  # it names the study's folder, which is not for a browser
        nothing = header("User study", "No report yet", "No question has been answered so far")
        return HTMLResponse(page("No report yet", [nothing, element("a", "Progress", href="/owner")]))


def progress(study: UserStudy) -> dict[str, Any]:
    """Who is how far, for the owner; no codes."""
    people = [
        {
            "name": person.name,
            "answered": person.answered,
            "questions": person.questions,
            "state": _standing(person),
        }
        for person in study.annotators()
    ]
    return {"title": study.definition.title, "people": people}


def _standing(person: Annotator) -> str:
    if person.withdrawn:
        return "withdrawn"
    if person.finished:
        return "simulated" if person.simulated else "finished"
    return "answering" if person.consented else "not begun"
