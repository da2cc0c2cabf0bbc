"""Irony: tweets that are meant ironically or are not (SemEval 2018, TweetEval's `irony`); no rationales.

2862 / 955 / 784 tweets in the published splits, 48 % of them ironic. A target for systems trained on
sentiment (spec/data.md#datasets). `tweets` describes the files.
"""

from __future__ import annotations

from pathlib import Path

from unirex.data.datasets.tweets import load_tweets
from unirex.data.example import DatasetInfo, Splits

INFO = DatasetInfo(name="irony", labels=("not_irony", "irony"), metric="binary_f1")
FOLDERS = ("tweeteval/irony", "irony")


def load(folder: Path, *, seed: int = 0) -> Splits:
    """The published splits of TweetEval's `irony`; `seed` is not used."""
    return load_tweets(folder, INFO, mapping=("non_irony", "irony"))
