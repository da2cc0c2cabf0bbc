"""Texts side by side: what each row marks in chosen examples, at the size of the gold rationale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unirex.data.example import CharSpan
from unirex.evaluation.record_files import find_records, read_records
from unirex.evaluation.records import Record
from unirex.report.marked_text import TextPiece, cut, passage
from unirex.report.markup import Html, element, latex_safe, markdown_safe

if TYPE_CHECKING:
    from unirex.experiments.results import StudyResults

SHOWN = 6  # texts, if the experiment names none
GOLD = "Gold"  # the first line of every text: the marks and the label of people
WRONG = "✗"
MARKS = "the highest-scored tokens of each row, as many as people marked."
LABELS = f"On the right what it predicts; {WRONG}: wrong."


@dataclass(frozen=True)
class MarkedExample:
    """One text, and what each row marks in it."""

    id: str
    segments: Sequence[str]
    marks: Mapping[str, tuple[Sequence[Sequence[CharSpan]], str]]  # row → spans of every segment, label

    def said(self, row: str) -> str:
        """The label that a row gives, with a cross if it is wrong."""
        label = self.marks[row][1]
        return label if label == self.marks[GOLD][1] else f"{label} {WRONG}"


def marked_examples(results: StudyResults, trained_on: str, measured_on: str) -> list[MarkedExample]:
    """The chosen examples, or the first with gold rationales; of several seeds, the first."""
    chosen, found = list(map(str, results.definition.texts)), {}
    for measurement in results.finished:
        if (measurement.trained_on, measurement.measured_on) != (trained_on, measured_on):
            continue
        if measurement.variant.name not in found:
            records = read_records(find_records(results.place(measurement)))
            found[measurement.variant.name] = {record.id: record for record in records}
    first, *others = found.values()
    shared = [record for record in first.values() if all(record.id in records for records in others)]
    marked = [record.id for record in shared if _gold(record)]
    known = {record.id for record in shared}
    names = [name for name in chosen if name in known] or marked[:SHOWN]
    return [_marked(name, {row: records[name] for row, records in found.items()}) for name in names]


def _marked(name: str, records: Mapping[str, Record]) -> MarkedExample:
    first = next(iter(records.values()))
    marks = {row: (_top(record), str(record.predicted)) for row, record in records.items()}
    gold = [[(start, end) for at, start, end in _gold(first) if at == number] for number in _numbers(first)]
    return MarkedExample(name, first.segments, {GOLD: (gold, str(first.label)), **marks})


def _gold(record: Record) -> list[tuple[int, int, int]]:
    scored = record.answered
    return [token for token, gold in zip(scored.tokens, scored.gold or (), strict=False) if gold]


def _top(record: Record) -> list[list[CharSpan]]:
    """As many of the highest tokens as people marked; of equal ones the first."""
    scored = record.answered
    order = sorted(range(len(scored.tokens)), key=lambda number: (-scored.scores[number], number))
    tokens = [scored.tokens[number] for number in order[: len(_gold(record))]]
    return [[(start, end) for at, start, end in tokens if at == number] for number in _numbers(record)]


def _numbers(record: Record) -> range:
    return range(len(record.segments))


def html(examples: Sequence[MarkedExample]) -> Html:
    """Every text once for every row, with its marks underlined."""
    key = element("p", f"Underlined: {MARKS} {LABELS}", class_="fine")
    return element("div", key, *map(_html_table, examples))


def _html_table(example: MarkedExample) -> Html:
    rows = []
    for row, (spans, _) in example.marks.items():
        segments = [
            [
                TextPiece(text[start:end], selected=bool(by), score=float(bool(by)))
                for (start, end), by in cut(text, [marks])
            ]
            for text, marks in zip(example.segments, spans, strict=True)
        ]
        head = element("th", row, scope="row")
        text = element("td", passage(segments), style="text-align:left;width:75%;white-space:normal")
        rows.append(element("tr", head, text, element("td", example.said(row))))
    table = element("table", element("tbody", *rows), class_="scores")
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label=f"Text {example.id}")


def latex(examples: Sequence[MarkedExample]) -> str:
    """A table for a paper that uses booktabs: marked words in bold."""
    lines = [
        r"% \usepackage{booktabs}",
        f"% Bold: {MARKS} {LABELS}".replace(WRONG, r"$\times$"),
        r"\begin{tabular}{lp{0.65\linewidth}l}",
        r"\toprule",
    ]
    for example in examples:
        for row, (spans, _) in example.marks.items():
            text = _written(example, spans, lambda part: rf"\textbf{{{latex_safe(part)}}}", latex_safe)
            label = latex_safe(example.said(row)).replace(WRONG, r"$\times$")
            lines.append(rf"{latex_safe(row)} & {text} & {label} \\")
        lines.append(r"\midrule")
    return "\n".join([*lines[:-1], r"\bottomrule", r"\end{tabular}"]) + "\n"


def markdown(examples: Sequence[MarkedExample]) -> str:
    """A table for a document: marked words in bold."""
    lines = ["| | text | label |", "|:--|:--|:--|"]
    for example in examples:
        for row, (spans, _) in example.marks.items():
            text = _written(example, spans, lambda part: f"**{markdown_safe(part)}**", markdown_safe)
            lines.append(f"| {markdown_safe(row)} | {text} | {markdown_safe(example.said(row))} |")
    return "\n".join([*lines, "", f"Bold: {MARKS} {LABELS}"]) + "\n"


def _written(
    example: MarkedExample,
    spans: Sequence[Sequence[CharSpan]],
    strong: Callable[[str], str],
    plain: Callable[[str], str],
) -> str:
    """The text with its marks, in a language of documents."""
    return " / ".join(
        "".join((strong if by else plain)(text[start:end]) for (start, end), by in cut(text, [marks]))
        for text, marks in zip(example.segments, spans, strict=True)
    )
