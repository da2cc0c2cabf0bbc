"""Probes: predictions for further edits of a text (curves, leave-one-out, word orders, faded embeddings)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unirex.config import PROBES
from unirex.data.example import Example
from unirex.data.rationales import words
from unirex.encoding.batch import Encoded, Tokens
from unirex.errors import UserError, unknown
from unirex.evaluation.records import Distributions, Probes
from unirex.metrics.naopc import Bounds, WordSet, aopc_bounds, order_aopc
from unirex.models.plan import device_limits
from unirex.models.task import chunked
from unirex.select import ranks
from unirex.step import Step

GROUP = 1 << 21  # tokens of views laid out at once, whether they are run or equal to others

ProbeFields = dict[str, Any]  # some fields of `Probes`


def probe(
    step: Step,
    names: Sequence[str],
    examples: Sequence[Example],
    encoded: Sequence[Encoded],
    *,
    points: int = 50,
    draws: int = 5,
    seed: int = 0,
    words_up_to: int = 64,
    known: Sequence[Probes] | None = None,
) -> list[Probes]:
    """The answers to the requested probes for every example of the batch. Call it without gradients.

    Multiple choice has only `empty` and `curves`; there all sequences are edited at once.

    Args:
        step: the batch, its target and its scores.
        names: some of `PROBES`; `curves` includes `empty`.
        examples: the texts of the batch.
        encoded: their tokens.
        points: steps of a curve, at most; a shorter text has one for each token.
        draws: of faded embeddings.
        seed: of these.
        words_up_to: texts of more words have no `naopc`, as the search takes some 5·n² views of n words.
        known: the probes of the same texts under other scores: answers that do not depend on scores are taken
            from there.
    """
    check_probes(names)
    if points < 1 or draws < 1:
        raise UserError(f"points {points}, draws {draws}: there must be at least 1 of each.")
    probed = ProbedBatch(step, examples, encoded)
    by_name: dict[str, Callable[[], Iterable[ProbeFields]]] = {
        "empty": lambda: empty(probed),
        "curves": lambda: curves(probed, points=points),
        "leave-one-out": lambda: leave_one_out(probed, known),
        "naopc": lambda: naopc(probed, words_up_to=words_up_to, known=known),
        "soft": lambda: soft(probed, draws=draws, seed=seed),
    }
    found: list[ProbeFields] = [{} for _ in encoded]
    for name in sorted(set(names) - ({"empty"} if "curves" in names else set())):
        for fields, part in zip(found, by_name[name](), strict=True):
            fields |= part
    return [Probes(**fields) for fields in found]


def check_probes(names: Iterable[str]) -> None:
    """Refuse unknown probes."""
    for name in names:
        if name not in PROBES:
            raise unknown("probe", name, PROBES)


@dataclass(frozen=True)
class ProbedBatch:
    """The batch as a system sees it, with its texts and tokens."""

    step: Step
    examples: Sequence[Example]
    encoded: Sequence[Encoded]

    @property
    def choice(self) -> bool:
        """Whether an example has several sequences."""
        return self.step.batch.example is not None

    @cached_property
    def tokens(self) -> Tensor:  # [D]
        """The number of selectable tokens of every sequence."""
        return self.step.batch.selectable.sum(-1)

    @cached_property
    def rank(self) -> Tensor:  # [D, T]
        """Ranks by score, from 0 for the highest."""
        return ranks(self.step.scores, self.step.batch.selectable)

    @cached_property
    def full(self) -> list[float]:  # [B]
        """p(target) of the whole texts."""
        whole = self.step.labelling.probabilities(self.step.logits[None])
        full: list[float] = self.of_target(whole)[0].tolist()
        return full

    def of_target(self, distributions: Tensor) -> Tensor:
        """p(target) [V, B] of distributions [V, B, C]."""
        target = self.step.target.expand(distributions.shape[:-1])
        return distributions.gather(-1, target[..., None]).squeeze(-1)

    def by_example(self, distributions: Tensor) -> Iterator[Distributions]:
        """Distributions [V, B, C] of each example by itself, over the choices it has."""
        for encoding, rows in zip(self.encoded, distributions.transpose(0, 1).tolist(), strict=True):
            count = len(encoding.sequences) if encoding.choice else None
            yield tuple(tuple(row[:count]) for row in rows)


def view_probabilities(step: Step, count: int, keep: Callable[[Tensor], Tensor]) -> Tensor:
    """The distributions [V, B, C] of `count` views; `keep` lays out the views of some numbers, [v, D, T]."""
    batch, full = step.batch, step.full.logits
    if not count:
        return full.new_zeros(0, *full.shape)
    groups = torch.arange(count, device=full.device).split(max(1, GROUP // batch.input_ids.numel()))
    logits = torch.cat([step.perturber.logits(step.full, keep(numbers)) for numbers in groups])  # [V, D, C]
    return step.labelling.probabilities(step.full.task.answer(batch, logits))


# empty and curves


def empty(probed: ProbedBatch) -> Iterator[ProbeFields]:
    """With every selectable token removed: one view."""
    nothing = torch.zeros_like(probed.rank, dtype=torch.bool)[None]
    found = view_probabilities(probed.step, 1, lambda _: nothing)
    return ({"empty": distribution} for (distribution,) in probed.by_example(found))


def curves(probed: ProbedBatch, *, points: int) -> Iterator[ProbeFields]:
    """With the highest tokens removed, and with only these: 2·J views, and without the very first: one more.

    J is the number of tokens (of the longest sequence), at most `points`. At step j the highest j·n/J of n
    tokens count, half-way cases rounded to the even number.
    """
    longest = [
        max(int(tokens.selectable.sum()) for tokens in encoding.sequences) for encoding in probed.encoded
    ]
    sizes = [min(points, tokens) for tokens in longest]  # [B], J of every example
    of_rows = [size for size, encoding in zip(sizes, probed.encoded, strict=True) for _ in encoding.sequences]
    last = probed.tokens.new_tensor(of_rows)  # [D]; a text with fewer steps than others stays at its last
    number = torch.arange(1, max(sizes) + 1, device=last.device)[:, None]  # [J, 1]
    exact = torch.minimum(number, last).double() * probed.tokens / last.clamp(min=1)
    counts = exact.round().long()  # [J, D]; torch.round takes halves to the even number
    # Without the first and without any are most often on the curve too, and equal views are run once.
    around = torch.cat([torch.ones_like(probed.tokens)[None], counts, probed.tokens[None]])  # [1 + J + 1, D]
    rank = probed.rank
    removed = view_probabilities(probed.step, len(around), lambda views: rank >= around[views][..., None])
    kept = view_probabilities(probed.step, len(counts), lambda views: rank < counts[views][..., None])
    rows = zip(sizes, probed.by_example(removed), probed.by_example(kept), strict=True)
    for size, deletion, insertion in rows:
        yield {
            "first": deletion[0],
            "deletion": deletion[1 : size + 1],
            "empty": deletion[-1],
            "insertion": insertion[:size],
        }


# leave-one-out


def leave_one_out(probed: ProbedBatch, known: Sequence[Probes] | None) -> Iterator[ProbeFields]:
    """Without each token alone, unless that is known: a view per token. Nothing for multiple choice."""
    if known is not None:
        return ({"left_out": probes.left_out} for probes in known)
    if probed.choice:
        return ({} for _ in probed.encoded)
    number = probed.step.batch.selectable.cumsum(-1) - 1  # [D, T]
    count = int(probed.tokens.max())
    found = view_probabilities(probed.step, count, lambda views: number != views[:, None, None])
    rows = zip(probed.of_target(found).T.tolist(), probed.tokens.tolist(), strict=True)
    return ({"left_out": tuple(row[:size])} for row, size in rows)


# naopc


def naopc(probed: ProbedBatch, *, words_up_to: int, known: Sequence[Probes] | None) -> Iterator[ProbeFields]:
    """With the highest words removed, and the bounds for any order of removing them, unless these are known.

    Nothing for multiple choice, nor for texts of more words than `words_up_to`.
    """
    for row, (example, encoding) in enumerate(zip(probed.examples, probed.encoded, strict=True)):
        groups = [] if probed.choice else word_tokens(example.segments, encoding.sequences[0])
        if 0 < len(groups) <= words_up_to:
            yield _word_order(probed, row, groups, None if known is None else known[row])
        else:
            yield {}


def _word_order(
    probed: ProbedBatch, row: int, groups: Sequence[Sequence[int]], known: Probes | None
) -> ProbeFields:
    """The words of one text by score, each as high as its highest token, and the bounds of all orders."""
    scores, full = probed.step.scores[row].tolist(), probed.full[row]
    order = sorted(range(len(groups)), key=lambda word: -max(scores[token] for token in groups[word]))
    without = _word_remover(probed.step, row, groups)
    left = without([tuple(order[:size]) for size in range(1, len(order) + 1)])
    if known is not None and known.lowest is not None and known.highest is not None:
        bounds = Bounds(known.lowest, known.highest, bool(known.exact))
    else:
        bounds = aopc_bounds(lambda sets: [full - value for value in without(sets)], len(order))
    bounds = bounds.including(order_aopc(full, left))
    return {
        "words": tuple(left),
        "lowest": bounds.lowest,
        "highest": bounds.highest,
        "exact": bounds.exact,
    }


def _word_remover(
    step: Step, row: int, groups: Sequence[Sequence[int]]
) -> Callable[[Sequence[WordSet]], list[float]]:
    """A function from sets of words to p(target) of one text of the batch without each set."""
    batch = step.batch.rows(torch.tensor([row], device=step.batch.input_ids.device))
    alone = replace(step, full=replace(step.full, batch=batch))
    target, device = int(step.target[row]), batch.input_ids.device
    member = torch.zeros(len(groups), batch.input_ids.shape[1])  # [n, T]
    for word, tokens in enumerate(groups):
        member[word, list(tokens)] = 1

    def without(sets: Sequence[WordSet]) -> list[float]:
        gone = torch.zeros(len(sets), len(groups))  # [V, n]
        for number, removed in enumerate(sets):
            gone[number, list(removed)] = 1
        kept = (gone @ member == 0)[:, None].to(device)  # [V, 1, T]
        found = view_probabilities(alone, len(sets), lambda views: kept[views])  # [V, 1, C]
        left: list[float] = found[:, 0, target].tolist()
        return left

    return without


def word_tokens(segments: Sequence[str], tokens: Tokens) -> list[list[int]]:
    """The positions of the selectable tokens of every blank-separated word that has any.

    A token that reaches into two words belongs to the first; one that is part of none (a blank, a separator)
    goes with the word before it.
    """
    starts = [[start for start, _ in words(text)] for text in segments]
    groups: dict[tuple[int, int], list[int]] = {}
    word = None
    for position in tokens.selectable.nonzero()[0].tolist():
        segment, start, end = tokens.spans[position].tolist()
        text = segments[segment][start:end]
        if text.strip() or word is None:
            start += len(text) - len(text.lstrip())
            word = segment, max(0, bisect_right(starts[segment], start) - 1)
        groups.setdefault(word, []).append(position)
    return list(groups.values())


# soft


def soft(probed: ProbedBatch, *, draws: int, seed: int) -> Iterator[ProbeFields]:
    """With all embeddings 0, and with some kept or removed by score: 1 + 2·draws passes.

    Nothing for multiple choice.
    """
    if probed.choice:
        return ({} for _ in probed.encoded)
    step, batch, task = probed.step, probed.step.batch, probed.step.full.task
    views, texts = 1 + 2 * draws, len(batch.input_ids)
    fading = Fading.of(step, draws, seed)
    owner = torch.arange(texts, device=batch.input_ids.device).repeat(views)  # the text of every row

    def work(rows: Tensor, width: int) -> tuple[Tensor]:
        stays = torch.stack([fading.stays(row % texts, row // texts)[:width] for row in rows.tolist()])
        embeds = step.full.embeds[:, :width].index_select(0, owner[rows]) * stays.to(owner.device)
        return (task(batch.rows(owner[rows], width), embeds),)

    chunks = chunked(task.encoder, batch.lengths()[owner], batch.input_ids.shape[1])
    (logits,) = chunks.run(work, device_limits(task.encoder))
    answers = step.labelling.probabilities(logits.unflatten(0, (views, texts)))
    found = probed.of_target(answers)  # [1 + 2·draws, B]
    return (
        {"zero": zero, "soft_kept": tuple(drawn[:draws]), "soft_removed": tuple(drawn[draws:])}
        for zero, *drawn in found.T.tolist()
    )


@dataclass(frozen=True)
class Fading:
    """Which embedding dimensions of every token stay; the same for the same text and seed."""

    ids: list[list[int]]  # of every text, without padding
    selectable: Tensor  # [D, T]
    shares: Tensor  # [D, T]
    width: int  # H
    draws: int
    seed: int

    @classmethod
    def of(cls, step: Step, draws: int, seed: int) -> Fading:
        """By the scores of a step."""
        rows = zip(step.batch.input_ids.tolist(), step.batch.lengths().tolist(), strict=True)
        ids = [row[:length] for row, length in rows]
        likely = shares(step.scores, step.batch.selectable).cpu()
        return cls(ids, step.batch.selectable.cpu(), likely, step.full.embeds.shape[-1], draws, seed)

    def stays(self, text: int, view: int) -> Tensor:
        """Which dimensions stay in a view: [T, H] bool. All those of special tokens do.

        View 0 keeps nothing else; then come the draws that keep by score, then those that remove by score:
        these remove what stayed in the same draw of keeping.
        """
        inside = self.selectable[text]
        stays = (~inside)[:, None].repeat(1, self.width)
        if view:
            removes, draw = divmod(view - 1, self.draws)
            # Seeded by the tokens, so that a text fades alike in any batch.
            generator = np.random.default_rng([self.seed, draw, *self.ids[text]])
            drawn = torch.from_numpy(generator.random((int(inside.sum()), self.width)))
            stays[inside] = (drawn < self.shares[text, inside, None]) ^ bool(removes)
        return stays


def shares(scores: Tensor, selectable: Tensor) -> Tensor:
    """Scores as probabilities [D, T], from 0 for the lowest selectable token of a text to 1 for the highest.

    Equal scores are all 1. So the scores of any extractor, whatever their size, use the whole scale, and
    their order stays. Their mean, which decides how much of the text is kept, does not become comparable.

    >>> shares(torch.tensor([[9.0, 2.0, 6.0, 4.0]]), torch.tensor([[False, True, True, True]])).tolist()
    [[1.0, 0.0, 1.0, 0.5]]
    """
    lowest = scores.masked_fill(~selectable, float("inf")).amin(-1, keepdim=True)
    highest = scores.masked_fill(~selectable, float("-inf")).amax(-1, keepdim=True)
    spread = selectable & (highest > lowest)
    return torch.where(spread, (scores - lowest) / (highest - lowest), torch.ones_like(scores)).double()
