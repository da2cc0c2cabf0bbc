"""OffensEval: tweets that offend or do not (OLID, in the form of TweetEval's `offensive`); no rationales.

11 916 / 1324 / 860 tweets in the published splits, 33 % of them offensive. A target for systems trained on
other hate speech (spec/data.md#datasets). `tweets` describes the files.
"""

from __future__ import annotations

from pathlib import Path

from unirex.data.datasets.tweets import load_tweets
from unirex.data.example import DatasetInfo, Splits

INFO = DatasetInfo(name="offenseval", labels=("not_offensive", "offensive"), metric="macro_f1")
FOLDERS = ("tweeteval/offensive", "offenseval")


def load(folder: Path, *, seed: int = 0) -> Splits:
    """The published splits of TweetEval's `offensive`; `seed` is not used."""
    return load_tweets(folder, INFO, mapping=("not-offensive", "offensive"))
