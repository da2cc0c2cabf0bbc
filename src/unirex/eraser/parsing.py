"""From a line of JSON to an `Instance`, telling of everything that has a wrong name or type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from reprlib import repr as short
from sys import float_info
from typing import Any, Protocol, TypeVar

from unirex.eraser.instances import (
    COMPREHENSIVENESS,
    DOCUMENT_KEYS,
    INSTANCE_KEYS,
    SPAN_KEYS,
    SUFFICIENCY,
    THRESHOLD_KEYS,
    Classes,
    DocumentRationale,
    Floats,
    Instance,
    Span,
    Thresholded,
)
from unirex.errors import UserError

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


def is_number(value: object) -> bool:
    """Whether it is a finite number; true and false are none.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"))]
    [True, True, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max
