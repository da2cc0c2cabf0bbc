"""Yelp Review Polarity: reviews of one or two stars (neg) against three or four (pos); no rationales.

A target for systems trained on sentiment elsewhere (SPEC A2.8). Of the 560 000 and 38 000 reviews, 10 000
are drawn for train and 2000 for dev out of train, 2000 for test out of test, with the mix of labels kept.
`polarity` describes the files.
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
        folder: what the archive unpacks to, or a copy from the Hugging Face Hub.
        seed: what the draw depends on.
        sample: "stratified" draws (the paper's words), "first_n" takes the first rows (its code; D-18).
        sizes: how many reviews for train, dev and test.
    """
    return load_polarity(folder, INFO, columns=("text",), seed=seed, sample=sample, sizes=sizes)
