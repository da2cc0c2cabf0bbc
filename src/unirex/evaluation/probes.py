"""Probes: further edits of a text and the answers to them (curves, leave-one-out, word orders, fading)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unirex.data.example import Example
from unirex.data.rationales import words
from unirex.encoding.batch import Encoded, Tokens
from unirex.errors import UserError, unknown
from unirex.evaluation.records import Distributions, Probes
from unirex.metrics.naopc import Bounds, Removed, aopc_bounds, order_aopc
from unirex.models.plan import device_limits
from unirex.models.task import Pass, chunked
from unirex.select import ranks
from unirex.step import Step

GROUP = 1 << 21  # tokens of views laid out at once, whether they are run or equal to others

Found = dict[str, Any]  # some fields of `Probes`


@dataclass(frozen=True)
class Seen:
    """The batch as a system sees it, with the texts and the tokens it was made of."""

    step: Step
    examples: Sequence[Example]
    encoded: Sequence[Encoded]

    @property
    def choice(self) -> bool:
        """Whether an example has several sequences."""
        return self.step.batch.example is not None

    @cached_property
    def tokens(self) -> Tensor:  # [D]
        """How many tokens of every sequence can be selected."""
        return self.step.batch.selectable.sum(-1)

    @cached_property
    def rank(self) -> Tensor:  # [D, T]
        """Places by score."""
        return ranks(self.step.scores, self.step.batch.selectable)

    @cached_property
    def full(self) -> list[float]:  # [B]
        """p(target) of the whole texts."""
        found: list[float] = self.of_target(distributions(self.step.logits[None]))[0].tolist()
        return found

    def of_target(self, found: Tensor) -> Tensor:
        """p(target) [V, B] of distributions [V, B, C]."""
        return found.gather(-1, self.step.target.expand(found.shape[:-1])[..., None]).squeeze(-1)

    def told(self, found: Tensor) -> Iterator[Distributions]:
        """Distributions [V, B, C] of every example by itself, over the choices it has."""
        for one, rows in zip(self.encoded, found.transpose(0, 1).tolist(), strict=True):
            count = len(one.sequences) if one.choice else None
            yield tuple(tuple(row[:count]) for row in rows)


def views(step: Step, count: int, keep: Callable[[Tensor], Tensor]) -> Tensor:
    """The distributions [V, B, C] of so many views; `keep` lays out those of some numbers, [v, D, T]."""
    batch, full = step.batch, step.full.logits
    if not count:
        return full.new_zeros(0, *full.shape)
    numbers = torch.arange(count, device=full.device).split(max(1, GROUP // batch.input_ids.numel()))
    logits = torch.cat([step.perturber.logits(step.full, keep(some)) for some in numbers])  # [V, D, C]
    return distributions(step.full.task.answer(batch, logits))


def distributions(logits: Tensor) -> Tensor:
    """Probabilities, whatever precision the logits were computed in."""
    return logits.float().softmax(-1)


def empty(seen: Seen) -> Iterator[Found]:
    """With every selectable token removed: one view."""
    found = views(seen.step, 1, lambda _: torch.zeros_like(seen.rank, dtype=torch.bool)[None])
    return ({"empty": one} for (one,) in seen.told(found))


def curves(seen: Seen, *, points: int) -> Iterator[Found]:
    """With the highest tokens removed, and with only these: 2·J views, and without the very first: one more.

    J is the number of tokens (of the longest sequence), at most `points`. At step j the highest j·n/J of n
    tokens count, half-way cases rounded to the even number.
    """
    sizes, counts = steps(seen, points)
    # Without the first and without any are most often on the curve too, and equal views are run once.
    around = torch.cat([torch.ones_like(seen.tokens)[None], counts, seen.tokens[None]])  # [1 + J + 1, D]
    removed = views(seen.step, len(around), lambda some: seen.rank >= around[some][..., None])
    kept = views(seen.step, len(counts), lambda some: seen.rank < counts[some][..., None])
    for size, deletion, insertion in zip(sizes, seen.told(removed), seen.told(kept), strict=True):
        yield {
            "first": deletion[0],
            "deletion": deletion[1 : size + 1],
            "empty": deletion[-1],
            "insertion": insertion[:size],
        }


def steps(seen: Seen, points: int) -> tuple[list[int], Tensor]:
    """J of every example [B], and how many tokens of every sequence count at each step [J, D]."""
    longest = [max(int(tokens.selectable.sum()) for tokens in one.sequences) for one in seen.encoded]
    sizes = [min(points, one) for one in longest]
    of_rows = [size for size, one in zip(sizes, seen.encoded, strict=True) for _ in one.sequences]
    last = seen.tokens.new_tensor(of_rows)  # [D]; a text with fewer steps than others stays at its last
    number = torch.arange(1, max(sizes) + 1, device=last.device)[:, None]  # [J, 1]
    shares = torch.minimum(number, last).double() * seen.tokens / last.clamp(min=1)
    return sizes, shares.round().long()  # torch.round takes halves to the even number


def leave_one_out(seen: Seen) -> Iterator[Found]:
    """Without each token alone: as many views as there are tokens. Nothing for multiple choice."""
    if seen.choice:
        return ({} for _ in seen.encoded)
    number = seen.step.batch.selectable.cumsum(-1) - 1  # [D, T]
    found = views(seen.step, int(seen.tokens.max()), lambda some: number != some[:, None, None])
    rows = zip(seen.of_target(found).T.tolist(), seen.tokens.tolist(), strict=True)
    return ({"left_out": tuple(one[:size])} for one, size in rows)


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


def soft(seen: Seen, *, draws: int, seed: int) -> Iterator[Found]:
    """With all embeddings 0, and with some kept or removed by score: 1 + 2·draws passes.

    Nothing for multiple choice.
    """
    if seen.choice:
        return ({} for _ in seen.encoded)
    found = seen.of_target(distributions(faded(seen.step, draws=draws, seed=seed)))  # [1 + 2·draws, B]
    return (
        {"zero": zero, "soft_kept": tuple(drawn[:draws]), "soft_removed": tuple(drawn[draws:])}
        for zero, *drawn in found.T.tolist()
    )


def faded(step: Step, *, draws: int, seed: int) -> Tensor:
    """The logits [1 + 2·draws, D, C] of texts with all embeddings 0, kept by score, and removed by score."""
    batch, task, texts = step.batch, step.full.task, len(step.batch.input_ids)
    chance = Chance.of(step, draws, seed)
    owner = torch.arange(texts, device=batch.input_ids.device).repeat(1 + 2 * draws)

    def work(rows: Tensor, width: int) -> tuple[Tensor]:
        stays = torch.stack([chance.stays(row % texts, row // texts)[:width] for row in rows.tolist()])
        embeds = step.full.embeds[:, :width].index_select(0, owner[rows]) * stays.to(owner.device)
        return (task(batch.rows(owner[rows], width), embeds),)

    chunks = chunked(task.encoder, batch.lengths()[owner], batch.input_ids.shape[1])
    return chunks.run(work, device_limits(task.encoder))[0].unflatten(0, (1 + 2 * draws, texts))


@dataclass(frozen=True)
class Chance:
    """What becomes of every embedding dimension of every token, the same for the same text and seed."""

    ids: list[list[int]]  # of every text, without padding
    selectable: Tensor  # [D, T]
    shares: Tensor  # [D, T]
    width: int  # H
    draws: int
    seed: int

    @classmethod
    def of(cls, step: Step, draws: int, seed: int) -> Chance:
        """By the scores of a step."""
        rows = zip(step.batch.input_ids.tolist(), step.batch.lengths().tolist(), strict=True)
        ids = [row[:length] for row, length in rows]
        likely = shares(step.scores, step.batch.selectable).cpu()
        return cls(ids, step.batch.selectable.cpu(), likely, step.full.embeds.shape[-1], draws, seed)

    def stays(self, text: int, view: int) -> Tensor:
        """Which dimensions stay in a view: [T, H] bool. Special tokens, as all that cannot be removed, do.

        View 0 keeps nothing else; then come the draws that keep by score, then those that remove by score:
        there goes what stayed in the same draw of keeping.
        """
        inside = self.selectable[text]
        stays = (~inside)[:, None].repeat(1, self.width)
        if view:
            removes, draw = divmod(view - 1, self.draws)
            source = np.random.default_rng([self.seed, draw, *self.ids[text]])
            drawn = torch.from_numpy(source.random((int(inside.sum()), self.width)))
            stays[inside] = (drawn < self.shares[text, inside, None]) ^ bool(removes)
        return stays


def shares(scores: Tensor, selectable: Tensor) -> Tensor:
    """Scores as chances [D, T]: the lowest selectable token of a text 0, the highest 1; equal ones all 1.

    So the scores of any extractor, whatever their size, use the whole scale, and their order stays. Their
    mean, which says how much of the text is kept, does not become comparable by this.

    >>> shares(torch.tensor([[9.0, 2.0, 6.0, 4.0]]), torch.tensor([[False, True, True, True]])).tolist()
    [[1.0, 0.0, 1.0, 0.5]]
    """
    lowest = scores.masked_fill(~selectable, float("inf")).amin(-1, keepdim=True)
    highest = scores.masked_fill(~selectable, float("-inf")).amax(-1, keepdim=True)
    spread = selectable & (highest > lowest)
    return torch.where(spread, (scores - lowest) / (highest - lowest), torch.ones_like(scores)).double()


PROBES = ("empty", "curves", "leave-one-out", "naopc", "soft")


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
    """The answers to the probes asked for, of every example of the batch. To be called without gradients.

    Of multiple choice only `empty` and `curves` are known; there all sequences are edited at once.

    Args:
        step: the batch, its target and its scores.
        names: some of `PROBES`; `curves` includes what `empty` asks.
        examples: the texts of the batch.
        encoded: their tokens.
        points: steps of a curve, at most; a shorter text has one for each token.
        draws: of faded embeddings.
        seed: of these.
        words_up_to: texts of more words have no `naopc`, for the search takes some 5·n² views of n words.
        known: what the same texts said under other scores: answers that do not depend on scores are taken
            from there.
    """
    check_probes(names)
    if points < 1 or draws < 1:
        raise UserError(f"points {points}, draws {draws}: there must be at least 1 of each.")
    seen = Seen(step, examples, encoded)
    ways: dict[str, Callable[[], Iterable[Found]]] = {
        "empty": lambda: empty(seen),
        "curves": lambda: curves(seen, points=points),
        "leave-one-out": lambda: leave_one_out(seen) if known is None else left_out(known),
        "naopc": lambda: naopc(seen, words_up_to=words_up_to, known=bounds(known, len(encoded))),
        "soft": lambda: soft(seen, draws=draws, seed=seed),
    }
    asked = set(names) - ({"empty"} if "curves" in names else set())
    found: list[Found] = [{} for _ in encoded]
    for name in sorted(asked):
        for one, part in zip(found, ways[name](), strict=True):
            one |= part
    return [Probes(**one) for one in found]


def left_out(known: Sequence[Probes]) -> Iterable[Found]:
    """What is known without each token alone."""
    return ({"left_out": one.left_out} for one in known)


def bounds(known: Sequence[Probes] | None, count: int) -> list[Bounds | None]:
    """What is known of any order of removing the words."""
    return [None] * count if known is None else [_bounds(one) for one in known]


def _bounds(known: Probes) -> Bounds | None:
    if known.lowest is None or known.highest is None:
        return None
    return Bounds(known.lowest, known.highest, bool(known.exact))


def check_probes(names: Iterable[str]) -> None:
    """Only known probes can be asked for."""
    for name in names:
        if name not in PROBES:
            raise unknown("probe", name, PROBES)


__all__ = ["PROBES", "check_probes", "probe"]
