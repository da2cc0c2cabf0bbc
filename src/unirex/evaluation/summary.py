"""What an evaluation comes to: metrics, confidence intervals, and the random floor beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unirex.data.example import Label
from unirex.evaluation.records import Record
from unirex.evaluation.tally import Columns, Sum, Tally
from unirex.files import write_file
from unirex.metrics import performance
from unirex.metrics.bootstrap import bootstrap_counts, bootstrap_interval, bootstrap_statistic
from unirex.metrics.calibration import expected_calibration_error
from unirex.metrics.paired import mean_std
from unirex.report.notes import collapse_warning, completeness_note, select_predict_note
from unirex.report.table import table

Interval = tuple[float, float]

DRAWS = 1000
TOGETHER = 16  # metrics at once: tables of 100,000 examples stay small


def intervals_of(columns: Columns, *, level: float = 0.95, seed: int = 0) -> dict[str, Interval]:
    """Every metric's interval by name; of means over examples and of those that are none (macro F1, ECE)."""
    names = columns.names
    if not names or len(columns) < 2:
        return {}
    found: dict[str, Interval] = {}
    for start in range(0, len(names), TOGETHER):  # one seed, the same draws
        some = names[start : start + TOGETHER]
        table = np.stack([columns.column(name) for name in some], axis=1)  # [N, M]
        low, high = bootstrap_interval(table, level=level, draws=DRAWS, seed=seed)
        found |= {name: (float(a), float(b)) for name, a, b in zip(some, low, high, strict=True)}
    return found | _labels(columns, level, seed) | _calibration(columns, level, seed)


def _labels(columns: Columns, level: float, seed: int) -> dict[str, Interval]:
    """Of what rests on counts of predicted and gold labels."""
    counts, labels = columns.tally.confusion, columns.labels
    pairs = list(counts)

    def interval(metric: Callable[..., float]) -> Interval:
        def of(times: np.ndarray) -> float:
            return metric(dict(zip(pairs, times.tolist(), strict=True)), labels=labels)

        return bootstrap_counts(of, list(counts.values()), level=level, draws=DRAWS, seed=seed)

    found = {"macro_f1": performance.macro_f1_of, "micro_f1": performance.micro_f1_of} if counts else {}
    if counts and labels is not None and len(labels) == 2:
        found["binary_f1"] = performance.binary_f1_of
    return {name: interval(metric) for name, metric in found.items()}


def _calibration(columns: Columns, level: float, seed: int) -> dict[str, Interval]:
    """Of the calibration error, if there are probabilities."""
    sure, right = columns.confidence, columns.column("accuracy")
    known = ~np.isnan(sure) & ~np.isnan(right)
    if not known.any():
        return {}
    sure, right = sure[known], right[known]

    def of(times: np.ndarray) -> float:
        return expected_calibration_error(sure, right, weights=times)

    return {"ece": bootstrap_statistic(of, len(sure), level=level, draws=DRAWS, seed=seed)}


FLOOR = "random scores"
COLUMNS = (
    "accuracy",
    "comprehensiveness",
    "sufficiency",
    "csd",
    "auprc",
    "token_f1_macro2",
    "token_f1",
)  # the three desiderata at a glance; `Summary.metrics` has the rest

PROBED = (
    "normalised_comprehensiveness",
    "normalised_sufficiency",
    "decision_flip_first",
    "decision_flip_fraction",
    "deletion_auc",
    "insertion_auc",
    "loo_correlation",
    "naopc",
    "soft_sufficiency",
    "soft_comprehensiveness",
)  # shown if the probes they need were asked for
NOTHING = 0.005  # of the tokens: as good as none
BY_REMOVAL = ("comprehensiveness", "sufficiency", "csd")


@dataclass
class Summary:
    """The values of every example of a system, and the running sums of random scores."""

    name: str
    labels: Sequence[Label] | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # of the system and its run, for the file
    columns: Columns = field(init=False)
    floor: list[Tally] = field(default_factory=list)  # one a draw
    read: Sum = field(default_factory=Sum)  # share of the tokens, where nothing else is read
    seen: dict[str, object] = field(default_factory=dict)  # how it was evaluated, from the first record

    def __post_init__(self) -> None:
        self.columns = Columns(self.name, self.labels)

    @classmethod
    def of(cls, name: str, records: Iterable[Record], labels: Sequence[Label] | None = None) -> Summary:
        """The summary of all these records."""
        summary = cls(name, labels)
        for record in records:
            summary.add(record)
        return summary

    def add(self, record: Record) -> None:
        """One more example."""
        if not len(self.columns):
            self.seen = protocol_of(record)
            self.floor = [Tally(self.labels) for _ in record.draws]
        if record.target != record.predicted:
            self.seen["target"] = "gold"
        if record.select_predict:
            self.read.add(share_read(record))
        self.columns.add(record)
        for number, tally in enumerate(self.floor):
            tally.add(record.drawn(number))

    @property
    def count(self) -> int:
        """How many texts."""
        return len(self.columns)

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric of the system by name."""
        return self.columns.metrics()

    @property
    def floor_metrics(self) -> dict[str, tuple[float, float]]:
        """Every metric of random scores: mean and standard deviation over the draws."""
        draws = [tally.metrics() for tally in self.floor]
        names = dict.fromkeys(name for draw in draws for name in draw)
        return {name: mean_std([draw[name] for draw in draws if name in draw]) for name in names}

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """The metrics of the system and of random scores under the same classifier."""
        floor = {name: mean for name, (mean, _) in self.floor_metrics.items()}
        return {self.name: self.metrics} | ({f"{self.name}: {FLOOR}": floor} if floor else {})

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Where each metric lies with 95 % confidence, were other texts of this kind drawn."""

        return intervals_of(self.columns)

    @property
    def select_predict(self) -> bool:
        """Whether it predicts from its rationale alone."""
        return self.seen.get("predicts_from") == "rationale"

    @property
    def collapse(self) -> performance.Collapse | None:
        """The one answer it gives to (nearly) all texts, if it does."""
        return self.columns.tally.collapse

    @property
    def notes(self) -> list[str]:
        """What its numbers mean other than usual."""
        raw, sizes = self.metrics.get("comprehensiveness_mean"), self.seen.get("budgets")
        error = self.metrics.get("convergence_delta")
        found = [] if error is None else [f"note: {completeness_note(error)}"]
        if self.select_predict and raw is not None and isinstance(sizes, list):
            found.append(f"note: {select_predict_note(self.name, raw, len(sizes), self.read.mean)}")
        return found

    @property
    def warnings(self) -> list[str]:
        """Why its numbers mislead, if they do."""
        found = [] if self.collapse is None else [collapse_warning(self.name, self.collapse)]
        if self.read.count and not NOTHING < self.read.mean < 1 - NOTHING:
            what = "nothing" if self.read.mean <= NOTHING else "everything"
            found.append(f"{self.name} selects (nearly) {what}: it does not choose at all.")
        return found

    def table(self) -> str:
        """The three desiderata as text, and under it how sure they are and what to beware of."""
        rows = self.rows
        shown = [name for name in COLUMNS if any(name in row for row in rows.values())]
        intervals = {self.name: self.intervals} if self.intervals else None
        main = table(rows, shown, intervals, notes=self.notes, warnings=self.warnings)
        removals, probed = self.removals(), [name for name in PROBED if name in self.metrics]
        others = [table(removals)] if len(removals) > 1 else []
        others += [table(rows, columns=probed)] if probed else []
        return "\n\n".join([main, *others])

    def removals(self) -> dict[str, dict[str, float]]:
        """Faithfulness by the way tokens are removed: one that training used shows what was learnt for it.

        Of the rest, the one that neither training nor the main metrics use is held out.
        """
        metrics, found = self.metrics, {}
        used = self.seen.get("removals") or []
        for number, removal in enumerate(used if isinstance(used, list) else []):
            keys = {name: f"{name}/{removal}" if number else name for name in BY_REMOVAL}
            trained = self.seen.get("trained_removal")
            what = "trained with" if removal == trained else "main" if not number else "held out"
            found[f"{removal} ({what})"] = {
                name: metrics[key] for name, key in keys.items() if key in metrics
            }
        return found

    def plain(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            "system": self.name,
            "labels": None if self.labels is None else list(self.labels),
            "texts": self.count,
            "metrics": known(self.metrics),
            "counts": {name: total.count for name, total in self.columns.tally.sums.items()},
            "intervals": {name: [low, high] for name, (low, high) in self.intervals.items() if low == low},
            "floor": {
                name: known({"mean": mean, "std": std}) for name, (mean, std) in self.floor_metrics.items()
            },
            "classes": self.classes(),
            "collapsed": None if self.collapse is None else self.collapse.label,
            "settings": {**self.facts, **self.seen},
        }

    def classes(self) -> list[dict[str, Any]]:
        """How well every label is found."""
        counts = self.columns.tally.confusion
        if not counts:
            return []
        report = performance.class_report_of(counts, self.labels)
        return [{"label": label, **vars_of(row)} for label, row in report.items()]

    def save(self, folder: Path) -> None:
        """Write `metrics.json`, whole or not at all."""
        write_file(folder / "metrics.json", json.dumps(self.plain(), indent=2, ensure_ascii=False) + "\n")


def saved_summary(path: Path) -> Summary:
    """An empty summary with the name, labels and facts of the evaluation that records belong to.

    They stand in the `metrics.json` beside the records; without it, the records say what they can.
    """
    try:
        saved = json.loads((path.parent / "metrics.json").read_text("utf-8"))
        return Summary(str(saved["system"]), saved["labels"], facts=dict(saved["settings"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Summary(path.stem)


def share_read(record: Record) -> float:
    """Which share of the tokens a system read that predicts from its rationale, the largest it has."""
    tokens = sum(len(one.tokens) for one in record.sequences)
    return sum(len(one.selected[-1]) for one in record.sequences) / tokens if tokens else 0.0


def known(values: Mapping[str, float]) -> dict[str, float | None]:
    """NaN as null: JSON has no word for it."""
    return {name: value if value == value else None for name, value in values.items()}


def vars_of(row: Any) -> dict[str, float]:
    """The numbers of a class report's row."""
    return {name: getattr(row, name) for name in ("precision", "recall", "f1", "support")}


def protocol_of(record: Record) -> dict[str, object]:
    """How a record was made: the same for all of an evaluation."""
    return {
        "budgets": list(record.budgets),
        "removals": [views.removal for views in record.views],
        "trained_removal": record.trained_removal,
        "target": "predicted",  # until a record is seen that follows another label
        "draws": len(record.draws),
        "predicts_from": "rationale" if record.select_predict else "text",
    }
