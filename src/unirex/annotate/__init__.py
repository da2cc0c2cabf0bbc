"""Texts marked by people: a page to mark them in, several people at once, and what becomes of their marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unirex.registry import late

if TYPE_CHECKING:
    from unirex.annotate.create import create_project
    from unirex.annotate.definition import Definition
    from unirex.annotate.items import Item, Reply
    from unirex.annotate.project import Annotator, Project

_PLACES = {
    "Annotator": "unirex.annotate.project:Annotator",
    "Definition": "unirex.annotate.definition:Definition",
    "Item": "unirex.annotate.items:Item",
    "Project": "unirex.annotate.project:Project",
    "Reply": "unirex.annotate.items:Reply",
    "create_project": "unirex.annotate.create:create_project",
}
__all__ = ["Annotator", "Definition", "Item", "Project", "Reply", "create_project"]


def __getattr__(name: str) -> Any:
    """Imported when it is used: the help of the command needs the definition alone."""
    if name not in _PLACES:
        raise AttributeError(f"module 'unirex.annotate' has no attribute '{name}'")
    return late(_PLACES[name])
