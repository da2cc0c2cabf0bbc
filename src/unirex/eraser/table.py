"""The scores of a submission as text; `score` has all the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

Row = tuple[str, list[str]]

HARD = {"token_prf": "tokens", "rationale_prf": "spans, exact"}
SOFT = {"token_soft_metrics": "tokens", "sentence_soft_metrics": "sentences"}
CLASSES = {  # by ERASER's names: what a line is called
    "accuracy": "accuracy",
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "comprehensiveness_aopc": "comprehensiveness, AOPC",
    "sufficiency_aopc": "sufficiency, AOPC",
    "tokens_to_flip": "tokens to flip, share",
}
MISSING = "–"


def table(scores: Mapping[str, Any]) -> str:
    """What people look at first, a section for each kind of rationale and one for the classes.

    >>> micro, macro = {"p": 1.0, "r": 0.5, "f1": 2 / 3}, {"p": 0.5, "r": 0.5, "f1": 0.5}
    >>> print(table({"token_prf": {"instance_micro": micro, "instance_macro": macro}}))
    hard rationales      P      R     F1
    tokens, micro    1.000  0.500  0.667
    tokens, macro    0.500  0.500  0.500
    """
    sections = [
        [("hard rationales", ["P", "R", "F1"]), *_hard(scores)],
        [("soft rationales", ["AUPRC", "AP", "ROC"]), *_soft(scores)],
        [("classes", [""]), *_classes(scores.get("classification_scores", {}))],
    ]
    return "\n\n".join(_aligned(rows) for rows in sections if len(rows) > 1)


def _hard(scores: Mapping[str, Any]) -> Iterator[Row]:
    for name, title in HARD.items():
        for average in ("micro", "macro") if name in scores else ():
            yield f"{title}, {average}", _numbers(scores[name][f"instance_{average}"])
    for one in scores.get("iou_scores", ()):
        for average in ("micro", "macro"):
            yield f"overlap of {one['threshold']:g}, {average}", _numbers(one[average])


def _soft(scores: Mapping[str, Any]) -> Iterator[Row]:
    return ((title, _numbers(scores[name])) for name, title in SOFT.items() if name in scores)


def _classes(found: Mapping[str, Any]) -> Iterator[Row]:
    for name, title in CLASSES.items() if found else ():
        if name == "accuracy" or found[name] is not None:
            yield title, [_number(found[name])]
        if name == "accuracy" and found["prf"] is not None:
            yield "macro F1", [_number(found["prf"]["macro avg"]["f1-score"])]


def _numbers(values: Mapping[str, float]) -> list[str]:
    return [_number(value) for value in values.values()]


def _number(value: float | None) -> str:
    return MISSING if value is None or isnan(value) else f"{value:.3f}"


def _aligned(rows: list[Row]) -> str:
    names = max(len(name) for name, _ in rows)
    widths = [max(map(len, column)) for column in zip(*(cells for _, cells in rows), strict=True)]
    lines = (
        f"{name:<{names}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in rows
    )
    return "\n".join(line.rstrip() for line in lines)
