"""Yelp Review Polarity: reviews of one or two stars (neg) against three or four (pos); no rationales.

A target for systems trained on other sentiment data (spec/data.md#samples). Of the 560 000 and 38 000
reviews, 10 000 are drawn for train and 2000 for dev from train, 2000 for test from test, with the same label
distribution. `polarity` describes the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unirex.data.datasets.polarity import LABELS, SIZES, load_polarity
from unirex.data.example import DatasetInfo, Splits
from unirex.data.split import Sample

INFO = DatasetInfo(name="yelp", labels=LABELS)
FOLDERS = ("yelp", "yelp_review_polarity_csv", "yelp_polarity/plain_text", "yelp_polarity")


def load(
    folder: Path, *, seed: int = 0, sample: Sample = "stratified", sizes: Sequence[int] = SIZES
) -> Splits:
    """A sample of the reviews.

    Args:
        folder: the unpacked archive, or a copy from the Hugging Face Hub.
        seed: seed of the sample.
        sample: "stratified" draws (as the paper says), "first_n" takes the first rows (as its code does:
            spec/known-errors.md#d-18).
        sizes: number of reviews in train, dev and test.
    """
    return load_polarity(folder, INFO, columns=("text",), seed=seed, sample=sample, sizes=sizes)
