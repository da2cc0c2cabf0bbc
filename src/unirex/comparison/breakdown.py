"""What averages hide: the same metrics by class, by length, and by whether the prediction is right."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unirex.comparison.method import Method
from unirex.metrics.performance import ClassRow, class_report_of

PARTS = 4  # quartiles of the length
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]  # which of the shared examples, [N] or [seeds, N]


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the examples: what they have in common, and which they are."""

    name: str
    marks: Marks

    @property
    def texts(self) -> int:
        """How many examples; with several seeds, on average."""
        return round(float(np.atleast_2d(self.marks).sum(axis=1).mean()))


def by_class(method: Method) -> dict[Hashable, ClassRow]:
    """How well each label is found, all seeds together; support is for one seed."""
    counts = method.confusion
    report = class_report_of(counts, method.labels) if counts else {}
    return {
        label: ClassRow(row.precision, row.recall, row.f1, round(row.support / method.seeds))
        for label, row in report.items()
    }


def by_length(lengths: NDArray[np.int64], *, parts: int = PARTS) -> list[Part]:
    """The examples from the shortest to the longest in parts of about the same size.

    Texts of one length stay together, so there are fewer parts where many have the same.

    >>> [(part.name, part.texts) for part in by_length(np.array([3, 4, 5, 6, 7, 8, 9, 40]))]
    [('3–4', 2), ('5–6', 2), ('7–8', 2), ('9–40', 2)]
    >>> [(part.name, part.texts) for part in by_length(np.array([5, 5, 5, 5, 5, 9]))]
    [('5', 5), ('9', 1)]
    """
    if not len(lengths):
        return []
    ends = np.quantile(lengths, np.arange(1, parts + 1) / parts, method="inverted_cdf")
    found, below = [], -1
    for end in np.unique(ends).tolist():
        marks = (lengths > below) & (lengths <= end)
        first = int(lengths[marks].min())
        found.append(Part(f"{first}–{end}" if first < end else f"{end}", marks))
        below = end
    return found


def by_outcome(method: Method) -> list[Part]:
    """The examples this method gets right, and those it gets wrong: for each seed its own."""
    right = method.values("accuracy")
    return [Part("right", right == 1), Part("wrong", right == 0)]


def mean_over(method: Method, key: str, part: Part) -> float:
    """A metric over some of the examples: mean over those with a value, then over seeds; NaN if none."""
    values = method.values(key)  # [seeds, N]
    used = np.broadcast_to(part.marks, values.shape) & ~np.isnan(values)
    means = [row[some].mean() for row, some in zip(values, used, strict=True) if some.any()]
    return float(np.mean(means)) if means else float("nan")


def removals(methods: Sequence[Method]) -> list[str]:
    """Every way tokens were removed, that of the main metrics first."""
    names = dict.fromkeys(run.removal for method in methods for run in method.runs)
    for key in (key for method in methods for key in method.metrics):
        whole, slash, removal = key.partition("/")
        if slash and whole in ("comprehensiveness", "sufficiency", "csd"):
            names.setdefault(removal)
    return [str(one) for one in names if one is not None]


def under_removal(method: Method, key: str, removal: str) -> float:
    """A faithfulness metric with tokens removed in one way; NaN if that was not tried."""
    return method.value(key if removal == method.runs[0].removal else f"{key}/{removal}")
