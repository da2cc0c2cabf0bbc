"""What the task model says to further edits of a text, for the metrics that ask more than budgets do.

One file a kind of edit: tokens removed by score or in turn (`removal`), words in the best and the worst order
(`orders`), embeddings that fade (`fading`). Tokens are removed as the step's perturber does it. Everything is
run in groups of bounded size, and no answer depends on the other texts of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from unirex.batch import Encoded
from unirex.data.example import Example
from unirex.errors import UserError, unknown
from unirex.metrics.naopc import Bounds
from unirex.probing.fading import soft
from unirex.probing.orders import naopc
from unirex.probing.removal import curves, empty, leave_one_out
from unirex.probing.seen import Found, Seen
from unirex.records import Probes
from unirex.step import Step

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
