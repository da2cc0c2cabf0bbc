"""The numbers printed in the UNIREX paper, under our names and in our scales, and their caveats.

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

from unirex.data.catalogue import entry
from unirex.errors import unknown
from unirex.metrics.registry import METRICS, PAPER_COLUMNS
from unirex.metrics.relative_gain import Gains, relative_gain

DATASETS = (
    "sst",
    "movies",
    "cose",
    "multirc",
    "esnli",
    "yelp",
    "amazon",
    "stormfront",
    "offenseval",
    "irony",
)
CHANCE = {  # performance of a classifier that ignores its text
    "sst": 0.5,
    "movies": 1 / 3,  # macro F1 of one answer to all, with two balanced labels: (2/3 + 0) / 2
    "cose": 0.2,
    "multirc": 0.3639,  # macro F1 of the more frequent answer: A2R's, 36.39 ± 0.00
    "esnli": 1 / 6,  # macro F1 of one answer to all, with three balanced labels: (1/2 + 0 + 0) / 3
}
ROUNDING = 0.005  # the printed NRG has two decimals, and so have its inputs
GAINS = ("fnrg", "pnrg", "tnrg", "cnrg")  # columns of NRG
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
TRANSFER = {"OffenseEval": "offenseval", "SemEval2018": "irony"}  # other names are ours in lower case
MISPRINTED = {"AA (Rand)": "AA-F (Rand)"}  # for OffensEval alone
PERCENT = ("forward_simulation_accuracy",)  # of the user study, so not in the registry
USER_STUDY_KAPPA = {  # Fleiss' kappa of its five annotators, by question
    "forward_simulation_accuracy": 0.2456,
    "confidence": 0.1282,
    "alignment": 0.1561,
}


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
    """The printed rows for a dataset by the paper's names of methods: the main table, or that of transfer."""
    performance_metric(dataset)  # refuses an unknown dataset
    rows = [row for row in main_results() if row.dataset == dataset]
    return {row.method: row for row in rows or transfer(dataset)}


@cache
def performance_metric(dataset: str) -> str:
    """The performance metric of a dataset in the paper, which is also ours."""
    if dataset not in DATASETS:
        raise unknown("dataset of the paper", dataset, DATASETS)
    return entry(dataset).info.metric


@cache
def main_results() -> tuple[Published, ...]:
    """The main table: 16 methods on five datasets."""
    return tuple(_published(row, row["dataset"]) for row in _rows("main_results"))


def transfer(dataset: str) -> list[Published]:
    """Zero-shot transfer: systems trained on SST, evaluated on another dataset (and on SST)."""
    rows = [(TRANSFER.get(row["dataset"], row["dataset"].lower()), row) for row in _rows("transfer")]
    return [
        _published(row, name, row["task"], MISPRINTED.get(row["method"], row["method"]))
        for name, row in rows
        if name == dataset
    ]


def ablations() -> list[Published]:
    """Variants of UNIREX on SST; `group` is what varies."""
    return [_published(row, "sst", row["ablation"], row["config"]) for row in _rows("ablations")]


def efficiency() -> list[Published]:
    """Integrated Gradients by number of steps beside UNIREX on SST, with seconds per text."""
    return [_published(row, "sst") for row in _rows("efficiency")]


def user_study() -> list[Published]:
    """Forward simulation by people, their confidence (1 to 4) and alignment (1 to 5), by rationale."""
    return [_published(row, "sst") for row in _rows("user_study")]


def paper_name(method: str, extractor: str | None = None) -> str | None:
    """The paper's name of one of our methods with an extractor; None if it has no such row.

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
    rows = results(dataset) if dataset in DATASETS else {}
    if dataset == "sst" and name in HEURISTICS.values():
        rows = {row.method: row for row in ablations()}
    return rows.get(name) if name else None


def values(dataset: str) -> dict[str, dict[str, float]]:
    """The printed means by method and metric, as `relative_gain` takes them."""
    rows = results(dataset).items()
    return {method: {name: mean for name, (mean, _) in row.metrics.items()} for method, row in rows}


def recomputed(dataset: str, *, gate: float | None = None) -> dict[str, Gains]:
    """NRG computed from the printed means."""
    performance = (performance_metric(dataset),)
    return relative_gain(values(dataset), performance=performance, gate=gate, chance=CHANCE.get(dataset))


def disagreements(dataset: str | None = None) -> list[Disagreement]:
    """The printed NRG values that do not follow from the printed metrics, each with a likely explanation."""
    datasets = dict.fromkeys(row.dataset for row in main_results()) if dataset is None else [dataset]
    diagnoses = {(row["dataset"], row["method"]): row["diagnosis"] for row in _rows("diagnoses")}
    found = []
    for name in datasets:
        gains = recomputed(name)
        for method, row in results(name).items():
            for gain, printed in row.gains.items():
                right = getattr(gains[method], gain)
                if abs(printed - right) > ROUNDING:
                    diagnosis = diagnoses.get((name, method), "")
                    found.append(Disagreement(name, method, gain, printed, right, diagnosis))
    return found


def caveats(dataset: str) -> list[str]:
    """Why printed numbers must not be compared with ours, or only with care; the most important first."""
    performance_metric(dataset)  # refuses an unknown dataset
    table = "main" if any(row.dataset == dataset for row in main_results()) else "transfer"
    return [row["caveat"] for row in _rows("caveats") if row["dataset"] in ("all", dataset, table)]


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = (files(__package__) / "tables" / f"{name}.csv").read_text("utf-8")
    return csv.DictReader(text.splitlines())


def _published(row: Mapping[str, str], dataset: str, group: str = "", method: str = "") -> Published:
    """A printed row under our names and in our scales."""
    metrics = {}
    for column in (name for name in row if f"{name}_std" in row and row[name]):
        name = performance_metric(dataset) if column == "perf" else PAPER_COLUMNS.get(column, column)
        scale = 100 if name in PERCENT else METRICS[name].scale if name in METRICS else 1
        mean, std = (float(text) / scale if text else nan for text in (row[column], row[f"{column}_std"]))
        metrics[name] = round(mean, 12), round(std, 12)  # 0.9368 and not 0.9368000000000001
    gains = {name: float(row[name]) for name in GAINS if name in row}
    return Published(dataset, method or row["method"], metrics, gains, group)
