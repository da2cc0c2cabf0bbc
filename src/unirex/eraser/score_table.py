"""The main scores of a submission as text; `score` has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from typing import Any

MISSING = "–"
HARD = {"token_prf": "tokens", "rationale_prf": "spans, exact"}
SOFT = {"token_soft_metrics": "tokens", "sentence_soft_metrics": "sentences"}
CLASSES = {
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "comprehensiveness_aopc": "comprehensiveness, AOPC",
    "sufficiency_aopc": "sufficiency, AOPC",
    "tokens_to_flip": "tokens to flip, share",
}

TitledRow = tuple[str, list[str]]  # title, cells


def score_table(scores: Mapping[str, Any]) -> str:
    """The main scores as text: a section for each kind of rationale and one for the classes.

    >>> micro, macro = {"p": 1.0, "r": 0.5, "f1": 2 / 3}, {"p": 0.5, "r": 0.5, "f1": 0.5}
    >>> print(score_table({"token_prf": {"instance_micro": micro, "instance_macro": macro}}))
    hard rationales      P      R     F1
    tokens, micro    1.000  0.500  0.667
    tokens, macro    0.500  0.500  0.500
    """
    soft = ((title, _cells(scores[name].values())) for name, title in SOFT.items() if name in scores)
    sections = [
        [("hard rationales", ["P", "R", "F1"]), *_hard_rows(scores)],
        [("soft rationales", ["AUPRC", "AP", "ROC"]), *soft],
        [("classes", [""]), *_class_rows(scores.get("classification_scores"))],
    ]
    return "\n\n".join(_aligned(rows) for rows in sections if len(rows) > 1)


def _hard_rows(scores: Mapping[str, Any]) -> Iterator[TitledRow]:
    for name, title in HARD.items():
        for average in ("micro", "macro") if name in scores else ():
            yield f"{title}, {average}", _cells(scores[name][f"instance_{average}"].values())
    for overlap in scores.get("iou_scores", ()):
        for average in ("micro", "macro"):
            yield f"overlap of {overlap['threshold']:g}, {average}", _cells(overlap[average].values())


def _class_rows(classes: Mapping[str, Any] | None) -> Iterator[TitledRow]:
    if not classes:
        return
    yield "accuracy", _cells([classes["accuracy"]])
    if classes["prf"] is not None:
        yield "macro F1", _cells([classes["prf"]["macro avg"]["f1-score"]])
    for name, title in CLASSES.items():
        if classes[name] is not None:
            yield title, _cells([classes[name]])


def _cells(values: Iterable[float | None]) -> list[str]:
    return [MISSING if value is None or isnan(value) else f"{value:.3f}" for value in values]


def _aligned(rows: list[TitledRow]) -> str:
    title_width = max(len(title) for title, _ in rows)
    widths = [max(map(len, column)) for column in zip(*(cells for _, cells in rows), strict=True)]
    lines = []
    for title, cells in rows:
        padded = (f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{title:<{title_width}}{''.join(padded)}".rstrip())
    return "\n".join(lines)
