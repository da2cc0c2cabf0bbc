"""`compare`: several methods on the same examples; which is better, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from unirex.comparison import significance
from unirex.comparison.evaluations import align, read_evaluation
from unirex.comparison.examples import GatheredExamples, gather_examples
from unirex.comparison.figures import figure, figures
from unirex.comparison.gain_intervals import GainIntervals, gain_intervals
from unirex.comparison.method import Method, removals
from unirex.comparison.notes import comparability_notes, paper_notes
from unirex.comparison.page import comparison_page
from unirex.comparison.significance import Difference
from unirex.comparison.sources import EvaluationInput, find_sources, group_by_method
from unirex.comparison.tables import main_table, probes_table, table_of_runs
from unirex.comparison.verdict import verdict
from unirex.config import EXPLAINED_BUDGET, PAGE_EXAMPLES, TEST_DRAWS
from unirex.errors import UserError, unknown
from unirex.metrics import performance
from unirex.metrics.paired import PairedTest
from unirex.metrics.registry import BY_REMOVAL, HEADLINE, METRICS, PERFORMANCE_SCORES, metric
from unirex.metrics.relative_gain import (
    FAITHFULNESS,
    PLAUSIBILITY,
    Gains,
    MethodTable,
    relative_gain,
    warnings_of,
)
from unirex.paper.published import performance_metric
from unirex.report import notebook
from unirex.report.notes import constant_answer

GAIN_METHODS = 4  # of fewer, a relative gain says little more than who is best


def compare(
    inputs: Sequence[EvaluationInput] | Mapping[str, Any],
    *,
    evaluation: str | None = None,
    columns: Sequence[str] | None = None,
    paper: str | None = None,
    budget: float | None = None,
    test: PairedTest = "randomisation",
    draws: int = TEST_DRAWS,
    examples: int = PAGE_EXAMPLES,
    gate: float | None = None,
    same_texts: bool = True,
    advance: Callable[[int], object] | None = None,
) -> Comparison:
    """Read evaluations of the same examples and put them side by side.

    Args:
        inputs: folders of runs or of evaluations, files of records, `NAME=place`, or results of
            `unirex.evaluate`; or a mapping of names to one of these, or to a list of seeds.
        evaluation: which of a run's evaluations, if it has several.
        columns: metrics of the table; by default the three desiderata.
        paper: a dataset of the UNIREX paper, to have its numbers beside these.
        budget: size of the rationales whose words are compared and shown, in per cent.
        test: `randomisation` or `bootstrap`.
        draws: number of draws of each test.
        examples: most texts of a page.
        gate: methods below this share of the best performance (gate · best) get no relative gain.
        same_texts: refuse evaluations in which an id stands for another text; without, that is a note.
        advance: progress callback: number of records just read.
    """
    if test not in get_args(PairedTest):
        raise unknown("test", test, get_args(PairedTest))
    if draws < 1:
        raise UserError(f"--draws {draws}: must be at least 1; 1000 or more make sense.")
    if examples < 0:
        raise UserError(f"--examples {examples}: must be 0 or more.")
    groups = group_by_method(find_sources(inputs, evaluation=evaluation))
    if not groups:
        raise UserError("there is nothing to compare; give runs, evaluations or files of records.")
    evaluations = [read_evaluation(source, advance=advance) for group in groups.values() for source in group]
    aligned, notes = align(evaluations, same_texts=same_texts, advance=advance)
    remaining = iter(aligned)
    methods = [Method(name, [next(remaining) for _ in group]) for name, group in groups.items()]
    return Comparison(
        methods,
        _checked_columns(methods, columns, paper),
        [*notes, *comparability_notes(methods)],
        paper,
        _checked_budget(methods, budget),
        test,
        draws,
        examples,
        gate,
    )


@dataclass
class Comparison:
    """What is compared and how; numbers, tables and figures are computed on demand."""

    methods: Sequence[Method]
    columns: Sequence[str]
    notes: Sequence[str] = ()
    paper: str | None = None
    budget: float = EXPLAINED_BUDGET
    test: PairedTest = "randomisation"
    draws: int = TEST_DRAWS
    examples: int = PAGE_EXAMPLES
    gate: float | None = None
    _tested: dict[str, list[Difference]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        names = ", ".join(method.name for method in self.methods)
        return f"<Comparison of {names} on {self.texts} texts: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        probes = probes_table(self)
        grids = [main_table(self, short=True), *([] if probes is None else [probes])]
        verdict = notebook.frame(*map(notebook.sentence, self.verdict))
        return notebook.frame(verdict, notebook.tables(grids, self.warnings))

    @property
    def texts(self) -> int:
        """The number of examples that all methods have."""
        return len(self.methods[0].gold)

    @property
    def performance(self) -> str:
        """The metric that counts as performance: the first such column."""
        return next((key for key in self.columns if key in PERFORMANCE_SCORES), "accuracy")

    def measured(self, keys: Iterable[str]) -> list[str]:
        """Those of the metrics that any method has."""
        return [key for key in keys if any(key in method.metrics for method in self.methods)]

    def differences(self, key: str) -> list[Difference]:
        """Every two methods on one metric, with interval, p-value and corrected p-value.

        Left out are values that are so by construction, and metrics that count marked tokens if the methods
        cut the texts into different tokens.
        """
        first, *others = self.methods
        if metric(key).desideratum == "plausibility" and not all(map(first.tokenised_like, others)):
            return []
        if key not in self._tested:
            ranked = self.ranked(key)
            self._tested[key] = significance.differences(ranked, key, kind=self.test, draws=self.draws)
        return self._tested[key]

    def tests(self) -> list[Difference]:
        """Every two methods on every metric of the table."""
        return [difference for key in self.columns for difference in self.differences(key)]

    def best(self, key: str) -> set[str]:
        """The methods in bold: the best, and all not significantly worse, if any is significantly worse."""
        return significance.best(self.ranked(key), key, self.differences(key))

    def ranked(self, key: str) -> list[Method]:
        """The methods that can be compared with each other on a metric."""
        return [method for method in self.methods if method.ranked(key)]

    @cached_property
    def gains(self) -> dict[str, Gains]:
        """Normalised relative gain of each method among these; empty where it would mislead."""
        if len(self.methods) < 2 or not any(self._gain_weights) or self.no_gains:
            return {}
        gains = self.gains_among([method.name for method in self.methods])
        # A metric that no method has is not reported as missing from each of them.
        return {
            name: replace(gain, missing=tuple(self.measured(gain.missing))) for name, gain in gains.items()
        }

    def gains_among(self, names: Collection[str]) -> dict[str, Gains]:
        """The relative gains of some of the methods, placed among these alone."""
        means = {
            method.name: {key: mean for key, (mean, _) in method.metrics.items()}
            for method in self.methods
            if method.name in names
        }
        return self._gains_of(means)

    @cached_property
    def gain_intervals(self) -> GainIntervals | None:
        """How sure distances in CNRG are, over texts; None without gains."""
        keys = [key for keys in self._gain_metrics.values() for key in keys]
        return gain_intervals(self.methods, keys, self.gains, self._gains_of) if self.gains else None

    def _gains_of(self, means: MethodTable) -> dict[str, Gains]:
        return relative_gain(
            means,
            performance=(self.performance,),
            weights=self._gain_weights,
            gate=self.gate,
            chance=self.chance,
            collapsed=self._collapse_reasons,
        )

    @property
    def _gain_weights(self) -> list[float]:
        """1 for each desideratum that any method has a metric of."""
        return [float(bool(self.measured(keys))) for keys in self._gain_metrics.values()]

    @cached_property
    def no_gains(self) -> str:
        """Why several methods get no relative gains; empty if they do."""
        if len(self.methods) < 2:
            return ""
        if len(self.methods) < GAIN_METHODS:
            return (
                f"NRG is left out: it places methods between the worst and the best of their table, which "
                f"says little for fewer than {GAIN_METHODS}. `unirex nrg` has it for any table."
            )
        keys = [key for keys in self._gain_metrics.values() for key in self.measured(keys)]
        if any(test.significant for key in keys for test in self.differences(key)):
            return ""
        return "NRG is left out: it would stretch differences of which none is significant."

    @cached_property
    def verdict(self) -> list[str]:
        """The result in a few sentences: who is better at what, and which differences are real."""
        return verdict(self)

    @property
    def warnings(self) -> list[str]:
        """Notes on the examples, on the gains, and on the published numbers."""
        notes = [*self.notes, *filter(None, [self.no_gains])]
        if self.gains:
            notes += warnings_of(self.gains)
            known = [name for name, keys in self._gain_metrics.items() if self.measured(keys)]
            lacking = ", ".join(name for name in self._gain_metrics if name not in known)
            if lacking:  # no method has one of the three desiderata
                mean = f"the mean of {' and '.join(known)}" if len(known) > 1 else known[0]
                notes.append(f"No method has what {lacking} needs: CNRG is {mean} only.")
        if self.paper:
            # Systems that predict from their rationale may have a protocol of their own.
            notes += paper_notes(min(self.methods, key=lambda method: method.select_predict), self.paper)
        return notes

    @cached_property
    def gathered(self) -> GatheredExamples:
        """All examples side by side; reads the records once more."""
        return gather_examples(self.methods, budget=self.budget, limit=self.examples)

    def table(self, format: str = "text", *, runs: bool = False) -> str:  # noqa: A002  (as on the command line)
        """One row per method, as `text`, `markdown`, `latex` or `csv`; with `runs`, one row per run."""
        if runs:
            return table_of_runs(self).written(format)
        text = format == "text"  # a terminal is narrow
        main = main_table(self, paper_in_rows=text, short=text).written(format)
        probes = probes_table(self) if text else None  # other formats hold one table
        return main if probes is None else f"{main}\n\n{probes.text()}"

    def plot(self, kind: str = "trade-off") -> Any:
        """A matplotlib figure: `trade-off`, `curves`, `calibration`, `classes`, `lengths` or `agreement`."""
        return figure(self, kind).drawn()

    def save_plots(self, folder: str | Path) -> list[Path]:
        """Write every figure as SVG and PNG."""
        return [path for drawn in figures(self) for path in drawn.save(Path(folder))]

    def page(self, title: str | None = None, *, remarks: Sequence[str] = ()) -> str:
        """The whole report as a self-contained HTML page; `remarks` are notes of your own under the table."""
        return comparison_page(self, title, remarks)

    @property
    def _gain_metrics(self) -> dict[str, tuple[str, ...]]:
        return {"FNRG": FAITHFULNESS, "PNRG": PLAUSIBILITY, "TNRG": (self.performance,)}

    @cached_property
    def _collapse_reasons(self) -> dict[str, str]:
        """Of the methods that predict: the one answer they give in every run, or "" if there is none."""
        reasons = {method.name: "" for method in self.methods if method.confusion}
        for method in self.methods:
            collapses = [run.collapse for run in method.runs]
            if collapses[0] and all(collapses):
                reasons[method.name] = f"it answers {constant_answer(collapses[0])}"
        return reasons

    @cached_property
    def chance(self) -> float | None:
        """The performance of the best single answer to all examples; on accuracy, the most frequent label."""
        counts = Counter(label for label in self.methods[0].gold if label is not None)
        metric_of = getattr(performance, f"{self.performance}_of")
        options = {} if self.performance == "accuracy" else {"labels": self.methods[0].labels}
        confusions = [{(answer, gold): n for gold, n in counts.items()} for answer in counts]
        return max((metric_of(confusion, **options) for confusion in confusions), default=None)


def _checked_columns(
    methods: Sequence[Method], columns: Sequence[str] | None, paper: str | None
) -> list[str]:
    """The metrics of the table: those asked for, or the headline metrics that any method has."""
    measured = dict.fromkeys(key for method in methods for key in method.metrics)
    if columns is None:
        own = performance_metric(paper) if paper else methods[0].runs[0].columns.tally.leading
        usual = [own, *(key for key in HEADLINE if key != "accuracy")]
        return [key for key in usual if key in measured]
    for key in columns:
        metric(key)  # an unknown metric is an error that lists the known ones
        if key not in measured:
            raise _not_measured(key, methods, measured)
    return list(dict.fromkeys(columns))


def _not_measured(key: str, methods: Sequence[Method], measured: Collection[str]) -> UserError:
    """The error for a column that no method has, with the `evaluate` option that measures it."""
    whole, slash, part = key.partition("/")
    name, at, _ = whole.partition("@")
    hint = f"there is: {', '.join(measured)}."
    if METRICS[name].probe:
        hint = f"evaluate with --probes {METRICS[name].probe}."
    elif at and not slash:
        sizes = [other.partition("@")[2] for other in measured if other.startswith(f"{name}@")]
        sizes = [size for size in sizes if "/" not in size]
        known = f"budgets are {', '.join(sizes)}; others:" if sizes else f"{name} was measured at no budget;"
        hint = f"{known} evaluate with --budgets."
    elif slash and name in BY_REMOVAL and not at:
        known = ", ".join(removals(methods)) or "none"
        hint = f"evaluate with --beside {part}; measured removals: {known}."
    return UserError(f"--columns {key}: no evaluation has it; {hint}")


def _checked_budget(methods: Sequence[Method], budget: float | None) -> float:
    """The budget whose rationales are shown: the one asked for, or the measured one nearest to the usual."""
    measured = [run.budgets for method in methods for run in method.runs if run.budgets]
    if not measured:
        return EXPLAINED_BUDGET if budget is None else budget
    shared = [size for size in measured[0] if all(size in other for other in measured)]
    known = shared or measured[0]
    if budget is None:
        return min(known, key=lambda size: abs(size - EXPLAINED_BUDGET))
    if budget not in known:
        raise UserError(f"--budget {budget:g}: measured are {', '.join(f'{size:g}' for size in known)} %.")
    return budget
