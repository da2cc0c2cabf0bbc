"""Pages that ask the server they come from: one file with its style and its one script, named by hash."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from fastapi import Response
from fastapi.responses import HTMLResponse

from unirex.report.page import page, policy
from unirex.report.page import resource as shared


def live_page(title: str, body: Sequence[str], *, scripts: Sequence[str], style: str = "") -> Response:
    """A page whose script draws it and asks this server; nothing else can run or be asked.

    Args:
        title: of the window.
        body: its parts, as HTML.
        scripts: files of this package, run in this order after `dom.js` and `live.js`.
        style: rules of its own.
    """
    script = shared("dom.js") + "".join(map(resource, ("live.js", *scripts)))
    made = page(title, body, style=resource("live.css") + style, script=script, live=True)
    headers = {"Content-Security-Policy": f"{policy(script, live=True)}; frame-ancestors 'none'"}
    return HTMLResponse(made, headers=headers)


def resource(name: str) -> str:
    """A style sheet or script of this package."""
    return files(__package__).joinpath("static", name).read_text("utf-8")
