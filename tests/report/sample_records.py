"""Records of evaluations, made by hand."""

from __future__ import annotations

from unirex.data.rationales import words
from unirex.evaluation.records import Record, Scored

NASTY = "</script><script>alert(1)</script> <!-- <b>bold</b> &amp; \u2028 \u2029 '\" \\ \0 \r"
EMOJI = "👩‍👩‍👧 so\u00a0good 🎬👍🏽 , שלום עולם"


def record(id_, *segments, scores=(), gold=None, predicted="pos", **more):
    """One token a word; with 20 per cent, the highest-scored fifth is selected."""
    texts = (*segments, *more.pop("ending", ()))
    tokens = tuple((at, *span) for at, text in enumerate(texts) for span in words(text))
    filled = tuple([*scores, *[0.0] * len(tokens)][: len(tokens)])
    best = sorted(range(len(tokens)), key=lambda at: -filled[at])[: max(1, round(len(tokens) / 5))]
    marked = None if gold is None else tuple(texts[at][a:b] in gold for at, a, b in tokens)
    values = {
        "label": "pos",
        "labels": ("neg", "pos"),
        "probabilities": (0.1, 0.9),
        "sequences": (Scored(tokens, filled, marked, (tuple(sorted(best)),)),),
        "budgets": (20.0,),
        "target": predicted,
    }
    return Record(id=id_, segments=segments, predicted=predicted, **(values | more))
