"""A dataset in numbers, as a table for a terminal: a column for each split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from unirex.data.check import Repeats
from unirex.data.example import Label
from unirex.data.statistics import Gold, Lengths, Lost, SplitStatistics, Statistics
from unirex.report.markup import printable
from unirex.report.table import MISSING

SHOWN_LABELS = 20
CHOICES = "Lengths are of sequences: a question with one of its choices."

Rows = list[tuple[str, str]]  # what is told of one split: a name and a number each


def statistics_table(found: Statistics) -> Table:
    """The numbers of a dataset, those of one kind together."""
    table = Table(caption=CHOICES if found.info.task == "choice" else None, caption_justify="left")
    table.add_column(Text(f"{printable(found.info.name)} · {found.info.task}"))
    for name in found.splits:
        table.add_column(Text(printable(name)), justify="right")
    for blocks in zip(*(_blocks(found, name) for name in found.splits), strict=True):
        for row in zip(*blocks, strict=True):
            table.add_row(Text(row[0][0]), *(Text(cell) for _, cell in row))
        table.add_section()
    return table


def _blocks(found: Statistics, name: str) -> Iterator[Rows]:
    """One column, cut into blocks of rows; all columns have the same rows."""
    split = found.splits[name]
    labels = list(dict.fromkeys(label for one in found.splits.values() for label in one.labels))
    yield _size(split, labels)
    yield _lengths("words", split.words)
    if split.tokens is not None and split.lost is not None:
        yield _lengths("tokens", split.tokens)
        yield [
            (f"over {found.limit} tokens", _share(split.lost.examples, split.examples)),
            *_lost(split.lost),
        ]
    yield [("with gold", _share(split.gold.examples, split.examples)), *_gold(split.gold)]
    earlier = {f"also in {first}": found.across.get((first, name)) for first in list(found.splits)[:-1]}
    yield [row for met, one in {"repeated": split.repeats, **earlier}.items() for row in _repeats(met, one)]


def _size(split: SplitStatistics, labels: Sequence[Label]) -> Rows:
    shown = labels[:SHOWN_LABELS]
    rows = [(f"  {printable(str(one))}", _share(split.labels.get(one, 0), split.examples)) for one in shown]
    more = [(f"  and {len(labels) - len(shown)} labels more", "")] if len(labels) > len(shown) else []
    return [("examples", str(split.examples)), *rows, *more]


def _lengths(unit: str, found: Lengths) -> Rows:
    return [
        (f"{unit}, mean", f"{found.mean:.1f}"),
        ("  median", f"{found.median:g}"),
        ("  95 % up to", str(found.p95)),
        ("  longest", str(found.max)),
    ]


def _lost(found: Lost) -> Rows:
    return [
        ("  tokens lost", _share(found.tokens, found.of_tokens)),
        ("  gold tokens lost", _share(found.gold_tokens, found.of_gold_tokens)),
    ]


def _gold(found: Gold) -> Rows:
    return [
        ("  gold of all words", _percent(found.density)),
        ("  mean of examples", _percent(found.mean_density)),
        ("  groups", str(found.groups)),
    ]


def _repeats(name: str, found: Repeats | None) -> Rows:
    """What stands there twice; a split is not looked for in itself or in a later one."""
    total, conflicting = ("", "") if found is None else (found.same + found.conflicting, found.conflicting)
    return [(name, str(total)), ("  of another label", str(conflicting))]


def _share(number: int, total: int) -> str:
    return f"{number} ({_percent(number / total)})" if total else MISSING


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{share:.1%}".replace("%", " %")
