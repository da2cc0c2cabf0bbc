"""The numbers the UNIREX paper prints, under our names and in our scales, and what not to compare with them.

>>> results("sst")["UNIREX (SLM-FP)"].metrics["accuracy"]  # mean and standard deviation over 3 seeds
(0.9368, 0.0067)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import nan

from unirex.errors import unknown
from unirex.metrics.registry import METRICS, metric
from unirex.metrics.relative_gain import Gains, relative_gain

PERFORMANCE = {  # what each dataset's performance is measured by
    "sst": "accuracy",
    "movies": "macro_f1",
    "cose": "accuracy",
    "multirc": "macro_f1",
    "esnli": "macro_f1",
    "yelp": "accuracy",
    "amazon": "accuracy",
    "stormfront": "binary_f1",
    "offenseval": "macro_f1",
    "irony": "binary_f1",
}
CHANCE = {  # of classifiers that look at nothing
    "sst": 0.5,
    "movies": 1 / 3,  # macro F1 of one answer to all, of two as frequent ones: (2/3 + 0) / 2
    "cose": 0.2,
    "multirc": 0.3639,  # macro F1 of the more frequent answer: A2R's, 36.39 ± 0.00
    "esnli": 1 / 6,  # macro F1 of one answer to all, of three as frequent ones: (1/2 + 0 + 0) / 3
}
GAINS = ("fnrg", "pnrg", "tnrg", "cnrg")
METHODS = {  # ours → the paper's
    "aa-f": "UNIREX (AA-F)",
    "aa-fp": "UNIREX (AA-FP)",
    "dlm-p": "UNIREX (DLM-P)",
    "dlm-fp": "UNIREX (DLM-FP)",
    "slm-fp": "UNIREX (SLM-FP)",
    "l2e": "L2E",
    "sgt": "SGT",
    "sgt-p": "SGT+P",
    "fresh": "FRESH",
    "fresh-p": "FRESH+P",
    "a2r": "A2R",
    "a2r-p": "A2R+P",
}
ATTRIBUTIONS = {  # extractors of a plain classifier
    "gradient": "AA (Grad)",
    "input-x-gradient": "AA (Input*Grad)",
    "deeplift": "AA (DeepLIFT)",
    "integrated-gradients": "AA (IG)",
}
HEURISTICS = {"random": "AA-F (Rand)", "gold": "AA-F (Gold)", "inverse": "AA-F (Inv)"}  # in place of IG
COLUMNS = {  # the paper's → ours
    "comp": "comprehensiveness",
    "suff": "sufficiency",
    "tf1": "token_f1_macro2",
    "acc": "accuracy",
    "delta": "convergence_delta",
}
TRANSFER = {"OffenseEval": "offenseval", "SemEval2018": "irony"}  # others are ours in lower case
PERCENT = ("forward_simulation_accuracy",)  # of the user study


@dataclass(frozen=True, slots=True)
class Published:
    """One row of a printed table."""

    dataset: str
    method: str  # as the paper calls it
    metrics: Mapping[str, tuple[float, float]]  # mean and standard deviation, NaN where none is printed
    gains: Mapping[str, float] = field(default_factory=dict)  # NRG as printed
    group: str = ""  # which part of the table, where it has parts


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A printed NRG that does not follow from the printed values."""

    dataset: str
    method: str
    gain: str
    printed: float
    recomputed: float
    diagnosis: str


def results(dataset: str) -> dict[str, Published]:
    """What the paper prints for a dataset, by its names of methods: the main table, or that of transfer."""
    if dataset not in PERFORMANCE:
        raise unknown("dataset of the paper", dataset, PERFORMANCE)
    found = [one for one in main_results() if one.dataset == dataset]
    return {one.method: one for one in found or transfer(dataset)}


@cache
def main_results() -> tuple[Published, ...]:
    """The main table: 16 methods on five datasets."""
    return tuple(_published(row, row["dataset"]) for row in _rows("main_results"))


def transfer(dataset: str) -> list[Published]:
    """Systems trained on SST, on a dataset they never saw (and on SST)."""
    rows = [(TRANSFER.get(row["dataset"], row["dataset"].lower()), row) for row in _rows("transfer")]
    return [_published(row, name, row["task"]) for name, row in rows if name == dataset]


def ablations() -> list[Published]:
    """Variants of UNIREX on SST; `group` says what varies."""
    return [_published(row, "sst", row["ablation"], row["config"]) for row in _rows("ablations")]


def efficiency() -> list[Published]:
    """Integrated Gradients by number of steps beside UNIREX on SST, with seconds a text."""
    return [_published(row, "sst") for row in _rows("efficiency")]


def user_study() -> list[Published]:
    """What rationales did for people: confidence from 1 to 4, alignment from 1 to 5."""
    return [_published(row, "sst") for row in _rows("user_study")]


def paper_name(method: str, extractor: str | None = None) -> str | None:
    """What the paper calls one of our methods with an extractor; None if it has no such row.

    >>> paper_name("vanilla", "deeplift"), paper_name("aa-f"), paper_name("slm-p")
    ('AA (DeepLIFT)', 'UNIREX (AA-F)', None)
    """
    if method == "vanilla":
        return ATTRIBUTIONS.get(extractor or "integrated-gradients")
    if method.startswith("aa-") and extractor not in (None, "integrated-gradients"):
        return HEURISTICS.get(extractor) if method == "aa-f" else None
    return METHODS.get(method)


def published_row(dataset: str, method: str, extractor: str | None = None) -> Published | None:
    """The printed row for one of our methods; None if the paper has none."""
    name = paper_name(method, extractor)
    rows = results(dataset) if dataset in PERFORMANCE else {}
    if dataset == "sst" and name in HEURISTICS.values():
        rows = {one.method: one for one in ablations()}
    return rows.get(name) if name else None


def values(dataset: str) -> dict[str, dict[str, float]]:
    """The printed means by method and metric, as `relative_gain` takes them."""
    rows = results(dataset).items()
    return {method: {name: mean for name, (mean, _) in row.metrics.items()} for method, row in rows}


def recomputed(dataset: str, *, gate: float | None = None) -> dict[str, Gains]:
    """NRG from the printed means, gated if asked for."""
    return relative_gain(
        values(dataset), performance=(PERFORMANCE[dataset],), gate=gate, chance=CHANCE.get(dataset)
    )


def disagreements(dataset: str | None = None, *, tolerance: float = 0.005) -> list[Disagreement]:
    """The printed NRG values that do not follow from the printed metrics, and what seems to have happened."""
    names = dict.fromkeys(one.dataset for one in main_results()) if dataset is None else [dataset]
    why = {(row["dataset"], row["method"]): row["diagnosis"] for row in _rows("diagnoses")}
    return [
        Disagreement(name, method, gain, printed, right, why.get((name, method), ""))
        for name in names
        for method, gain, printed, right in _printed_and_right(name)
        if abs(printed - right) > tolerance
    ]


def _printed_and_right(dataset: str) -> Iterator[tuple[str, str, float, float]]:
    gains = recomputed(dataset)
    for method, row in results(dataset).items():
        for gain, printed in row.gains.items():
            yield method, gain, printed, getattr(gains[method], gain)


def caveats(dataset: str) -> list[str]:
    """What must not be compared with the printed numbers, or only with care; the weightiest first."""
    if dataset not in PERFORMANCE:
        raise unknown("dataset of the paper", dataset, PERFORMANCE)
    wanted = {"all", dataset, "main" if any(one.dataset == dataset for one in main_results()) else "transfer"}
    return [row["caveat"] for row in _rows("caveats") if row["dataset"] in wanted]


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = (files(__package__) / "tables" / f"{name}.csv").read_text("utf-8")
    return csv.DictReader(text.splitlines())


def _published(row: Mapping[str, str], dataset: str, group: str = "", method: str = "") -> Published:
    pairs = [name for name in row if f"{name}_std" in row and row[name]]
    metrics = dict(_measured(name, row, dataset) for name in pairs)
    gains = {name: float(row[name]) for name in GAINS if name in row}
    return Published(dataset, method or row["method"], metrics, gains, group)


def _measured(name: str, row: Mapping[str, str], dataset: str) -> tuple[str, tuple[float, float]]:
    ours = PERFORMANCE[dataset] if name == "perf" else COLUMNS.get(name, name)
    scale = 100 if name in PERCENT else metric(ours).scale if ours in METRICS else 1
    mean, std = (float(one) / scale if one else nan for one in (row[name], row[f"{name}_std"]))
    return ours, (round(mean, 12), round(std, 12))  # 0.9368 and not 0.9368000000000001
