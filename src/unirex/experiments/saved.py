"""A study as it stands in its folder, read from wherever the reader is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from unirex.errors import UserError, one_line
from unirex.experiments.cells import Data, encoder_from
from unirex.experiments.definition import Definition, Settings
from unirex.experiments.definition_file import as_definition
from unirex.experiments.study import FILE, SEARCH_FILE, Study


def load_study(folder: Path) -> Study:
    """The study in a folder."""
    try:
        content = json.loads((folder / FILE).read_text("utf-8"))
        table = content["definition"]
        table["rows"] = {row.pop("name"): row for row in table["rows"]}
        name = table.pop("name")
        place = Path(str(content.get("place", Path.cwd())))
        data, on = ([Data.read(item).seen_from(place) for item in content[key]] for key in ("data", "on"))
        definition = with_encoders_of(place, as_definition(table, name, place=str(folder / FILE)))
        made = {"versions": dict(content["versions"]), "git": content["git"]}
        return Study(definition, data, on, content["split"], content["facts"], made)
    except NotADirectoryError as error:
        if folder.suffix == ".zip":
            raise UserError(
                f"{folder}: a pack, if it is one; `unirex experiment report {folder}` shows it."
            ) from error
        raise UserError(f"{folder}: a file; name the folder of a study, or a pack, a .zip.") from error
    except FileNotFoundError as error:
        if any(folder.glob("*.zip")):
            raise UserError(
                f"{folder}: no study there, but packs; name these: {folder / '*.zip'}."
            ) from error
        if (folder / SEARCH_FILE).exists():
            raise UserError(f"{folder}: a search, not a study; it is reported alone.") from error
        raise UserError(
            f"{folder}: no study there; `unirex experiment run … --out {folder}` makes one."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{folder / FILE}: damaged ({one_line(error)}).") from error


def would_replace(study: Study, folder: Path) -> bool:
    """Whether a study in this folder would lose measurements of its own to another one that is run there.

    What is compared are cells, not words: paths, the order of rows and the parts of the report may differ.
    """
    try:
        there = load_study(folder)
    except UserError:  # none, or damaged: nothing is lost
        return False
    try:
        measured = {measurement.cell.key for measurement in there.measured}
    except UserError:  # its data are not where they were
        return True
    return not measured <= {measurement.cell.key for measurement in study.measured}


def with_encoders_of(place: Path, definition: Definition) -> Definition:
    """The definition with the encoders that it names in a working folder."""

    def found(settings: Settings) -> dict[str, Any]:
        return {name: known(value) if name == "encoder" else value for name, value in settings.items()}

    def known(value: Any) -> Any:
        if isinstance(value, str):
            return encoder_from(place, value)
        return [known(part) for part in value] if isinstance(value, list | tuple) else value

    rows = [replace(row, settings=found(row.settings), vary=found(row.vary)) for row in definition.rows]
    return replace(definition, settings=found(definition.settings), vary=found(definition.vary), rows=rows)
