"""Explanations shown to a person: as a page that stands alone, or one by one in a notebook or a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unirex.data.example import Answer, Label, answer_labels, answer_name, choice_label
from unirex.explanation import Explanation
from unirex.printable import printable
from unirex.report import notebook, plots
from unirex.report.figures import Figure
from unirex.report.marked_text import (
    NONE_MARKED,
    NOT_ANNOTATED,
    TextPiece,
    cut,
    level,
    passage,
    terminal_text,
    word_list,
)
from unirex.report.markup import Html, element
from unirex.report.page import count, gold_label, header, page, percent, rationale_key

SHOWN_LABELS = 5
SHOWN_UNITS = 40  # in a figure
BAR = 24  # characters for a probability of 1


def explanation_page(explanations: Sequence[Explanation], *, title: str) -> str:
    """A page of explanations: each text with its label and its reasons."""
    numbers = _text_numbers(explanations)
    size = count(max(numbers, default=0), "text")
    if len(set(numbers)) < len(numbers):
        size += f", {count(len(numbers), 'explanation')}"
    top = header("Explanations", title, size)
    if not explanations:
        return page(title, [top, element("p", "There is nothing to show yet.")])
    cards = list(map(_card, numbers, explanations))
    marked = any(explanation.gold_spans for explanation in explanations)
    return page(title, [top, rationale_key("system", gold=marked), *cards])


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Show one explanation to the person at the terminal."""
    console.print(render(explanation))


def render(explanation: Explanation) -> RenderableType:
    """An explanation as a panel: colour for importance, underline for the rationale, italics for gold."""
    bars = Table.grid(padding=(0, 1))
    for label, probability in _ranked(explanation):
        name = Text(printable(_named(explanation, label)))
        bar = Text("█" * round(BAR * probability), style="cyan" if _given(explanation, label) else "dim")
        bars.add_row(name, bar, Text(percent(probability), justify="right"))
    parts: list[RenderableType] = [terminal_text(_marked(explanation)), Text(), bars]
    words = word_list(
        f"rationale{printable(_asked(explanation))}, {_budget(explanation)}",
        (span.text for span in explanation.spans),
    )
    parts.append(Text.assemble("\n", words))
    if explanation.unfilled:
        parts.append(Text(_unfilled(explanation), style="dim"))
    if explanation.against:
        parts.append(word_list("against", (unit.text for unit in explanation.against)))
    if explanation.gold_spans is not None:
        parts.append(word_list("gold rationale", (span.text for span in explanation.gold_spans)))
    if explanation.completeness_error is not None:
        parts.append(Text(_completeness(explanation), style="dim"))
    if explanation.truncated > 0:
        parts.append(Text(_truncation(explanation), style="yellow"))
    return Panel(Group(*parts), title=_terminal_title(explanation), title_align="left", padding=(1, 2))


# ---- On a page --------------------------------------------------------------------------------------------


def _text_numbers(explanations: Sequence[Explanation]) -> list[int]:
    """The number of each explanation's text: one text may have several, for a label each."""
    numbers: list[int] = []
    before = None
    for explanation in explanations:
        text = (explanation.id, explanation.segments)
        same = explanation.target is not None and text == before
        numbers.append((numbers[-1] if numbers else 0) + (not same))
        before = text
    return numbers


def _card(number: int, explanation: Explanation) -> Html:
    name = [element("span", explanation.id, class_="id")] if explanation.id is not None else []
    asked = _asked(explanation)
    title = element("h2", f"Text {number}{asked and f': reasons{asked}'}", *name, class_="card-title")
    verdict = [element("span", _named(explanation, explanation.label), class_="chip", dir="auto")]
    if explanation.gold_label is not None:
        right = explanation.label == explanation.gold_label
        outcome, class_ = ("✓ correct", "right") if right else ("✗ wrong", "wrong")
        verdict.append(element("span", outcome, class_=class_))
        verdict += gold_label(_named(explanation, explanation.gold_label))
    measures = [
        _bars(explanation),
        element("p", f"Rationale{_asked(explanation)}: {_budget(explanation)}", class_="fine"),
    ]
    if explanation.unfilled:
        measures.append(element("p", _unfilled(explanation), class_="fine"))
    if explanation.against:
        named = " · ".join(unit.text for unit in explanation.against)
        measures.append(element("p", f"Against: {named}", class_="fine", dir="auto"))
    remark = _gold_remark(explanation)
    if remark:
        measures.append(element("p", remark, class_="fine"))
    if explanation.truncated > 0:
        measures.append(element("p", _truncation(explanation), class_="fine warning"))
    if explanation.completeness_error is not None:
        measures.append(element("p", _completeness(explanation).capitalize(), class_="fine"))
    answer = [
        element("p", *verdict, class_="verdict"),
        passage(_marked(explanation)),
        element("div", *measures, class_="measures"),
    ]
    return element("article", title, element("div", *answer, class_="single"), class_="card")


def _bars(explanation: Explanation) -> Html:
    """A bar per label, as long as its probability."""
    rows = []
    for label, probability in _ranked(explanation):
        fill = element("span", class_="fill", style=f"width:{100 * probability:.1f}%")
        track = element("span", fill, class_="track", aria_hidden="true")
        value = element("span", percent(probability), class_="value")
        row = (element("dt", _named(explanation, label), dir="auto"), element("dd", track, value))
        rows.append(element("div", *row, class_="predicted" if _given(explanation, label) else None))
    left = len(explanation.probabilities) - len(rows)
    if left:
        rows.append(element("div", element("dt", f"{left} more", class_="muted"), element("dd")))
    return element("dl", *rows, class_="bars")


def _gold_remark(explanation: Explanation) -> str:
    """Why no word is marked as gold; empty where some are, or where the text is not from labelled data."""
    if explanation.gold_spans is not None:
        return "" if explanation.gold_spans else NONE_MARKED
    return "" if explanation.gold_label is None else NOT_ANNOTATED


# ---- In a notebook ----------------------------------------------------------------------------------------


def notebook_view(explanation: Explanation) -> Html:
    """An explanation as the output of a cell."""
    remarks = [f"underlined: the rationale{_asked(explanation)}, {_budget(explanation)}"]
    if explanation.unfilled:
        remarks.append(_unfilled(explanation))
    if explanation.against:
        remarks.append("against: " + " · ".join(unit.text for unit in explanation.against))
    if explanation.gold_label is not None:
        right = "✓ correct" if explanation.gold_label == explanation.label else "✗ wrong"
        remarks.append(f"{right}, gold label {_named(explanation, explanation.gold_label)}")
    if explanation.gold_spans:
        remarks.append("dots above: the gold rationale")
    if explanation.completeness_error is not None:
        remarks.append(_completeness(explanation))
    shares = [
        (_named(explanation, label), probability, _given(explanation, label))
        for label, probability in _ranked(explanation)
    ]
    doubts = [notebook.warning(_truncation(explanation))] if explanation.truncated > 0 else []
    marked = notebook.passage(_marked(explanation))
    return notebook.frame(marked, notebook.bars(shares), *map(notebook.remark, remarks), *doubts)


def explanation_figure(explanation: Explanation) -> Figure:
    """The scores of the words as bars, in the order of the text; of a long text only the highest."""
    highest = sorted(explanation.units, key=lambda unit: -unit.score)[:SHOWN_UNITS]
    shown = sorted(highest, key=lambda unit: (unit.segment, unit.start))
    left = len(explanation.units) - len(shown)
    label = explanation.explained
    title = f"{_named(explanation, label)}, {percent(explanation.probabilities[label])}"
    across = f"score; filled: the rationale{_asked(explanation)}"
    return Figure(
        "explanation",
        title,
        f"The score of each {explanation.unit} in the order of the text.",
        lambda: plots.word_scores(
            [(unit.text, unit.score, unit.selected) for unit in shown],
            title=title,
            across=across + f" ({left} {explanation.unit}s with lower scores are left out)" * bool(left),
        ),
    )


# ---- In a terminal ----------------------------------------------------------------------------------------


def _terminal_title(explanation: Explanation) -> Text:
    """The predicted label, and whether it is right where that is known."""
    title = Text(printable(_named(explanation, explanation.label)), style="bold")
    gold = explanation.gold_label
    if gold is not None and gold == explanation.label:
        title.append(" ✓ correct", style="green")
    elif gold is not None:
        title.append(f" ✗ wrong, gold {printable(_named(explanation, gold))}", style="red")
    if explanation.id is not None:
        title.append(f" · {printable(explanation.id)}", style="dim")
    return title


# ---- What all show ----------------------------------------------------------------------------------------


def _marked(explanation: Explanation) -> list[list[TextPiece]]:
    """The text per segment: words shaded by importance, the rationale selected, and what a person marked."""
    shaded = explanation.tokens if explanation.unit == "token" else explanation.words
    top = max((word.score for word in shaded if math.isfinite(word.score)), default=0.0)
    segments = []
    for number, segment in enumerate(explanation.segments):
        words = [word for word in shaded if word.segment == number]
        gold = [(span.start, span.end) for span in explanation.gold_spans or () if span.segment == number]
        pieces = []
        for (start, end), covering in cut(segment, [*([(word.start, word.end)] for word in words), gold]):
            piece = TextPiece(segment[start:end], gold=len(words) in covering)
            inside = [words[at] for at in covering if at < len(words)]  # the last layer is the gold
            if inside:
                word = max(inside, key=lambda word: (word.selected, word.score))
                piece = replace(piece, level=level(word.score, top), selected=word.selected, score=word.score)
            pieces.append(piece)
        segments.append(pieces)
    return segments


def _ranked(explanation: Explanation) -> list[tuple[Label, float]]:
    """The labels and their probabilities in the order of the task; of many labels only the likeliest."""
    pairs = list(explanation.probabilities.items())
    if len(pairs) <= SHOWN_LABELS:
        return pairs
    return sorted(pairs, key=lambda pair: -pair[1])[:SHOWN_LABELS]


def _given(explanation: Explanation, label: Label) -> bool:
    """Whether a label is predicted."""
    return label in answer_labels(explanation.label)


def _named(explanation: Explanation, label: Answer) -> str:
    """A label as people know it: the letter of a choice with the text it stands for, a set label by label."""
    for number, choice in enumerate(explanation.choices or ()):
        if choice_label(number) == str(label):
            return f"{label} · {choice}"
    return answer_name(label)


def _budget(explanation: Explanation) -> str:
    """How long the rationale may be."""
    unit = "whole sentences, " if explanation.unit == "sentence" else ""
    size = "any number of tokens" if explanation.budget >= 100 else f"{explanation.budget:g} % of the tokens"
    return unit + size


def _asked(explanation: Explanation) -> str:
    """The label that the rationale is for, where one was asked for."""
    if explanation.target is None:
        return ""
    rather = "" if explanation.contrast is None else f" rather than {explanation.contrast}"
    return f" for {_named(explanation, explanation.target)}{rather}"


def _unfilled(explanation: Explanation) -> str:
    """How much of the budget was left, and why."""
    named = sum(token.selected for token in explanation.tokens)
    return f"{named} of {named + explanation.unfilled} tokens: the others did not speak for the label."


def _truncation(explanation: Explanation) -> str:
    """How much of the text the model did not read."""
    tokens = "1 token was" if explanation.truncated == 1 else f"{explanation.truncated} tokens were"
    return f"The text is too long for the model: {tokens} not read."


def _completeness(explanation: Explanation) -> str:
    """How far the scores are from adding up to what they explain."""
    return f"completeness error of the scores: {explanation.completeness_error:.3g}"
