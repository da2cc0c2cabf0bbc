"""Texts marked by people: a page to mark them in, several people at once, and what becomes of their marks."""

from __future__ import annotations

from unirex.annotate.definition import Definition, Source
from unirex.annotate.items import Item, Reply
from unirex.annotate.project import Annotator, Project

__all__ = ["Annotator", "Definition", "Item", "Project", "Reply", "Source"]
