"""An overview in a terminal: a table for each label, one of wrong predictions, and notes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unirex.overview.reasons import SIGNIFICANT, Disagreement, LabelOverview, Reason, WrongReason
from unirex.overview.tally import Quotation, window
from unirex.report.grid import MISSING
from unirex.report.marked_text import word_list
from unirex.report.markup import printable
from unirex.report.page import count, percent

if TYPE_CHECKING:
    from unirex.overview.overview import Overview

WIDTH = 110  # of tables as plain text
AROUND = 22  # characters of an example, on each side of the word
LONGEST = 32  # characters of a word or phrase; a longer one is cut
WRONG = "Behind wrong predictions"
ONLY_MODEL, ONLY_PEOPLE = "The system goes by them, people do not", "People mark them, the system does not"


def text(overview: Overview) -> str:
    """The tables without colours."""
    out = io.StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(render(overview))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def render(overview: Overview) -> RenderableType:
    """All tables for a terminal."""
    parts: list[RenderableType] = [Text(f"{headline(overview)}.\n")]
    for label in overview.labels:
        parts += _label(label)
    if overview.wrong:
        parts.append(Text.assemble((WRONG, "bold"), (f" · {wrong_lead(overview)}", "dim")))
    if overview.wrong_reasons:
        parts.append(_wrong_table(overview.wrong_reasons))
    parts.append(Text())
    parts += [Text(note, "dim") for note in notes(overview)]
    return Group(*parts)


# ---- Words that the page uses, too ------------------------------------------------------------------------


def headline(overview: Overview) -> str:
    """How much was counted.

    A share of wrong predictions only where gold labels are known.
    """
    known = "" if overview.known == overview.texts else f" of {overview.known} whose label is known"
    wrong = f", {_share_wrong(overview.wrong, overview.known)}{known}" if overview.known else ""
    return f"{count(overview.texts, 'text')}{wrong}"


def label_facts(label: LabelOverview) -> str:
    """How often a label was given, how often wrongly, and how much of that its words carry."""
    facts = [count(label.predictions, "prediction")]
    if label.known:
        facts.append(_share_wrong(label.wrong, label.known))
    if label.words and label.coverage is not None:
        words = (
            "the word below is" if len(label.words) == 1 else f"one of the {len(label.words)} words below is"
        )
        facts.append(f"{words} in the reasons of {percent(label.coverage)}")
    return ", ".join(facts)


def mean_importance(reason: Reason) -> str:
    """The mean importance, with its interval where there is one."""
    if reason.importance_interval is None:
        return f"{reason.importance:.2f}"
    low, high = reason.importance_interval
    return f"{reason.importance:.2f} ({low:.2f}–{high:.2f})"


def out_of(number: int, total: int) -> str:
    """A count with what it is out of; a dash for nothing.

    >>> out_of(2, 3), out_of(0, 0)
    ('2 of 3', '–')
    """
    return f"{number} of {total}" if total else MISSING


def chance(reason: WrongReason) -> str:
    """Whether as many wrong predictions may be chance, given how many words were tested."""
    verdict = "finding" if reason.corrected < SIGNIFICANT else "hint"
    return f"{verdict} (p {reason.p_value:.2g})"


def wrong_lead(overview: Overview) -> str:
    """How words behind wrong predictions were looked for, and how sure they are."""
    tested = count(overview.tested, "word")
    if not overview.wrong_reasons:
        return f"of {tested} tested, none is in the reasons of wrong predictions more than chance explains"
    by_chance = max(1, round(SIGNIFICANT * overview.tested))
    return (
        f"words in their reasons more often than in those of right ones, of {tested} tested. Chance alone "
        f"gives up to about {count(by_chance, 'hint')}; a finding holds for that many tests"
    )


def notes(overview: Overview) -> list[str]:
    """What to know before the numbers are believed; each is a sentence or two."""
    columns = [
        "Carries: texts that were given the label and have the word in their rationale, of all texts that "
        "hold the word. Words are ranked by how consistently and how often they do. "
        f"Rows with counts below {overview.min_count} are not shown.",
        "Importance: 1 is the most important word of its text; mean over the texts that hold the word and "
        "were given the label, with a 95 % interval from 20 texts on.",
    ]
    if any(reason.annotated for label in overview.labels for reason in label.words):
        columns.append(
            "Marked: texts in which people marked the word, of those it carries that people annotated "
            "and the system got right."
        )
    return [*overview.notes, *columns]


def _share_wrong(wrong: int, known: int) -> str:
    return f"{wrong} wrong ({percent(wrong / known)})"


# ---- Tables -----------------------------------------------------------------------------------------------


def _label(label: LabelOverview) -> Iterator[RenderableType]:
    """The tables of one label."""
    title = Text.assemble((printable(str(label.label)), "bold"), (f" · {label_facts(label)}", "dim"))
    yield title
    for note in label.notes:
        yield Text(note, "yellow")
    for kind, rows in {"word": label.words, "phrase": label.phrases}.items():
        if rows:
            yield _reason_table(kind, rows)
    for heading, words in {ONLY_MODEL: label.only_model, ONLY_PEOPLE: label.only_people}.items():
        if words:
            yield Padding(_disagreement_line(heading, words), (0, 2))
    yield Text()


def _reason_table(kind: str, reasons: Sequence[Reason]) -> Table:
    """Words or phrases; what is known of none of them has no column."""
    marked, known = any(reason.annotated for reason in reasons), any(reason.known for reason in reasons)
    columns = ["carries", "importance", *["marked"] * marked, *["wrong"] * known]
    table = _table(kind, columns)
    for reason in reasons:
        cells = [out_of(reason.carried, reason.texts), mean_importance(reason)]
        cells += [out_of(reason.marked, reason.annotated)] * marked + [
            out_of(reason.wrong, reason.known)
        ] * known
        table.add_row(Text(printable(reason.text)), *map(Text, cells), _quoted(reason.examples))
    return table


def _wrong_table(reasons: Sequence[WrongReason]) -> Table:
    table = _table("word", ["predicted", "wrong", "of all", "chance"])
    for reason in reasons:
        cells = [
            printable(str(reason.label)),
            out_of(reason.wrong, reason.carried),
            percent(reason.error_rate),
        ]
        cells.append(chance(reason))
        table.add_row(Text(printable(reason.text)), *map(Text, cells), _quoted(reason.examples))
    return table


def _table(first: str, columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column(first, no_wrap=True, max_width=LONGEST)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("example")
    return table


def _disagreement_line(title: str, words: Sequence[Disagreement]) -> Text:
    """Words with how often the system selects them and people mark them."""
    counted = (f"{word.text} {word.selected}:{word.marked}" for word in words)
    return word_list(f"{title} (times selected : marked)", counted)


def _quoted(examples: Sequence[Quotation]) -> Text:
    """The first example, cut to the words around the one that is meant, which is underlined."""
    if not examples:
        return Text()
    shown, (start, end) = window(examples[0].text, (examples[0].start, examples[0].end), AROUND)
    before, word, after = map(printable, (shown[:start], shown[start:end], shown[end:]))
    styled = (before, "dim"), (word, "bold underline"), (after, "dim")
    return Text.assemble(*styled, no_wrap=True, overflow="ellipsis")  # the column that a narrow terminal cuts
