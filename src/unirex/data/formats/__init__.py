"""Formats of the user's own data, and how the format of a file or folder is detected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from unirex.data.formats.table import Columns
from unirex.data.rows import DAMAGED, open_bytes
from unirex.data.validate import check_options, exists, file_kind, option_names
from unirex.errors import unknown

Format = Literal[
    "auto",
    "table",
    "eraser",
    "label-studio",
    "prodigy",
    "doccano",
    "huggingface",
    "hatexplain",
    "toxic-spans",
]

# Modules, imported on first use. Each has `read` (to DatasetRecords) or `load` (to Splits).
FORMATS = {
    "table": "unirex.data.formats.table",
    "eraser": "unirex.data.formats.eraser",
    "label-studio": "unirex.data.formats.label_studio",
    "prodigy": "unirex.data.formats.prodigy",
    "doccano": "unirex.data.formats.doccano",
    "huggingface": "unirex.data.formats.huggingface",
    "hatexplain": "unirex.data.datasets.hatexplain",
    "toxic-spans": "unirex.data.datasets.toxic_spans",
}
PUBLISHED = ("hatexplain", "toxic-spans")  # those of one dataset, whose modules recognise its files
DEFAULTS = {"columns": Columns(), "rationale_format": "auto"}  # without: each reader has its own
DETECTION_ROWS = 50  # at the start of a file; doccano is recognised by the first row with entities


def format_module(name: str) -> ModuleType:
    """The module that reads a format."""
    if name not in FORMATS:
        raise unknown("format", name, ["auto", *FORMATS])
    return import_module(FORMATS[name])


def find_format(path: Path) -> str:
    """The format of a file or folder, from its name and content; "table" unless another is recognised."""
    for name in PUBLISHED:
        if format_module(name).is_published(path):
            return name
    if path.is_dir():
        if format_module("eraser").is_eraser(path):
            return "eraser"
        return "huggingface" if format_module("huggingface").is_saved(path) else "table"
    if file_kind(path) == ".json":
        return "table" if _is_array_of_rows(path) else "label-studio"
    return _format_of_lines(path) if file_kind(path) in (".jsonl", ".ndjson") else "table"


def settings_for(name: str, settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for a format's reader; a setting it does not have must be at its default."""
    module = format_module(name)
    known = option_names(getattr(module, "read", None) or module.load)
    check_options(f"format '{name}'", {**non_default(settings), **options}, known)
    return {**{key: value for key, value in settings.items() if key in known}, **options}


def non_default(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    return {key: value for key, value in settings.items() if value != DEFAULTS.get(key)}


def _is_array_of_rows(path: Path) -> bool:
    """Whether a JSON file is an array of plain rows, not of tasks of Label Studio."""
    with suppress(*DAMAGED), open_bytes(path) as file:
        found = json.loads(file.read())
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return not found[0].keys() & {"data", "annotations", "completions", "predictions"}
    return False


def _format_of_lines(path: Path) -> str:
    # Mistakes are left for the reader to report.
    with suppress(*DAMAGED), open_bytes(path) as file:
        lines = (line for line in file if line.strip())
        for number, line in enumerate(islice(lines, DETECTION_ROWS)):
            row = json.loads(line)
            if not isinstance(row, dict):
                return "table"
            if number == 0 and row.keys() & {"_input_hash", "_task_hash"}:
                return "prodigy"
            entities = row.get("entities")
            if not isinstance(entities, list):
                return "table"
            if entities:
                relations = isinstance(entities[0], dict) and "start_offset" in entities[0]
                return "doccano" if relations else "table"
    return "table"


def is_hub_id(source: str | Path, format: str) -> bool:  # noqa: A002  the word users know for this
    """Whether a source is an id on the Hugging Face Hub; only with the format given explicitly."""
    return format == "huggingface" and isinstance(source, str) and not exists(Path(source))
