"""The summary of an evaluation: metrics, confidence intervals, and the floor of random scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from unirex.data.example import Label
from unirex.evaluation.records import Record
from unirex.evaluation.tally import Interval, MetricColumns, Sum, Tally, intervals_of
from unirex.files import write_file
from unirex.metrics import performance
from unirex.metrics.paired import mean_std
from unirex.metrics.registry import BY_REMOVAL, HEADLINE, PROBED
from unirex.report.grid import Cell, Grid, Head
from unirex.report.notes import collapse_warning, completeness_note, select_predict_note
from unirex.report.table import results_grid

METRICS = "metrics.json"  # file beside the records
FLOOR = "random scores"
SHOWN_CLASSES = 10  # most labels with a table of their own
SEEN = ("budgets", "removals", "trained_removal", "target", "draws", "predicts_from")  # see `Summary.seen`
NEARLY_NOTHING = 0.005  # of the tokens: as good as none


@dataclass
class Summary:
    """The values of every example of a system, and the running sums of random scores."""

    name: str
    labels: Sequence[Label] | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # of the system and its run, for the file
    columns: MetricColumns = field(init=False)
    floor: list[Tally] = field(default_factory=list)  # one per draw
    read: Sum = field(default_factory=Sum)  # share of the tokens read by a select-predict system
    seen: dict[str, object] = field(default_factory=dict)  # how it was evaluated, from the first record

    def __post_init__(self) -> None:
        self.columns = MetricColumns(self.name, self.labels)

    @classmethod
    def of(cls, name: str, records: Iterable[Record], labels: Sequence[Label] | None = None) -> Summary:
        """The summary of all these records."""
        summary = cls(name, labels)
        for record in records:
            summary.add(record)
        return summary

    def add(self, record: Record) -> None:
        """Add one more example."""
        if not len(self.columns):
            # The settings of the evaluation are the same in all its records.
            protocol = (
                list(record.budgets),
                [views.removal for views in record.views],
                record.trained_removal,
                "predicted",  # until a record is seen that follows another label
                len(record.draws),
                "rationale" if record.select_predict else "text",
            )
            self.seen = dict(zip(SEEN, protocol, strict=True))
            self.floor = [Tally(self.labels) for _ in record.draws]
        if record.follows_gold:
            self.seen["target"] = "gold"
        if record.select_predict:
            # It reads the tokens of its largest rationale.
            tokens = sum(len(scored.tokens) for scored in record.sequences)
            read = sum(len(scored.selected[-1]) for scored in record.sequences)
            self.read.add(read / tokens if tokens else 0.0)
        self.columns.add(record)
        for number, tally in enumerate(self.floor):
            tally.add(record.drawn(number))

    def extend(self, other: Summary) -> None:
        """Add the examples of another summary of the same system, measured in the same way, after these."""
        if not len(self.columns):
            self.seen = dict(other.seen)
            self.floor = [Tally(self.labels) for _ in other.floor]
        elif other.seen.get("target") == "gold":
            self.seen["target"] = "gold"
        self.read.merge(other.read)
        self.columns.extend(other.columns)
        for tally, further in zip(self.floor, other.floor, strict=True):
            tally.merge(further)

    @property
    def count(self) -> int:
        """The number of texts."""
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
    def intervals(self) -> dict[str, Interval]:
        """The 95 % bootstrap interval of each metric over texts."""
        return intervals_of(self.columns)

    @property
    def select_predict(self) -> bool:
        """Whether it predicts from its rationale alone."""
        return self.seen.get("predicts_from") == "rationale"

    @property
    def collapse(self) -> performance.Collapse | None:
        """The one answer it gives to (nearly) all texts, if there is one."""
        return self.columns.tally.collapse

    @property
    def notes(self) -> list[str]:
        """Where its numbers mean something other than usual."""
        comp, budgets = self.metrics.get("comprehensiveness_mean"), self.seen.get("budgets")
        error = self.metrics.get("convergence_delta")
        found = [] if error is None else [f"note: {completeness_note(error)}"]
        if self.select_predict and comp is not None and isinstance(budgets, list):
            found.append(f"note: {select_predict_note(self.name, comp, len(budgets), self.read.mean)}")
        return found

    @property
    def warnings(self) -> list[str]:
        """Why its numbers mislead, if they do."""
        found = [] if self.collapse is None else [collapse_warning(self.name, self.collapse)]
        if self.read.count and not NEARLY_NOTHING < self.read.mean < 1 - NEARLY_NOTHING:
            what = "nothing" if self.read.mean <= NEARLY_NOTHING else "everything"
            found.append(f"{self.name} selects (nearly) {what}: it does not choose at all.")
        return found

    def table(self, columns: Sequence[str] = ()) -> str:
        """The three desiderata as text, with intervals and notes; then further removals and probes.

        `columns` are shown beside the performance, instead of the usual ones.
        """
        return "\n\n".join(grid.text() for grid in self.grids(columns))

    def grids(self, columns: Sequence[str] = ()) -> list[Grid]:
        """The tables of `table` before they are typeset."""
        rows = self.rows
        leading = self.columns.tally.leading
        named = [leading, *(name for name in columns or HEADLINE if name != leading)]
        shown = [name for name in named if any(name in row for row in rows.values())]
        intervals = {self.name: self.intervals} if self.intervals else None
        main = results_grid(rows, shown, intervals, notes=self.notes, warnings=self.warnings)
        removals, probed = self.removals(), [name for name in PROBED if name in self.metrics]
        others = [results_grid(removals)] if len(removals) > 1 else []
        others += [results_grid(rows, columns=probed)] if probed else []
        others += [self.class_grid()] if 0 < len(self.classes()) <= SHOWN_CLASSES else []
        return [main, *others]

    def class_grid(self) -> Grid:
        """For each label its texts, how well it is found, and how often each label was predicted for it."""
        measures = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
        found, confusion = self.classes(), self.confusion
        heads = [Head("Label"), Head("Texts"), *map(Head, measures.values())]
        if confusion is not None:
            heads += [Head(f"→ {row['label']}", f"predicted {row['label']}") for row in found]
        body = []
        for number, row in enumerate(found):
            shares = [f"{100 * row[name]:.1f}" for name in measures]
            predicted = [] if confusion is None else map(str, confusion[number])
            body.append(
                [Cell(text) for text in (str(row["label"]), str(row["support"]), *shares, *predicted)]
            )
        return Grid(heads, body)

    @property
    def confusion(self) -> list[list[int]] | None:
        """Texts by gold label (row) and predicted label (column); None for choices and sets of labels."""
        tally = self.columns.tally
        if not tally.confusion or tally.multi_label or self.labels is None:
            return None
        return performance.confusion_matrix_of(tally.confusion, self.labels)

    def removals(self) -> dict[str, dict[str, float]]:
        """Faithfulness by removal: the one training used, the main one, and one held out from both."""
        metrics, found = self.metrics, {}
        removals, trained = self.seen.get("removals"), self.seen.get("trained_removal")
        for number, removal in enumerate(removals if isinstance(removals, list) else []):
            role = "trained with" if removal == trained else "held out" if number else "main"
            keys = {name: f"{name}/{removal}" if number else name for name in BY_REMOVAL if name in HEADLINE}
            found[f"{removal} ({role})"] = {
                name: metrics[key] for name, key in keys.items() if key in metrics
            }
        return found

    def plain(self) -> dict[str, Any]:
        """Everything in the form of `metrics.json`."""
        return {
            "system": self.name,
            "labels": None if self.labels is None else list(self.labels),
            "texts": self.count,
            "metrics": _null_for_nan(self.metrics),
            "counts": {name: total.count for name, total in self.columns.tally.sums.items()},
            "intervals": {name: [low, high] for name, (low, high) in self.intervals.items() if low == low},
            "floor": {
                name: _null_for_nan({"mean": mean, "std": std})
                for name, (mean, std) in self.floor_metrics.items()
            },
            "leading": self.columns.tally.leading if self.columns.tally.confusion else None,
            "classes": self.classes(),
            "confusion": self.confusion,
            "collapsed": None if self.collapse is None else self.collapse.label,
            "settings": {**self.facts, **self.seen},
        }

    def classes(self) -> list[dict[str, Any]]:
        """How well every label is found."""
        counts = self.columns.tally.confusion
        if not counts:
            return []
        report = performance.class_report_of(counts, self.labels)
        return [{"label": label, **asdict(row)} for label, row in report.items()]

    def text(self) -> str:
        """The content of `metrics.json`."""
        return json.dumps(self.plain(), indent=2, ensure_ascii=False) + "\n"

    def save(self, folder: Path) -> None:
        """Write `metrics.json`, whole or not at all."""
        write_file(folder / METRICS, self.text())


def saved_summary(path: Path) -> Summary:
    """An empty summary with the name, labels and facts of the evaluation that records belong to.

    They are read from the `metrics.json` beside the records; without it, the records have to do.
    """
    try:
        saved = json.loads((path.parent / METRICS).read_text("utf-8"))
        return Summary(str(saved["system"]), saved["labels"], facts=dict(saved["settings"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Summary(path.stem)


def _null_for_nan(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values with None for NaN, which JSON does not have."""
    return {name: value if value == value else None for name, value in values.items()}
