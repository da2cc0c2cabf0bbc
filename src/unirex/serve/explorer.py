"""The page at `/`: type a text, and see the label, the reasons, and what hangs on them."""

from __future__ import annotations

from fastapi import APIRouter, Response

from unirex.report.markup import Html, element
from unirex.report.page import rationale_key
from unirex.serve.live import live_page, resource

SCRIPTS = tuple(f"explorer{part}.js" for part in ("_ask", "_state", "_view", "_copy", "_examples", ""))
FURTHER_MARKS = (
    (element("span", "wavy", class_="against-word"), "speaks against the label, where scores have a sign"),
    (
        element("span", "struck", class_="dropped"),
        "dropped: click a word, or go to it with the arrow keys and press Enter",
    ),
)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def explorer() -> Response:
    """The page; it holds nothing of the systems, and asks for them with the key."""
    key = rationale_key("system", more=FURTHER_MARKS)
    body = Html(resource("explorer.html").replace("<!-- key -->", key))
    return live_page("unirex explorer", [body], scripts=SCRIPTS, style=resource("explorer.css"))
