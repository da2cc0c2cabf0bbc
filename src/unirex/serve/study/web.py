"""What the routes of a study share: the study, its sessions, the frame of its pages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fastapi import Request, Response

from unirex.report.markup import element
from unirex.serve.live import live_page, resource
from unirex.serve.sessions import Attempts, Sessions, kept_secret
from unirex.user_study.study import UserStudy

SECRET = "sessions.key"  # file in the study's folder
NO_SCRIPT = "This study needs JavaScript; please allow it for this page."


@dataclass(frozen=True)
class StudyWeb:
    """What the routes share."""

    study: UserStudy
    key: str | None  # of the owner; None: the owner has no pages
    people: Sessions
    owners: Sessions
    wrong_codes: Attempts = field(default_factory=Attempts)
    wrong_keys: Attempts = field(default_factory=Attempts)
    reporting: Lock = field(default_factory=Lock)  # one report at a time: it takes a core for a while

    @classmethod
    def of(cls, study: UserStudy, key: str | None) -> StudyWeb:
        """The sessions of a study; those of its owner end with the key."""
        secret = kept_secret(study.folder / SECRET)
        owners = Sessions(secret + (key or "").encode("utf-8"), kind="owner", days=1)
        return cls(study, key, Sessions(secret, kind="person"), owners)


def web_of(request: Request) -> StudyWeb:
    """What the application serves."""
    return request.app.state.web


def as_json(value: Any) -> Response:
    """A response of plain JSON; escaped to ASCII, as texts of data may hold what UTF-8 cannot."""
    return Response(json.dumps(value, allow_nan=False), media_type="application/json")


def shell(title: str, script: str) -> Response:
    """A page that its script fills."""
    place = element("div", id=script.replace("_", "-"))
    body = [place, element("noscript", element("p", NO_SCRIPT))]
    return live_page(title, body, scripts=[f"{script}.js"], style=resource("study.css"))
