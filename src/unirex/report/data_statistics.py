"""The statistics of a dataset (`unirex data stats`) as a table for a terminal: a column for each split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from unirex.data.check import Repeats
from unirex.data.example import Label
from unirex.data.statistics import Lengths, SplitStatistics, Statistics
from unirex.report.markup import printable
from unirex.report.table import MISSING

SHOWN_LABELS = 20
CHOICES = "Lengths are of sequences: a question with one of its choices."

StatisticRows = list[tuple[str, str]]  # of one split: name and number


def statistics_table(statistics: Statistics) -> Table:
    """The numbers of a dataset, in sections of one kind."""
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
    yield [
        ("with gold", _share(split.gold.examples, split.examples)),
        ("  gold of all words", _percent(split.gold.density)),
        ("  mean of examples", _percent(split.gold.mean_density)),
        ("  groups", str(split.gold.groups)),
    ]
    repeats = _repeats("repeated", split.repeats)
    for first in list(statistics.splits)[:-1]:
        # Only earlier splits are searched; the row is there for all, with empty cells.
        repeats += _repeats(f"also in {first}", statistics.across.get((first, name)))
    yield repeats


def _size(split: SplitStatistics, labels: Sequence[Label]) -> StatisticRows:
    shown = labels[:SHOWN_LABELS]
    rows = [("examples", str(split.examples))]
    for label in shown:
        rows.append((f"  {printable(str(label))}", _share(split.labels.get(label, 0), split.examples)))
    if len(labels) > len(shown):
        rows.append((f"  and {len(labels) - len(shown)} labels more", ""))
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
    return f"{number} ({_percent(number / total)})" if total else MISSING


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{share:.1%}".replace("%", " %")
