"""The page of an overview: the words of each label, and the texts they stand in to unfold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from unirex.data.example import answer_name
from unirex.overview.reasons import Disagreement, LabelOverview, Reason, WrongReason
from unirex.overview.tables import (
    ONLY_MODEL,
    ONLY_PEOPLE,
    WRONG,
    chance,
    headline,
    label_facts,
    mean_importance,
    notes,
    out_of,
    wrong_lead,
)
from unirex.overview.tally import Quotation
from unirex.report.marked_text import TextPiece, level, passage
from unirex.report.markup import Html, element
from unirex.report.page import count, header, page, percent, resource

if TYPE_CHECKING:
    from unirex.overview.overview import Overview

Facts = Mapping[str, str]  # the columns of a row, by their heads


def overview_page(overview: Overview, *, title: str) -> str:
    """The whole page."""
    body = [header("Overview", title, headline(overview)), _how_to_read()]
    body += [_label_section(label) for label in overview.labels]
    if overview.wrong:
        body.append(_wrong_section(overview))
    remarks = (element("li", note) for note in notes(overview))
    body.append(element("section", element("h2", "Notes"), element("ul", *remarks, class_="notes")))
    return page(title, body, style=resource("overview.css"))


def _how_to_read() -> Html:
    said = (
        "A word carries a label in a text that was given this label and has the word in its rationale. The "
        "bar is the share of such texts among all that hold the word, whatever their label. Open a word to "
        "see it in texts; on a narrow screen its other numbers are there, too."
    )
    return element("p", said, class_="lead")


def _label_section(label: LabelOverview) -> Html:
    """All about one label."""
    chip = element("span", str(label.label), class_="chip", dir="auto")
    parts = [element("h2", chip), element("p", f"{label_facts(label)}.", class_="lead")]
    parts += [element("p", note, class_="warning", role="note") for note in label.notes]
    for kind, reasons in {"word": label.words, "phrase": label.phrases}.items():
        if reasons:
            parts.append(_list(kind, [_reason_row(reason) for reason in reasons]))
    if label.hidden:
        hidden = f"{count(label.hidden, 'word')} more in its rationales, each too rarely to be shown."
        parts.append(element("p", hidden, class_="fine"))
    sides = {ONLY_MODEL: label.only_model, ONLY_PEOPLE: label.only_people}
    columns = [
        _disagreements(heading, words, by_people=heading == ONLY_PEOPLE)
        for heading, words in sides.items()
        if words
    ]
    if columns:
        parts.append(element("div", *columns, class_="grid sides"))
    return element("section", *parts)


def _wrong_section(overview: Overview) -> Html:
    """The words behind wrong predictions, or that there are none."""
    lead = wrong_lead(overview)
    parts = [element("h2", WRONG), element("p", f"{lead[0].upper()}{lead[1:]}.", class_="lead")]
    if overview.wrong_reasons:
        parts.append(_list("word", [_wrong_row(reason) for reason in overview.wrong_reasons]))
    return element("section", *parts)


def _list(kind: str, rows: Sequence[tuple[Facts, Html]]) -> Html:
    """Rows under the heads of their columns."""
    heads = [element("span", name) for name in (kind, *rows[0][0])]
    head = element("div", *heads, class_="reason head", aria_hidden="true")
    return element("div", head, *(row for _, row in rows), class_="reasons")


def _reason_row(reason: Reason) -> tuple[Facts, Html]:
    facts = {
        "carries": out_of(reason.carried, reason.texts),
        "importance": mean_importance(reason),
        "marked": out_of(reason.marked, reason.annotated),
        "wrong": out_of(reason.wrong, reason.known),
    }
    return facts, _row(reason.text, facts, reason.carried / reason.texts, reason.examples)


def _wrong_row(reason: WrongReason) -> tuple[Facts, Html]:
    facts = {
        "wrong": out_of(reason.wrong, reason.carried),
        "predicted": str(reason.label),
        "all of the label": percent(reason.error_rate),
        "chance": chance(reason),
    }
    return facts, _row(reason.text, facts, reason.wrong / reason.carried, reason.examples)


def _row(word: str, facts: Facts, share: float, examples: Iterable[Quotation]) -> Html:
    """A word with its facts, the first of them as a bar, too; its texts unfold."""
    (first, value), *others = facts.items()
    fill = element("span", class_="fill", style=f"width:{100 * share:.1f}%")
    track = element("span", fill, class_="track", aria_hidden="true")
    bar = element("span", track, element("span", value, class_="value"), title=first)
    cells = [element("span", fact, title=name, dir="auto") for name, fact in others]
    summary = element("summary", element("b", word, dir="auto"), bar, *cells, class_="reason")
    all_facts = element("p", " · ".join(f"{name} {fact}" for name, fact in others), class_="fine facts")
    return element("details", summary, all_facts, *map(_quotation, examples))


def _disagreements(heading: str, words: Sequence[Disagreement], *, by_people: bool) -> Html:
    """The words of one side; their texts unfold."""
    rows = []
    for word in words:
        said = (
            f"selected {out_of(word.selected, word.annotated)}, marked {out_of(word.marked, word.annotated)}"
        )
        summary = element("summary", element("b", word.text, dir="auto"), " ", element("span", said))
        quoted = (_quotation(example, by_people=by_people) for example in word.examples)
        rows.append(element("details", summary, *quoted))
    return element("div", element("h3", heading), *rows, class_="view")


def _quotation(quotation: Quotation, *, by_people: bool = False) -> Html:
    """A text with the word marked, as the system selects it or as people mark it."""
    start, end, score = quotation.start, quotation.end, quotation.importance
    word = TextPiece(quotation.text[start:end], level(score, 1.0), selected=True, score=score)
    if by_people:
        word = TextPiece(word.text, gold=True)
    pieces = [TextPiece(quotation.text[:start]), word, TextPiece(quotation.text[end:])]
    about = [] if quotation.id is None else [element("span", quotation.id, class_="id")]
    if quotation.right is False:
        gold = "" if quotation.gold_label is None else answer_name(quotation.gold_label)
        about.append(element("span", f"✗ wrong, gold {gold}", class_="wrong", dir="auto"))
    return element("blockquote", passage([pieces]), element("p", *about, class_="about"))
