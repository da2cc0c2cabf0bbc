"""What a system hands in to ERASER: a line of JSON for each annotation, here as typed objects.

Every optional part is None where a line leaves it out. The names of the parts are shorter than those in the
file, which stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
