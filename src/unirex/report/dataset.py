"""A dataset shown to a person: its examples with their gold marks, and its statistics (`unirex data`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unirex.data.check import Repeats
from unirex.data.example import Example, Label, Splits, answer_labels, answer_name, choice_label
from unirex.data.statistics import Lengths, SplitStatistics, Statistics
from unirex.metrics.agreement import Agreement
from unirex.printable import printable, printable_lines
from unirex.report import notebook
from unirex.report.grid import MISSING, Cell, Grid, Head
from unirex.report.grid import number as decimal
from unirex.report.marked_text import (
    NONE_MARKED,
    NOT_ANNOTATED,
    TextPiece,
    gold_pieces,
    passage,
    terminal_text,
    word_list,
)
from unirex.report.markup import Html, element
from unirex.report.page import GOLD_KEY, count, gold_label, header, key, page, percent

SHOWN_LABELS = 20
ON_WORDS = ("split", "texts", "words", "people", "Krippendorff's α", "Fleiss' κ", "pairwise F1")
ON_LABELS = ("split", "texts", "people", "Krippendorff's α", "Fleiss' κ", "same label")
CHOICES = "Lengths are of sequences: a question with one of its choices."

StatisticRows = list[tuple[str, str]]  # of one split: name and number


# ---- Examples ---------------------------------------------------------------------------------------------


def example_page(examples: Sequence[Example], *, title: str) -> str:
    """A page of examples: each text with its label and the words that people marked in it."""
    marks = [GOLD_KEY]
    if any(len(example.groups) > 1 for example in examples):
        sign = element("span", GOLD_KEY[0], element("sup", "2", class_="fine"))
        marks.append((sign, "the group of evidence, or the annotator, that marks it"))
    cards = [_card(number, example) for number, example in enumerate(examples, start=1)]
    return page(title, [header("Data", title, count(len(cards), "example")), key(marks), *cards])


def render_example(example: Example) -> RenderableType:
    """An example as a panel: gold in italics and colour, and again in plain words."""
    title = Text.assemble(
        (printable("not labelled" if example.label is None else answer_name(example.label)), "bold"),
        (f" · {printable(example.id)}", "dim"),
    )
    parts: list[RenderableType] = [terminal_text(example_pieces(example)), Text()]
    for letter, choice, right in _labelled_choices(example):
        style = "bold green" if right else ""
        line = Text.assemble((f"{letter}  ", "dim"), (printable_lines(choice), style))
        parts.append(line.append("  ✓", "green") if right else line)
    if example.choices is not None:
        parts.append(Text())
    parts += _marked_words(example)
    return Panel(Group(*parts), title=title, title_align="left", padding=(1, 2))


def example_pieces(example: Example) -> list[list[TextPiece]]:
    """The text cut where its marks change, one list per segment; a single group is not distinguished."""
    groups = example.groups if len(example.groups) > 1 else ()
    rationale = example.rationale or ((),) * len(example.segments)
    return [
        gold_pieces(text, rationale[number], [group[number] for group in groups])
        for number, text in enumerate(example.segments)
    ]


def _card(number: int, example: Example) -> Html:
    name = element("span", example.id, class_="id")
    parts = [element("h2", f"Example {number}", name, class_="card-title")]
    if example.label is not None and example.choices is None:
        parts.append(element("p", *gold_label(answer_name(example.label)), class_="verdict"))
    parts.append(passage(example_pieces(example)))
    if example.choices is not None:
        items = []
        for letter, choice, right in _labelled_choices(example):
            sign = element("span", f"{letter}  ", class_="muted")
            text = element("span", choice, class_="right" if right else None, dir="auto")
            tick = [element("span", "  ✓ right", class_="fine right")] if right else []
            items.append(element("li", sign, text, *tick))
        parts.append(element("ul", *items, class_="text", style="list-style:none;padding:0"))
    remark = _no_marks(example)
    if remark is not None:
        parts.append(element("p", remark, class_="fine"))
    return element("article", *parts, class_="card", style="display:grid;gap:0.5rem")


def _marked_words(example: Example) -> Iterator[Text]:
    """The marked words, one line per group."""
    remark = _no_marks(example)
    if remark is not None:
        yield Text(remark, "dim")
        return
    rationales = example.groups if len(example.groups) > 1 else (example.rationale or (),)
    for number, rationale in enumerate(rationales, start=1):
        words = [
            text[start:end]
            for text, spans in zip(example.segments, rationale, strict=True)
            for start, end in spans
        ]
        yield word_list(f"group {number}" if len(rationales) > 1 else "gold", words)


def _labelled_choices(example: Example) -> Iterator[tuple[str, str, bool]]:
    """The letter and the text of each choice, and whether it is the right one."""
    for number, choice in enumerate(example.choices or ()):
        yield choice_label(number), choice, choice_label(number) == example.label


def _no_marks(example: Example) -> str | None:
    """Why a text has no marks: no one looked, or there was nothing to mark; None if it has some."""
    if example.rationale is None:
        return NOT_ANNOTATED
    return None if any(example.rationale) else NONE_MARKED


# ---- In a notebook ----------------------------------------------------------------------------------------


def notebook_view(data: Splits) -> Html:
    """A dataset as the output of a cell: its sizes by split and label, and its first example."""
    sizes = notebook.tables([_sizes(data)])
    example = next((example for part in data.values() for example in part), None)
    if example is None:
        return sizes
    label = "no label" if example.label is None else f"label {answer_name(example.label)}"
    parts = [notebook.remark(f"The first example, {example.id}: {label}")]
    parts.append(notebook.passage(example_pieces(example)))
    parts += [notebook.remark(f"{letter}  {choice}") for letter, choice, _ in _labelled_choices(example)]
    return notebook.frame(sizes, *parts)


def _labels(example: Example) -> tuple[Label, ...]:
    return () if example.label is None else answer_labels(example.label)


def _sizes(data: Splits) -> Grid:
    """How many texts every split has, in all, with gold marks, and of each label."""
    labels = data.info.labels[:SHOWN_LABELS]
    body = []
    for split, part in data.items():
        counts = Counter(label for example in part for label in _labels(example))
        marked = sum(example.rationale is not None for example in part)
        numbers = (len(part), marked, *(counts[label] for label in labels))
        body.append([Cell(split), *(Cell(f"{number:,}") for number in numbers)])
    heads = [Head(data.info.name), Head("texts"), Head("with gold"), *(Head(str(label)) for label in labels)]
    left = len(data.info.labels) - len(labels)
    return Grid(heads, body, caption=f"and {left} labels more" if left else "")


# ---- Statistics -------------------------------------------------------------------------------------------


def statistics_table(statistics: Statistics) -> Table:
    """The numbers of a dataset, in sections of one kind: a column for each split."""
    info = statistics.info
    table = Table(caption=CHOICES if info.task == "choice" else None, caption_justify="left")
    table.add_column(Text(f"{printable(info.name)} · {info.task}"))
    for name in statistics.splits:
        table.add_column(Text(printable(name)), justify="right")
    for blocks in zip(*(_blocks(statistics, name) for name in statistics.splits), strict=True):
        for row in zip(*blocks, strict=True):
            table.add_row(Text(row[0][0]), *(Text(cell) for _, cell in row))
        table.add_section()
    return table


def _blocks(statistics: Statistics, name: str) -> Iterator[StatisticRows]:
    """One column, cut into blocks of rows; all columns have the same rows."""
    split = statistics.splits[name]
    labels = dict.fromkeys(label for other in statistics.splits.values() for label in other.labels)
    yield _size(split, list(labels))
    yield _lengths("words", split.words)
    if split.tokens is not None and split.lost is not None:
        yield _lengths("tokens", split.tokens)
        yield [
            (f"over {statistics.limit} tokens", _share(split.lost.examples, split.examples)),
            ("  tokens lost", _share(split.lost.tokens, split.lost.of_tokens)),
            ("  gold tokens lost", _share(split.lost.gold_tokens, split.lost.of_gold_tokens)),
        ]
    gold = split.gold
    yield [
        ("with gold", _share(gold.examples, split.examples)),
        ("  gold of all words", MISSING if gold.density is None else percent(gold.density)),
        ("  mean of examples", MISSING if gold.mean_density is None else percent(gold.mean_density)),
        ("  groups", str(gold.groups)),
    ]
    repeats = _repeats("repeated", split.repeats)
    for first in list(statistics.splits)[:-1]:
        # Only earlier splits are searched; the row is there for all, with empty cells.
        repeats += _repeats(f"also in {first}", statistics.across.get((first, name)))
    yield repeats


def _size(split: SplitStatistics, labels: Sequence[Label]) -> StatisticRows:
    rows = [("examples", str(split.examples))]
    for label in labels[:SHOWN_LABELS]:
        rows.append((f"  {printable(str(label))}", _share(split.labels.get(label, 0), split.examples)))
    if len(labels) > SHOWN_LABELS:
        rows.append((f"  and {len(labels) - SHOWN_LABELS} labels more", ""))
    return rows


def _lengths(unit: str, lengths: Lengths) -> StatisticRows:
    return [
        (f"{unit}, mean", f"{lengths.mean:.1f}"),
        ("  median", f"{lengths.median:g}"),
        ("  95 % up to", str(lengths.p95)),
        ("  longest", str(lengths.max)),
    ]


def _repeats(name: str, repeats: Repeats | None) -> StatisticRows:
    """Repeated texts; empty cells where none were searched for."""
    if repeats is None:
        return [(name, ""), ("  of another label", "")]
    total = repeats.same + repeats.conflicting
    return [(name, str(total)), ("  of another label", str(repeats.conflicting))]


def _share(number: int, total: int) -> str:
    return f"{number} ({percent(number / total)})" if total else MISSING


# ---- Agreement --------------------------------------------------------------------------------------------


def agreement_tables(agreement: Mapping[str, Agreement]) -> Iterator[Table]:
    """How far the annotators agree on words and on labels, a row for each split and for all texts."""
    words = {name: found.words for name, found in agreement.items() if found.words is not None}
    if words:
        table = Table(*ON_WORDS, title="Agreement on words", title_justify="left")
        for name, on in words.items():
            measures = map(decimal, (on.alpha, on.kappa, on.pairwise_f1))
            table.add_row(name, str(on.texts), str(on.words), _range(on.annotators), *measures)
        yield table
    labels = {name: found.labels for name, found in agreement.items() if found.labels is not None}
    if labels:
        table = Table(*ON_LABELS, title="Agreement on labels", title_justify="left")
        for name, of in labels.items():
            table.add_row(
                name,
                str(of.texts),
                _range(of.annotators),
                decimal(of.alpha),
                decimal(of.kappa),
                percent(of.same),
            )
        yield table


def _range(bounds: tuple[int, int]) -> str:
    fewest, most = bounds
    return str(most) if fewest == most else f"{fewest}–{most}"
