"""Several methods on the same examples: which is better, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from unirex.comparison import examples as agreement
from unirex.comparison import scores as printed
from unirex.comparison import significance
from unirex.comparison.evaluations import by_token, mixed_units, same_records
from unirex.comparison.method import Method
from unirex.comparison.significance import Difference, Kind
from unirex.metrics import performance
from unirex.metrics.registry import METRICS
from unirex.metrics.relative_gain import FAITHFULNESS, PLAUSIBILITY, Gains, relative_gain, warnings_of
from unirex.report.notes import answer

BUDGET = 20.0  # of the highlights, if it was measured
EXAMPLES = 10_000  # of a page


@dataclass
class Comparison:
    """What was compared and how; numbers, tables and figures are computed when they are asked for."""

    methods: Sequence[Method]
    columns: Sequence[str]
    notes: Sequence[str] = ()
    paper: str | None = None
    budget: float = BUDGET
    test: Kind = "randomisation"
    draws: int = significance.DRAWS
    examples: int = EXAMPLES
    gate: float | None = None
    _tested: dict[str, list[Difference]] = field(default_factory=dict, repr=False)

    @property
    def texts(self) -> int:
        """How many examples all methods have."""
        return len(self.methods[0].gold)

    @property
    def performance(self) -> str:
        """What counts as performance: the first such column."""
        known = (METRICS[key] for key in self.columns if key in METRICS)
        found = (one.name for one in known if one.desideratum == "performance" and one.direction == "higher")
        return next(found, "accuracy")

    def differences(self, key: str) -> list[Difference]:
        """Every two methods on one metric, with interval, p-value and corrected p-value.

        Nothing is tested that counts tokens where methods mean different things by a token, and no number
        that is what it is by construction.
        """
        if by_token(key) and mixed_units(self.methods):
            return []
        if key not in self._tested:
            ranked = self.ranked(key)
            self._tested[key] = significance.differences(ranked, key, kind=self.test, draws=self.draws)
        return self._tested[key]

    def tests(self) -> list[Difference]:
        """Every two methods on every metric of the table."""
        return [one for key in self.columns for one in self.differences(key)]

    def best(self, key: str) -> set[str]:
        """The methods in bold: the best, and those not told apart from it, if any is significantly worse."""
        return significance.best(self.ranked(key), key, self.differences(key))

    def ranked(self, key: str) -> list[Method]:
        """The methods that a metric can be held against each other of."""
        return [one for one in self.methods if one.ranked(key)]

    @cached_property
    def gains(self) -> dict[str, Gains]:
        """Normalised relative gain of each method among these; empty for a single method."""
        if len(self.methods) < 2:
            return {}
        table = {one.name: {key: mean for key, (mean, _) in one.metrics.items()} for one in self.methods}
        weights = [float(self._known(keys)) for keys in (FAITHFULNESS, PLAUSIBILITY, (self.performance,))]
        if not any(weights):
            return {}
        found = relative_gain(
            table,
            performance=(self.performance,),
            weights=weights,
            gate=self.gate,
            chance=self._chance,
            collapsed=self._constant,
        )
        measured = {key for row in table.values() for key in row}  # nobody lacks what nobody has
        return {
            name: replace(one, missing=tuple(key for key in one.missing if key in measured))
            for name, one in found.items()
        }

    @property
    def warnings(self) -> list[str]:
        """What the reader must know: of the examples, of the gains, and of the published numbers."""
        of_gains = [] if self._all_same or not self.gains else [*warnings_of(self.gains), *self._partly]
        first = next((one for one in self.methods if not one.select_predict), self.methods[0])
        of_paper = printed.remarks(first, self.paper) if self.paper else []
        return [*self.notes, *of_gains, *of_paper]

    @cached_property
    def gathered(self) -> agreement.Gathered:
        """All examples side by side; reads the records once more."""
        return agreement.gather(self.methods, budget=self.budget, limit=self.examples)

    def table(self, format: str = "text", *, runs: bool = False) -> str:  # noqa: A002  (as on the command line)
        """One row a method, as `text`, `markdown`, `latex` or `csv`; with `runs`, one row a run."""
        from unirex.comparison.scores import every_run, scores
        from unirex.comparison.tables import probed

        if runs:
            return every_run(self).written(format)
        text = format == "text"  # a terminal is narrow
        main = scores(self, published="rows" if text else "columns", short=text).written(format)
        further = probed(self) if text else None  # other formats hold one table
        return main if further is None else f"{main}\n\n{further.text()}"

    def save_plots(self, folder: str | Path) -> list[Path]:
        """Write every figure as SVG and PNG."""
        from unirex.comparison.figures import figures

        return [path for figure in figures(self) for path in figure.save(Path(folder))]

    def page(self, title: str | None = None, *, remarks: Sequence[str] = ()) -> str:
        """The whole report as a page that stands alone; `remarks` are notes of your own under the table."""
        from unirex.comparison.page import page

        return page(self, title, remarks)

    @property
    def _all_same(self) -> bool:
        """Whether all methods are the same records, of which gains have nothing to say."""
        return len(self.methods) > 1 and all(same_records(self.methods[0], one) for one in self.methods[1:])

    @property
    def _constant(self) -> dict[str, str]:
        """Of the methods that predict: the one answer they gave in every run, or nothing."""
        found = {one.name: [run.collapse for run in one.runs] for one in self.methods if one.confusion}
        return {
            name: f"it answers {answer(all_[0])}" if all_[0] and all(all_) else ""
            for name, all_ in found.items()
        }

    @property
    def _partly(self) -> list[str]:
        """That CNRG is not over all three desiderata, if nobody has one of them."""
        parts = {"FNRG": FAITHFULNESS, "PNRG": PLAUSIBILITY, "TNRG": (self.performance,)}
        known = [name for name, keys in parts.items() if self._known(keys)]
        if len(known) == len(parts):
            return []
        lacking = ", ".join(name for name in parts if name not in known)
        return [f"No method has what {lacking} needs: CNRG is {_mean_of(known)} only."]

    def _known(self, keys: Iterable[str]) -> bool:
        return any(key in one.metrics for key in keys for one in self.methods)

    @property
    def _chance(self) -> float | None:
        """What the best single answer to all examples would get; on accuracy, the most frequent label."""
        counts = Counter(label for label in self.methods[0].gold if label is not None)
        of_counts = getattr(performance, f"{self.performance}_of")
        how = {} if self.performance == "accuracy" else {"labels": self.methods[0].labels}
        answers = [{(answer, gold): n for gold, n in counts.items()} for answer in counts]
        return max((of_counts(one, **how) for one in answers), default=None)


def _mean_of(names: Sequence[str]) -> str:
    return f"the mean of {' and '.join(names)}" if len(names) > 1 else names[0]
