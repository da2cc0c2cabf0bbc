"""What the answers say: means by method, tests with people and items as random factors, agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan, nan
from statistics import median

import numpy as np

from unirex.errors import UserError
from unirex.metrics.agreement import fleiss_kappa, krippendorff_alpha
from unirex.metrics.arrays import Floats
from unirex.metrics.crossed import CrossedResult, crossed_test, two_way_interval
from unirex.metrics.paired import holm, mean_of_known, mean_std
from unirex.user_study.answers import AnswerRow, read_answers
from unirex.user_study.study import UserStudy

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Measure:
    """One number that is taken from an answer."""

    key: str
    head: str
    group: str
    meaning: str
    scale: float = 1.0  # 100 for shares, which are shown in per cent
    paper: str | None = None  # its name among the published numbers
    question: str | None = None  # the field of an answer on which people can agree


ACCURACY = Measure(
    "accuracy",
    "Accuracy ↑",
    "Forward simulation",
    "share of answers that name the label the model predicted, in per cent",
    100,
    "forward_simulation_accuracy",
    "label",
)
CONFIDENCE = Measure(
    "confidence", "Confidence", "Forward simulation", "1 to 4", 1, "confidence", "confidence"
)
ALIGNMENT = Measure(
    "alignment", "Alignment ↑", "Subjective rating", "of words and label, 1 to 5", 1, "alignment", "alignment"
)
PRE = Measure(
    "pre", "Before", "Forward simulation", "accuracy before the reasons were seen, in per cent", 100
)
POST = Measure(
    "post",
    "After",
    "Forward simulation",
    "accuracy after the reasons were seen, in per cent",
    100,
    None,
    "label",
)
CHANGE = Measure("change", "Change ↑", "Forward simulation", "accuracy after minus before, in points", 100)
POST_CONFIDENCE = Measure(
    "confidence", "Confidence", "Forward simulation", "1 to 4, after", 1, None, "confidence"
)

Cells = Mapping[tuple[str, str, str], float]  # (annotator, item, arm) → value


@dataclass(frozen=True, slots=True)
class ArmResult:
    """A measure of one arm: mean and standard deviation over annotators, and a two-way interval."""

    mean: float
    std: float
    low: float
    high: float
    answers: int


@dataclass(frozen=True, slots=True)
class PairResult:
    """How two arms differ in a measure."""

    first: str
    second: str
    result: CrossedResult
    corrected: float  # p-value for all pairs of the measure, by Holm


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """How far annotators give the same answer to the same question."""

    kappa: float  # Fleiss', over the questions that as many people answered
    alpha: float  # Krippendorff's, over all that two or more answered
    questions: int  # those of kappa
    annotators: int  # who answered each of them


class Analysis:
    """The results of a study so far."""

    def __init__(self, study: UserStudy, *, max_failed: int | None = None) -> None:
        self.study, self.max_failed = study, max_failed
        every = read_answers(study)
        self.failed = Counter(row.annotator for row in every if row.passed is False)
        self.excluded = sorted(
            name for name, count in self.failed.items() if max_failed is not None and count > max_failed
        )
        self.rows = [row for row in every if row.annotator not in self.excluded]
        self.simulated = any(row.simulated for row in self.rows)
        self.annotators = sorted(
            {row.annotator for row in self.rows if row.part not in ("practice", "check")}
        )
        if not self.annotators:
            raise UserError(f"{study.folder}: nothing has been answered yet; there is nothing to report.")

    @property
    def measures(self) -> list[Measure]:
        """What is measured in this design, in the order of columns."""
        if self.study.definition.design == "learning":
            return [PRE, POST, CHANGE, POST_CONFIDENCE]
        tasks = self.study.definition.tasks
        first = [ACCURACY, CONFIDENCE] if "simulation" in tasks else []
        return [*first, ALIGNMENT] if "rating" in tasks else first

    @property
    def arms(self) -> list[str]:
        """Names of the arms in the order of the table."""
        return [arm.name for arm in self.study.definition.arms]

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The value of every measure by annotator, item and arm."""
        by_part: dict[str, dict[tuple[str, str, str], AnswerRow]] = defaultdict(dict)
        for row in self.rows:
            by_part[f"{row.part} {row.task}"][row.annotator, row.item, row.method] = row
        if self.study.definition.design == "learning":
            pre, post = by_part["pre simulation"], by_part["post simulation"]
            right = {key: float(row.correct or 0) for key, row in pre.items()}
            after = {key: float(row.correct or 0) for key, row in post.items()}
            change = {key: after[key] - right[key] for key in after if key in right}
            sure = {key: float(row.confidence or nan) for key, row in post.items()}
            return {"pre": right, "post": after, "change": change, "confidence": sure}
        simulated, rated = by_part["main simulation"], by_part["main rating"]
        return {
            "accuracy": {key: float(row.correct or 0) for key, row in simulated.items()},
            "confidence": {key: float(row.confidence or nan) for key, row in simulated.items()},
            "alignment": {key: float(row.alignment or nan) for key, row in rated.items()},
        }

    @cached_property
    def results(self) -> dict[str, dict[str, ArmResult]]:
        """Every measure of every arm that has answers."""
        found: dict[str, dict[str, ArmResult]] = {}
        for measure in self.measures:
            cells = self.cells[measure.key]
            answered = Counter(arm for _, _, arm in cells)
            found[measure.key] = {
                arm: _arm_result(_matrix(cells, arm), answered[arm]) for arm in self.arms if answered[arm]
            }
        return found

    @cached_property
    def tests(self) -> dict[str, list[PairResult]]:
        """Every two arms in every measure."""
        return {measure.key: self._pairs(self.cells[measure.key]) for measure in self.measures}

    def _pairs(self, cells: Cells) -> list[PairResult]:
        present = {arm for _, _, arm in cells}
        arms = [arm for arm in self.arms if arm in present]
        if len(arms) < 2:
            return []
        people, items, names = zip(*cells, strict=True)
        numbers = [arms.index(name) for name in names]
        pairs = list(combinations(range(len(arms)), 2))
        tested = crossed_test(list(cells.values()), numbers, people, items, pairs=pairs)
        corrected = holm([result.p_value for result in tested])
        return [
            PairResult(arms[result.first], arms[result.second], result, float(p))
            for result, p in zip(tested, corrected, strict=True)
        ]

    def best(self, measure: Measure) -> set[str]:
        """The best method and those not told from it, if any is significantly worse; without oracles."""
        methods = [arm.name for arm in self.study.definition.arms if not arm.oracle]
        means = {
            arm: self.results[measure.key][arm].mean for arm in methods if arm in self.results[measure.key]
        }
        if not means:
            return set()
        top = max(means, key=lambda arm: means[arm])
        worse = {
            pair.first if pair.second == top else pair.second
            for pair in self.tests[measure.key]
            if top in (pair.first, pair.second) and pair.corrected < SIGNIFICANT
        }
        return set(means) - worse if worse & set(means) else set()

    @cached_property
    def agreement(self) -> dict[str, QuestionAgreement]:
        """Agreement on each question, by measure; texts in different arms are different questions."""
        found = {}
        for measure in self.measures:
            if measure.question is None:
                continue
            part = "main" if self.study.definition.design == "paper" else "post"
            ratings: dict[tuple[str, str], dict[str, object]] = defaultdict(dict)
            for row in self.rows:
                value = getattr(row, measure.question)
                if row.part == part and value is not None:
                    ratings[row.item, row.method][row.annotator] = value
            found[measure.key] = _question_agreement(list(ratings.values()))
        return found

    def seconds(self, arm: str) -> float:
        """The median time of an answer in an arm."""
        asked = ("main", "pre", "post")
        times = [row.seconds for row in self.rows if row.method == arm and row.part in asked]
        return median(times) if times else nan


def _matrix(cells: Cells, arm: str) -> Floats:
    """The values of an arm [people, items], NaN where there is no answer."""
    people = {name: at for at, name in enumerate(sorted({person for person, _, _ in cells}))}
    items = {name: at for at, name in enumerate(sorted({item for _, item, _ in cells}))}
    values = np.full((len(people), len(items)), nan)
    for (person, item, of), value in cells.items():
        if of == arm:
            values[people[person], items[item]] = value
    return values


def _arm_result(values: Floats, answers: int) -> ArmResult:
    own = mean_of_known(values.T)  # [people]
    mean, std = mean_std(own)
    low, high = two_way_interval(values)
    return ArmResult(mean, std, low, high, answers)


def _question_agreement(ratings: Sequence[Mapping[str, object]]) -> QuestionAgreement:
    """Fleiss' kappa needs as many people for each question: the number that most questions have."""
    several = [given for given in ratings if len(given) > 1]
    if not several:
        return QuestionAgreement(nan, nan, 0, 0)
    sizes = Counter(len(given) for given in several)
    size = max(sizes, key=lambda number: (sizes[number], number))
    values = sorted({value for given in several for value in given.values()}, key=str)
    alike = [Counter(given.values()) for given in several if len(given) == size]
    table = np.array([[counts[value] for value in values] for counts in alike])
    people = sorted({name for given in several for name in given})
    numbers = [[_number(values, given.get(name)) for given in several] for name in people]
    return QuestionAgreement(fleiss_kappa(table), krippendorff_alpha(numbers), len(alike), size)


def _number(values: Sequence[object], value: object) -> float:
    return nan if value is None else float(values.index(value))


def level_of(kappa: float) -> str:
    """Agreement in the words of Landis & Koch (1977), which the paper uses.

    >>> level_of(0.2456), level_of(0.1282), level_of(-0.1)
    ('fair', 'slight', 'poor')
    """
    if isnan(kappa):
        return ""
    steps = {0.0: "poor", 0.2: "slight", 0.4: "fair", 0.6: "moderate", 0.8: "substantial"}
    return next((word for bound, word in steps.items() if kappa <= bound), "almost perfect")
