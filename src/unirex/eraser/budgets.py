"""Sizes of rationales: what people mark, and the budget nearest to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan

import numpy as np

from unirex.data.example import Example
from unirex.eraser.gold import Gold
from unirex.eraser.words import own_words
from unirex.errors import UserError
from unirex.records import Record


def nearest_budget(records: Iterable[Record], gold: Gold | None = None) -> float | None:
    """Of the records' budgets that which is nearest to the mean share people mark; None if none was tried."""
    if isinstance(records, Iterator):
        raise UserError("records come from an iterator, which can be read only once; give a budget.")
    first = next(iter(records), None)
    if first is None or not first.views:
        return None
    share = mean_share(records) if gold is None else gold.mean_share()
    if isnan(share):
        raise UserError("nobody marked a rationale, so no budget is nearest to what people mark; give one.")
    return min(first.budgets, key=lambda one: abs(one - share))


def mean_share(records: Iterable[Record]) -> float:
    """The mean share of the tokens that people mark, in per cent, over records with marks; NaN for none."""
    marked = [one.gold for record in records for one in record.sequences[:1] if one.gold and any(one.gold)]
    return 100 * sum(sum(gold) / len(gold) for gold in marked) / len(marked) if marked else float("nan")


def human_budget(examples: Iterable[Example]) -> float:
    """The mean share of their words that people mark, in whole per cent; NaN if nobody marked any."""
    shares = [share for example in examples if (share := _share(example))]
    return float(max(1, round(100 * sum(shares) / len(shares)))) if shares else float("nan")


def _share(example: Example) -> float:
    """Of the words in segments with marks."""
    spans = example.rationale or ()
    marks = [one.marked(spans[one.segment]) for one in own_words(example.id, example.segments) if spans]
    marked = [some for some in marks if some.any()]
    return float(np.concatenate(marked).mean()) if marked else 0.0
