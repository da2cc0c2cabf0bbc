"""Submissions to ERASER: typed instances, parsed from and written to lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple, Protocol, TypeVar

from unirex.data.rows import json_rows
from unirex.data.validate import row_at
from unirex.errors import UserError
from unirex.evaluation.predictions import is_number
from unirex.files import replace_file

Classes = Mapping[str, float]  # the probability of each class
Floats = tuple[float, ...]


class Span(NamedTuple):
    """Tokens of a document, end-exclusive: `start_token`, `end_token`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocumentRationale:
    """What is said of one document: an entry of `rationales`."""

    docid: str
    hard: tuple[Span, ...] | None = None  # hard_rationale_predictions
    soft: Floats | None = None  # soft_rationale_predictions: one a token
    sentences: Floats | None = None  # soft_sentence_predictions: one a sentence


@dataclass(frozen=True, slots=True)
class Thresholded:
    """What the classifier says at one size of rationale: an entry of `thresholded_scores`."""

    threshold: float  # share of the tokens
    comprehensiveness: Classes | None = None  # comprehensiveness_classification_scores: without the rationale
    sufficiency: Classes | None = None  # sufficiency_classification_scores: from the rationale alone


@dataclass(frozen=True, slots=True)
class Instance:
    """One line: the rationales for an annotation, the class, and what becomes of it without them."""

    annotation_id: str
    rationales: tuple[DocumentRationale, ...]
    classification: str | None = None
    classification_scores: Classes | None = None
    comprehensiveness: Classes | None = None  # comprehensiveness_classification_scores
    sufficiency: Classes | None = None  # sufficiency_classification_scores
    tokens_to_flip: int | None = None
    thresholded: tuple[Thresholded, ...] | None = None  # thresholded_scores
    place: str = field(default="", compare=False)  # file:line


COMPREHENSIVENESS = "comprehensiveness_classification_scores"
SUFFICIENCY = "sufficiency_classification_scores"
INSTANCE_KEYS = {  # in the file: here
    "annotation_id": "annotation_id",
    "rationales": "rationales",
    "classification": "classification",
    "classification_scores": "classification_scores",
    COMPREHENSIVENESS: "comprehensiveness",
    SUFFICIENCY: "sufficiency",
    "tokens_to_flip": "tokens_to_flip",
    "thresholded_scores": "thresholded",
}
DOCUMENT_KEYS = {
    "docid": "docid",
    "hard_rationale_predictions": "hard",
    "soft_rationale_predictions": "soft",
    "soft_sentence_predictions": "sentences",
}
THRESHOLD_KEYS = {
    "threshold": "threshold",
    COMPREHENSIVENESS: "comprehensiveness",
    SUFFICIENCY: "sufficiency",
}
SPAN_KEYS = {"start_token": "start", "end_token": "end"}


Part = TypeVar("Part")
Row = Mapping[str, Any]


class Tell(Protocol):
    """What is done with a fault; a harmless one is for the official validator's sake only."""

    def __call__(self, text: str, *, docid: str | None = None, harmless: bool = False) -> None:
        """One fault."""


def refuse(text: str, *, docid: str | None = None, harmless: bool = False) -> None:
    """The first fault ends the reading."""
    if not harmless:
        raise UserError(text if docid is None else f"document '{docid}': {text}")


@dataclass(frozen=True, slots=True)
class Parser:
    """Makes instances of rows; with a `tell` that goes on after a fault, a bad part is left out."""

    tell: Tell = refuse
    docid: str | None = None  # of the entry that is being read

    def instance(self, row: Row, place: str = "") -> Instance:
        """The instance of a line."""
        self._known(row, INSTANCE_KEYS, "a line")
        return Instance(
            annotation_id=self._name(row, "annotation_id") or "",
            rationales=self._each(row, "rationales", self._document, needed=True) or (),
            classification=self._name(row, "classification", needed=False),
            classification_scores=self._classes(row, "classification_scores"),
            comprehensiveness=self._classes(row, COMPREHENSIVENESS),
            sufficiency=self._classes(row, SUFFICIENCY),
            tokens_to_flip=self._whole(row, "tokens_to_flip", needed=False),
            thresholded=self._each(row, "thresholded_scores", self._thresholded),
            place=place,
        )

    def _document(self, row: Row) -> DocumentRationale | None:
        docid = self._name(row, "docid")
        inside = replace(self, docid=docid)
        inside._known(row, DOCUMENT_KEYS, "an entry of 'rationales'")
        if docid is None:
            return None
        return DocumentRationale(
            docid,
            hard=inside._each(row, "hard_rationale_predictions", inside._span),
            soft=inside._floats(row, "soft_rationale_predictions"),
            sentences=inside._floats(row, "soft_sentence_predictions"),
        )

    def _span(self, row: Row) -> Span | None:
        self._known(row, SPAN_KEYS, "a span")
        start, end = self._whole(row, "start_token"), self._whole(row, "end_token")
        return None if start is None or end is None else Span(start, end)

    def _thresholded(self, row: Row) -> Thresholded | None:
        self._known(row, THRESHOLD_KEYS, "an entry of 'thresholded_scores'")
        threshold = self._value(row, "threshold", needed=True)
        if threshold is not None and not is_number(threshold):
            self._told(f"'threshold' must be a finite number, not {short(threshold)}")
            threshold = None
        comp, suff = self._classes(row, COMPREHENSIVENESS), self._classes(row, SUFFICIENCY)
        return None if threshold is None else Thresholded(float(threshold), comp, suff)

    def _each(
        self, row: Row, name: str, make: Callable[[Row], Part | None], *, needed: bool = False
    ) -> tuple[Part, ...] | None:
        """A list of objects; what cannot be made of one is left out, after its fault was told."""
        items = self._value(row, name, needed=needed)
        if items is None:
            return None
        if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
            self._told(f"'{name}' must be a list of objects, not {short(items)}")
            return None
        return tuple(made for one in items if (made := make(one)) is not None)

    def _floats(self, row: Row, name: str) -> Floats | None:
        values = self._value(row, name)
        if values is None:
            return None
        if not isinstance(values, list) or not all(map(is_number, values)):
            bad = (
                next((one for one in values if not is_number(one)), None)
                if isinstance(values, list)
                else values
            )
            self._told(f"'{name}' must be a list of finite numbers; {short(bad)} is not")
            return None
        return tuple(map(float, values))

    def _classes(self, row: Row, name: str) -> Classes | None:
        values = self._value(row, name)
        if values is None:
            return None
        if not isinstance(values, dict) or not all(map(is_number, values.values())):
            self._told(f'\'{name}\' must be an object like {{"POS": 0.9, "NEG": 0.1}}, not {short(values)}')
            return None
        return {label: float(value) for label, value in values.items()}

    def _name(self, row: Row, name: str, *, needed: bool = True) -> str | None:
        value = self._value(row, name, needed=needed)
        if value is None or (isinstance(value, str) and value):
            return value
        self._told(f"'{name}' must be text, not {short(value)}")
        return None

    def _whole(self, row: Row, name: str, *, needed: bool = True) -> int | None:
        value = self._value(row, name, needed=needed)
        if value is None or type(value) is int:
            return value
        self._told(f"'{name}' must be a whole number, not {short(value)}")
        return None

    def _value(self, row: Row, name: str, *, needed: bool = False) -> Any:
        value = row.get(name)
        if value is None and needed:
            self._told(f"'{name}' is missing")
        elif value is None and name in row:
            self.tell(f"'{name}' is null; leave it out", docid=self.docid, harmless=True)
        return value

    def _known(self, row: Row, keys: Mapping[str, str], whose: str) -> None:
        for key in row.keys() - keys.keys():
            near = get_close_matches(key, keys, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(keys)}"
            self._told(f"{short(key)} is no field of {whose}; {hint}")

    def _told(self, text: str) -> None:
        self.tell(text, docid=self.docid)


def read_submission(path: Path) -> Iterator[Instance]:
    """The lines of a submission, one at a time; a key nobody knows or a value of a wrong type is an error.

    Whether they fit the data is what `validate` tells. A part that is null is one that is left out.
    """
    parser, empty = Parser(), True
    for place, row in json_rows(Path(path)):
        with row_at(place):
            empty = False
            yield parser.instance(row, place)
    if empty:
        raise UserError(f"{path}: the file is empty; a submission has a line for each annotation")


def write_submission(path: Path, instances: Iterable[Instance]) -> int:
    """Write the lines as they come, whole or not at all; floats come back from the file bit for bit."""
    count = 0

    def write(draft: Path) -> None:
        nonlocal count
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for instance in instances:
                file.write(as_line(instance))
                count += 1

    replace_file(Path(path), write)
    return count


def as_line(instance: Instance) -> str:
    """The instance as a line of JSON."""
    try:
        return json.dumps(row_of(instance), ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise UserError(
            f"annotation '{instance.annotation_id}': a score or probability is not a finite number"
        ) from None


def row_of(instance: Instance) -> dict[str, Any]:
    """The instance under the names of the file; what is None is left out."""
    return _named(instance, INSTANCE_KEYS)


def _named(part: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    values = {key: getattr(part, name) for key, name in keys.items()}
    return {key: _plain(value) for key, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Span):
        return _named(value, SPAN_KEYS)
    if isinstance(value, Thresholded):
        return _named(value, THRESHOLD_KEYS)
    if isinstance(value, DocumentRationale):
        return _named(value, DOCUMENT_KEYS)
    if isinstance(value, tuple):
        return list(value) if value and isinstance(value[0], float) else [_plain(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value
