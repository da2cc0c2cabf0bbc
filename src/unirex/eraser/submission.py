"""ERASER submissions: typed instances, read from and written to lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple, NoReturn

from unirex.data.rows import json_rows
from unirex.data.validate import is_number, row_at
from unirex.errors import UserError
from unirex.files import replace_file

ClassScores = Mapping[str, float]  # the probability of each class
JsonObject = Mapping[str, Any]


class TokenSpan(NamedTuple):
    """Tokens of a document, end-exclusive: `start_token`, `end_token`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocumentRationale:
    """The rationale in one document: an entry of `rationales`."""

    docid: str
    hard: tuple[TokenSpan, ...] | None = None
    soft: tuple[float, ...] | None = None  # one per token
    sentences: tuple[float, ...] | None = None  # one per sentence


@dataclass(frozen=True, slots=True)
class Thresholded:
    """Class probabilities at one size of rationale: an entry of `thresholded_scores`."""

    threshold: float  # share of the tokens
    comprehensiveness: ClassScores | None = None  # without the rationale
    sufficiency: ClassScores | None = None  # from the rationale alone


@dataclass(frozen=True, slots=True)
class Instance:
    """One line: the rationales of an annotation, the predicted class, and its probabilities without them."""

    annotation_id: str
    rationales: tuple[DocumentRationale, ...]
    classification: str | None = None
    classification_scores: ClassScores | None = None
    comprehensiveness: ClassScores | None = None
    sufficiency: ClassScores | None = None
    tokens_to_flip: int | None = None
    thresholded: tuple[Thresholded, ...] | None = None
    place: str = field(default="", compare=False)  # file:line


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise UserError(f"must be text, not {short(value)}")
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:  # bool is a subclass
        raise UserError(f"must be a whole number, not {short(value)}")
    return value


def _number(value: Any) -> float:
    if not is_number(value):
        raise UserError(f"must be a finite number, not {short(value)}")
    return float(value)


def _numbers(values: Any) -> tuple[float, ...]:
    wrong = [value for value in values if not is_number(value)] if isinstance(values, list) else [values]
    if wrong:
        raise UserError(f"must be a list of finite numbers; {short(wrong[0])} is not")
    return tuple(map(float, values))


def _classes(values: Any) -> ClassScores:
    if not isinstance(values, dict) or not all(map(is_number, values.values())):
        raise UserError(f'must be an object like {{"POS": 0.9, "NEG": 0.1}}, not {short(values)}')
    return {label: float(value) for label, value in values.items()}


def _objects(values: Any) -> list[JsonObject]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise UserError(f"must be a list of objects, not {short(values)}")
    return values


@dataclass(frozen=True, slots=True)
class FileField:
    """A field of the file: the attribute it becomes, and how its value is checked."""

    name: str
    parse: Callable[[Any], Any]
    required: bool = False
    items: type | None = None  # of a list of objects: what each becomes


COMPREHENSIVENESS = "comprehensiveness_classification_scores"
SUFFICIENCY = "sufficiency_classification_scores"
FIELDS: dict[type, dict[str, FileField]] = {
    Instance: {
        "annotation_id": FileField("annotation_id", _text, required=True),
        "rationales": FileField("rationales", _objects, required=True, items=DocumentRationale),
        "classification": FileField("classification", _text),
        "classification_scores": FileField("classification_scores", _classes),
        COMPREHENSIVENESS: FileField("comprehensiveness", _classes),
        SUFFICIENCY: FileField("sufficiency", _classes),
        "tokens_to_flip": FileField("tokens_to_flip", _integer),
        "thresholded_scores": FileField("thresholded", _objects, items=Thresholded),
    },
    DocumentRationale: {
        "docid": FileField("docid", _text, required=True),
        "hard_rationale_predictions": FileField("hard", _objects, items=TokenSpan),
        "soft_rationale_predictions": FileField("soft", _numbers),
        "soft_sentence_predictions": FileField("sentences", _numbers),
    },
    Thresholded: {
        "threshold": FileField("threshold", _number, required=True),
        COMPREHENSIVENESS: FileField("comprehensiveness", _classes),
        SUFFICIENCY: FileField("sufficiency", _classes),
    },
    TokenSpan: {
        "start_token": FileField("start", _integer, required=True),
        "end_token": FileField("end", _integer, required=True),
    },
}
TITLES = {
    Instance: "a line",
    DocumentRationale: "an entry of 'rationales'",
    Thresholded: "an entry of 'thresholded_scores'",
    TokenSpan: "a span",
}


def read_submission(path: Path) -> Iterator[Instance]:
    """The lines of a submission, one at a time; an unknown key or a value of a wrong type is an error.

    A null value is read as left out. Whether the lines fit the data is checked by `validate`.
    """
    parser, empty = InstanceParser(), True
    for place, row in json_rows(Path(path)):
        with row_at(place):
            empty = False
            yield parser.instance(row, place)
    if empty:
        raise UserError(f"{path}: the file is empty; a submission has a line for each annotation")


def write_submission(path: Path, instances: Iterable[Instance]) -> int:
    """Write the lines atomically and return their number; floats are read back bit for bit."""
    count = 0

    def write(draft: Path) -> None:
        nonlocal count
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for instance in instances:
                file.write(_as_line(instance))
                count += 1

    replace_file(Path(path), write)
    return count


def _as_line(instance: Instance) -> str:
    try:
        return json.dumps(as_json(instance), ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise UserError(
            f"annotation '{instance.annotation_id}': a score or probability is not a finite number"
        ) from None


def as_json(value: Any) -> Any:
    """An instance, or a part of one, under the keys of the file; None values are left out."""
    if type(value) in FIELDS:
        values = {key: getattr(value, spec.name) for key, spec in FIELDS[type(value)].items()}
        return {key: as_json(item) for key, item in values.items() if item is not None}
    if isinstance(value, tuple):
        # One score per token, thousands of them: not worth a call each.
        is_scores = value and isinstance(value[0], float)
        return list(value) if is_scores else [as_json(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _raise_fault(text: str, docid: str | None) -> NoReturn:
    raise UserError(text if docid is None else f"document '{docid}': {text}")


@dataclass(frozen=True, slots=True)
class InstanceParser:
    """Builds instances from JSON objects; reports each fault with the id of its document, if it is in one.

    With a `report` that returns, parsing goes on and the bad part is left out.
    """

    report: Callable[[str, str | None], None] = _raise_fault
    null_is_fault: bool = False

    def instance(self, row: JsonObject, place: str = "") -> Instance:
        """The instance of one line."""
        values = {"annotation_id": "", "rationales": (), **self._values(row, Instance, None)}
        return Instance(**values, place=place)

    def _object(self, row: JsonObject, kind: type, docid: str | None) -> Any:
        """A part of an instance; None if it lacks something required."""
        if kind is DocumentRationale and isinstance(row.get("docid"), str):
            docid = row["docid"] or None
        values = self._values(row, kind, docid)
        required = (spec.name for spec in FIELDS[kind].values() if spec.required)
        return kind(**values) if all(name in values for name in required) else None

    def _values(self, row: JsonObject, kind: type, docid: str | None) -> dict[str, Any]:
        """The sound values of an object, by attribute."""
        fields, values = FIELDS[kind], dict[str, Any]()
        for key in [key for key in row if key not in fields]:
            near = get_close_matches(key, fields, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(fields)}"
            self.report(f"{short(key)} is no field of {TITLES[kind]}; {hint}", docid)
        for key, spec in fields.items():
            if row.get(key) is None:
                if spec.required:
                    self.report(f"'{key}' is missing", docid)
                elif key in row and self.null_is_fault:
                    self.report(f"'{key}' is null; leave it out", docid)
                continue
            try:
                value = spec.parse(row[key])
            except UserError as error:
                self.report(f"'{key}' {error}", docid)
                continue
            if spec.items is not None:
                parts = [self._object(item, spec.items, docid) for item in value]
                value = tuple(part for part in parts if part is not None)
            values[spec.name] = value
        return values
