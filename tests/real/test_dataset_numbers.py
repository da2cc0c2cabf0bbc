"""The real datasets in numbers that are known from elsewhere, and nothing but true faults in them."""

import os

import pytest

from unirex.data import load_dataset
from unirex.data.check import faults
from unirex.data.statistics import statistics
from unirex.data.validate import collecting

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not os.environ.get("UNIREX_DATA"), reason="UNIREX_DATA is not set"),
]


def test_how_much_of_sst_is_gold():
    found = statistics(load_dataset("sst")).splits
    assert [round(split.gold.density, 3) for split in found.values()] == [0.421, 0.436, 0.425]
    assert round(found["train"].words.mean, 1) == 19.3


def test_how_much_of_movies_is_gold():
    found = statistics(load_dataset("movies")).splits
    assert round(found["train"].gold.mean_density, 4) == 0.0935 and found["train"].gold.examples == 1599
    assert round(found["test"].gold.mean_density, 3) == 0.314


@pytest.mark.parametrize(
    ("name", "count"),
    [("sst", 0), ("multirc", 0), ("irony", 0), ("cose", 166), ("offenseval", 3)],
)
def test_only_true_faults_are_found(name, count):
    """CoS-E has clipped evidence texts; OffensEval, three texts of dev with another label in train."""
    with collecting() as problems:
        data = load_dataset(name)
    assert len([*problems, *faults(data)]) == count
