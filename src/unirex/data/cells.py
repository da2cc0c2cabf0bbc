"""One row of a table made into one example: texts, choices, label, marks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from reprlib import repr as short

from unirex.data.choices import parse_choices, pick
from unirex.data.example import Example, Label, Rationale
from unirex.data.rationales import RationaleFormat, parse_columns, parse_segments
from unirex.data.validate import check_label, check_text, is_missing
from unirex.errors import UserError, unknown

Cells = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file are called; an empty name says that an optional one is not used.

    `text` may name several columns, which become the segments in that order: "premise,hypothesis". So may
    `rationale`, one for each segment. `choices` holds lists of texts to choose from, `groups` lists of the
    rationales that `rationale` merges, each by characters.
    """

    text: str = "text"
    label: str = "label"
    rationale: str = "rationale"
    id: str = "id"
    split: str = "split"
    choices: str = "choices"
    groups: str = "groups"


def read_example(
    row: Cells,
    columns: Columns,
    *,
    default_id: str,
    rationale_format: RationaleFormat = "auto",
    labelled: bool = True,
) -> Example:
    """What a row says; with `labelled` false it may leave out the label."""
    texts = _texts(row, names(columns.text, row))
    choices = parse_choices(optional(row, columns.choices), column=columns.choices)
    given_id = optional(row, columns.id)
    return Example(
        id=default_id if given_id is None else str(given_id),
        segments=tuple(texts.values()),
        label=_label(row, columns, choices, labelled),
        rationale=_rationale(row, columns, texts, rationale_format),
        choices=choices,
        groups=_groups(optional(row, columns.groups), texts),
    )


def names(given: str, row: Collection[str]) -> tuple[str, ...]:
    """The columns a name stands for: itself where there is one, else what its commas part.

    >>> names("premise, hypothesis", ["premise", "hypothesis"]), names("a,b", ["a,b"])
    (('premise', 'hypothesis'), ('a,b',))
    """
    if given in row or "," not in given:
        return (given,)
    found = tuple(name.strip() for name in given.split(","))
    if len(set(found)) < len(found):
        raise UserError(f"columns '{given}' name one column twice; name each once")
    return found


def cell(row: Cells, column: str) -> object:
    """What stands in a column that must be there."""
    if column not in row:
        raise unknown("column", column, row)
    return row[column]


def optional(row: Cells, column: str) -> object:
    """What stands in a column that may be absent, or say nothing: None."""
    value = row.get(column) if column else None
    return None if is_missing(value) else value


def check_columns(path: Path, columns: Columns, present: Collection[str]) -> None:
    """A column the user named must be there; one they did not name may be absent."""
    for field in fields(Columns):
        given = getattr(columns, field.name)
        for name in names(given, present) if given and given != field.default else ():
            if name not in present:
                raise UserError(f"{path}: {unknown('column', name, present)}")


def _label(row: Cells, columns: Columns, choices: tuple[str, ...] | None, labelled: bool) -> Label | None:
    value = cell(row, columns.label) if labelled else optional(row, columns.label)
    if value is None and not labelled:
        return None
    label = check_label(value, column=columns.label)
    return label if choices is None else pick(label, choices, column=columns.label)


def _texts(row: Cells, columns: Sequence[str]) -> dict[str, str]:
    """The texts of a row; of several some may be empty (a review without a title), but not all."""
    several = len(columns) > 1
    texts = {
        name: check_text(_text(cell(row, name), several), column=name, blank=several) for name in columns
    }
    if not any(text.strip() for text in texts.values()):
        raise UserError(f"all of {', '.join(columns)} are empty; give one some text or remove the row")
    return texts


def _text(value: object, several: bool) -> object:
    return "" if several and value is None else value


def _groups(value: object, texts: Mapping[str, str]) -> tuple[Rationale, ...]:
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise UserError(f"groups {short(value)} are not JSON; write a list of rationales") from None
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise UserError(f"groups must be a list of rationales, not {short(given)}")
    found = (parse_segments(one, texts, format="characters") for one in given)
    return tuple(one for one in found if one is not None)


def _rationale(
    row: Cells, columns: Columns, texts: Mapping[str, str], rationale_format: RationaleFormat
) -> Rationale | None:
    marked = names(columns.rationale, row)
    if len(marked) == 1:
        return parse_segments(optional(row, marked[0]), texts, format=rationale_format)
    if len(marked) != len(texts):
        raise UserError(
            f"{len(marked)} rationale columns ({', '.join(marked)}) for {len(texts)} of text "
            f"({', '.join(texts)}); name one for each, or one for all"
        )
    return parse_columns([optional(row, name) for name in marked], texts, format=rationale_format)
