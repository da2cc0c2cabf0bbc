"""The report of a user study: the paper's table with ours, tests, agreement, figures, and a page."""

from __future__ import annotations

from math import isnan, nan

from unirex.metrics.crossed import CrossedResult
from unirex.paper.published import USER_STUDY_KAPPA, Published, user_study
from unirex.report import plots
from unirex.report.figures import Figure
from unirex.report.grid import MISSING, Cell, Grid, Head, number
from unirex.report.markup import element
from unirex.report.page import count, header, page, resource
from unirex.report.plots import Estimate, Series
from unirex.report.sections import CITATION, Section
from unirex.user_study.analysis import Analysis, ArmResult, Measure, level_of
from unirex.user_study.definition import Arm

PAPER_DATASET = "sst"
SMALLEST_P = 1e-4
TESTS = (
    "Annotators and items are crossed random factors (quasi-F, Satterthwaite's degrees of freedom); the "
    "range is the 95 % interval. Emphasised: below 5 % after Holm's correction for the pairs of a measure."
)
SIMULATED = "These answers were simulated by scripted annotators. They say nothing about people."


def report_sections(analysis: Analysis) -> list[Section]:
    """All parts of the report."""
    # While people still answer, a task may have no answers yet.
    answered = [measure for measure in analysis.measures if analysis.results[measure.key]]
    drawn = [_figure(analysis, measure) for measure in answered]
    tested = [measure for measure in analysis.measures if analysis.tests[measure.key]]
    tests = [_test_table(analysis, measure, "") for measure in tested[:-1]]
    tests += [_test_table(analysis, measure, TESTS) for measure in tested[-1:]]  # once is enough
    return [
        Section("results", "Results", [results_table(analysis)], drawn),
        Section("differences", "Differences between methods", tests),
        Section("agreement", "Agreement of annotators", [agreement_table(analysis)]),
    ]


def report_page(analysis: Analysis, sections: list[Section]) -> str:
    """The report as one self-contained page."""
    definition = analysis.study.definition
    remarks = element("ul", *(element("li", note) for note in notes(analysis)), class_="notes")
    people, items = len(analysis.annotators), len(definition.numbers("main"))
    lead = f"{count(people, 'annotator')}, {count(items, 'item')}, {count(len(definition.arms), 'arm')}"
    warning = [element("p", f"Warning: {SIMULATED}", class_="warning", role="note")] * analysis.simulated
    body = [
        header("User study", definition.title, lead),
        *warning,
        *(section.html() for section in sections),
        element("section", element("h2", "Notes"), remarks),
        element("section", element("h2", "To cite"), element("p", CITATION, class_="fine")),
    ]
    return page(definition.title, body, style=resource("compare.css"))


def notes(analysis: Analysis) -> list[str]:
    """Who answered, who did not, and who failed attention checks."""
    study = analysis.study
    people = study.annotators()
    finished = sum(person.finished for person in people)
    said = [f"{finished} of {count(len(people), 'annotator')} answered all questions."]
    withdrawn = sum(person.withdrawn for person in people)
    if withdrawn:
        said.append(f"{count(withdrawn, 'annotator')} withdrew.")
    if analysis.failed:
        failed = ", ".join(f"{name} ({times})" for name, times in sorted(analysis.failed.items()))
        said.append(f"Attention checks failed: {failed}.")
    if analysis.excluded:
        said.append(f"Left out for it: {', '.join(analysis.excluded)}.")
    definition = study.definition
    said.append(f"Design {definition.design}, {count(definition.rounds, 'round')}, seed {definition.seed}.")
    return said


def results_table(analysis: Analysis) -> Grid:
    """Every arm in every measure, the published number beside it."""
    paper = _published(analysis)
    heads = [Head("", "method")]
    for measure in analysis.measures:
        heads.append(Head(measure.head, measure.key, measure.group, measure.meaning))
        if paper and measure.paper:
            heads.append(Head("paper", f"{measure.key}_paper", measure.group, "as published: mean ± std"))
    heads.append(Head("Seconds", "seconds", "", "median time of an answer"))
    best = {measure.key: analysis.best(measure) for measure in analysis.measures}
    body = []
    for arm in analysis.study.definition.arms:
        row = [Cell(arm.name, quiet=arm.oracle, under="95 %")]
        for measure in analysis.measures:
            result = analysis.results[measure.key].get(arm.name)
            row.append(_cell(measure, result, strong=arm.name in best[measure.key]))
            if paper and measure.paper:
                row.append(_paper_cell(measure, paper.get(arm.paper or "")))
        time = analysis.seconds(arm.name)
        row.append(Cell(MISSING) if isnan(time) else Cell(f"{time:.1f}", numbers={"": time}))
        body.append(row)
    shown = {arm.paper for arm in analysis.study.definition.arms}
    body += [_paper_row(heads, row, analysis) for name, row in paper.items() if name not in shown]
    return Grid(heads, body, _caption(analysis), warnings=[SIMULATED] if analysis.simulated else [])


def _published(analysis: Analysis) -> dict[str, Published]:
    """The rows of the paper's study, if this one asks the same about the same dataset."""
    definition = analysis.study.definition
    if definition.dataset != PAPER_DATASET or definition.design != "paper":
        return {}
    return {row.method: row for row in user_study()}


def _caption(analysis: Analysis) -> str:
    return (
        f"Mean ± standard deviation over {count(len(analysis.annotators), 'annotator')}; under it the 95 % "
        "bootstrap interval over annotators and items. Emphasised: the best method and those not "
        "distinguished from it, where at least one is significantly worse (annotators and items as random "
        "factors, 5 %, Holm-corrected for the pairs of a column); oracles do not compete."
    )


def _cell(measure: Measure, result: ArmResult | None, *, strong: bool) -> Cell:
    if result is None or isnan(result.mean):
        return Cell(MISSING)
    numbers = {"": result.mean, "std": result.std, "low": result.low, "high": result.high}
    low, high = (_number(measure, bound) for bound in (result.low, result.high))
    under = "" if isnan(result.low) else f"{low}–{high}"
    return Cell(_plus_minus(measure, result.mean, result.std), strong, under=under, numbers=numbers)


def _paper_cell(measure: Measure, row: Published | None) -> Cell:
    if row is None or measure.paper is None or measure.paper not in row.metrics:
        return Cell(MISSING, quiet=True)
    mean, std = row.metrics[measure.paper]
    return Cell(_plus_minus(measure, mean, std), quiet=True, numbers={"": mean, "std": std})


def _paper_row(heads: list[Head], row: Published, analysis: Analysis) -> list[Cell]:
    """A row of the paper that this study has no arm for."""
    cells = {f"{measure.key}_paper": _paper_cell(measure, row) for measure in analysis.measures}
    return [Cell(f"paper: {row.method}", quiet=True), *(cells.get(head.key, Cell("")) for head in heads[1:])]


def _number(measure: Measure, value: float) -> str:
    return f"{value * measure.scale:.{1 if measure.scale > 1 else 2}f}"


def _plus_minus(measure: Measure, mean: float, std: float) -> str:
    return _number(measure, mean) + ("" if isnan(std) else f" ± {_number(measure, std)}")


def _test_table(analysis: Analysis, measure: Measure, caption: str) -> Grid:
    """Every two arms: the difference, its interval and p-values."""
    body = []
    for pair in analysis.tests[measure.key]:
        found = pair.result
        numbers = {"": found.difference, "low": found.low, "high": found.high}
        under = "" if isnan(found.low) else f"{_signed(measure, found.low)} to {_signed(measure, found.high)}"
        body.append(
            [
                Cell(f"{pair.first} − {pair.second}"),
                Cell(_signed(measure, found.difference), pair.corrected < 0.05, under=under, numbers=numbers),
                _p_cell(found.p_value),
                _p_cell(pair.corrected),
                _df_cell(found),
            ]
        )
    heads = [Head(measure.head.rstrip(" ↑"), "pair"), Head("Difference", "difference")]
    heads += [Head("p", "p"), Head("p, Holm", "p_holm"), Head("df", "df")]
    return Grid(heads, body, caption)


def _signed(measure: Measure, value: float) -> str:
    return f"{value * measure.scale:+.{1 if measure.scale > 1 else 2}f}"


def _p_cell(p: float) -> Cell:
    if isnan(p):
        return Cell(MISSING)
    return Cell(f"< {SMALLEST_P:.4f}" if p < SMALLEST_P else f"{p:.4f}", numbers={"": p})


def _df_cell(found: CrossedResult) -> Cell:
    return Cell(MISSING) if isnan(found.df) else Cell(f"{found.df:.1f}", numbers={"": found.df})


def agreement_table(analysis: Analysis) -> Grid:
    """Fleiss' kappa of each question, the paper's beside it, and Krippendorff's alpha."""
    paper = USER_STUDY_KAPPA if _published(analysis) else {}
    heads = [Head("", "question"), Head("Fleiss' κ", "kappa"), Head("", "level")]
    heads += [Head("paper", "kappa_paper")] * bool(paper)
    heads += [
        Head("Krippendorff's α", "alpha"),
        Head("Questions", "questions"),
        Head("Annotators", "annotators"),
    ]
    body = []
    for measure in analysis.measures:
        found = analysis.agreement.get(measure.key)
        if found is None:
            continue
        printed = paper.get(measure.paper or "", nan)
        row = [Cell(measure.head.rstrip(" ↑")), _value(found.kappa), Cell(level_of(found.kappa))]
        row += [Cell(number(printed), quiet=True, numbers={"": printed})] * bool(paper)
        row += [_value(found.alpha), Cell(str(found.questions), numbers={"": found.questions})]
        body.append([*row, Cell(str(found.annotators), numbers={"": found.annotators})])
    caption = (
        "A question is a text in one arm. κ is over the questions that as many annotators answered, α over "
        "all that at least two answered. 1 is full agreement, 0 that of chance."
    )
    return Grid(heads, body, caption)


def _value(value: float) -> Cell:
    return Cell(number(value), numbers={} if isnan(value) else {"": value})


def _figure(analysis: Analysis, measure: Measure) -> Figure:
    """Every arm with its interval, and what the paper prints."""
    paper = _published(analysis)
    arms = [arm for arm in analysis.study.definition.arms if arm.name in analysis.results[measure.key]]
    ours = [_estimate(measure, analysis.results[measure.key][arm.name]) for arm in arms]
    systems = [Series("this study, 95 % interval", ours, 0)]
    if paper and measure.paper:
        printed = [_printed(measure, arm, paper) for arm in arms]
        systems.append(Series("paper, ± standard deviation", printed, 1))
    name = measure.head.rstrip(" ↑")
    return Figure(
        f"study-{measure.key}",
        name,
        f"{name}: {measure.meaning}.",
        lambda: plots.dots([arm.name for arm in arms], systems, across=name),
    )


def _estimate(measure: Measure, result: ArmResult) -> Estimate:
    """The mean and its interval; of a single annotator, who has none, the mean alone."""
    low, high = (result.mean if isnan(bound) else bound for bound in (result.low, result.high))
    return result.mean * measure.scale, low * measure.scale, high * measure.scale


def _printed(measure: Measure, arm: Arm, paper: dict[str, Published]) -> Estimate:
    row = paper.get(arm.paper or "")
    if row is None or measure.paper is None or measure.paper not in row.metrics:
        return nan, nan, nan
    mean, std = (value * measure.scale for value in row.metrics[measure.paper])
    return mean, mean - std, mean + std
