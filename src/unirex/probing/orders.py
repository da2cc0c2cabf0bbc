"""Words taken out one after the other: by score, and in the best and the worst order there is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from unirex.batch import Tokens
from unirex.data.rationales import words
from unirex.metrics.naopc import Bounds, Removed, aopc_bounds, order_aopc
from unirex.models.task import Pass
from unirex.probing.seen import Found, Seen, views
from unirex.step import Step


def naopc(seen: Seen, *, words_up_to: int, known: Sequence[Bounds | None]) -> Iterator[Found]:
    """With the highest words removed, and the bounds for any order of removing them, unless they are known.

    Nothing for multiple choice, nor for texts of more words than `words_up_to`.
    """
    for row, (example, one) in enumerate(zip(seen.examples, seen.encoded, strict=True)):
        groups = [] if seen.choice else word_tokens(example.segments, one.sequences[0])
        yield one_text(seen, row, groups, known[row]) if 0 < len(groups) <= words_up_to else {}


def one_text(seen: Seen, row: int, groups: Sequence[Sequence[int]], bounds: Bounds | None) -> Found:
    """The words of one text by score, each as high as its highest token, and the bounds of all orders."""
    scores, full = seen.step.scores[row].tolist(), seen.full[row]
    order = sorted(range(len(groups)), key=lambda word: -max(scores[place] for place in groups[word]))
    without = word_remover(seen.step, row, groups)
    left = without([tuple(order[:size]) for size in range(1, len(order) + 1)])
    if bounds is None:
        bounds = aopc_bounds(lambda sets: [full - one for one in without(sets)], len(order))
    bounds = bounds.including(order_aopc(full, left))
    return {
        "words": tuple(left),
        "lowest": bounds.lowest,
        "highest": bounds.highest,
        "exact": bounds.exact,
    }


def word_remover(
    step: Step, row: int, groups: Sequence[Sequence[int]]
) -> Callable[[Sequence[Removed]], list[float]]:
    """A function of sets of words: p(target) of one text of the batch without each."""
    batch = step.batch.rows(torch.tensor([row], device=step.batch.input_ids.device))
    alone = replace(step, full=Pass(step.full.task, batch))
    target, device = int(step.target[row]), batch.input_ids.device
    member = torch.zeros(len(groups), batch.input_ids.shape[1])  # [n, T]
    for word, places in enumerate(groups):
        member[word, list(places)] = 1

    def without(sets: Sequence[Removed]) -> list[float]:
        gone = torch.zeros(len(sets), len(groups))  # [V, n]
        for number, one in enumerate(sets):
            gone[number, list(one)] = 1
        kept = (gone @ member == 0)[:, None].to(device)  # [V, 1, T]
        found: list[float] = views(alone, len(sets), lambda some: kept[some])[:, 0, target].tolist()
        return found

    return without


def word_tokens(segments: Sequence[str], tokens: Tokens) -> list[list[int]]:
    """The places of the selectable tokens of every blank-separated word that has any.

    A token that reaches into two words belongs to the first; one that is part of none (a blank, a separator)
    goes with the word before it.
    """
    starts = [[start for start, _ in words(text)] for text in segments]
    found: dict[tuple[int, int], list[int]] = {}
    word = None
    for place in tokens.selectable.nonzero()[0].tolist():
        segment, start, end = tokens.spans[place].tolist()
        text = segments[segment][start:end]
        if text.strip() or word is None:
            start += len(text) - len(text.lstrip())
            word = segment, max(0, bisect_right(starts[segment], start) - 1)
        found.setdefault(word, []).append(place)
    return list(found.values())
