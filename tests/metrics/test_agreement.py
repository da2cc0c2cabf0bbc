"""Agreement of annotators: published worked examples, slow references, and what must not matter."""

import math
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from unirex.data.example import DatasetInfo, Example, Splits
from unirex.errors import UserError
from unirex.metrics.agreement import (
    agreement_of,
    dataset_agreement,
    fleiss_kappa,
    krippendorff_alpha,
    label_agreement_of,
    pairwise_f1,
)

_ = math.nan

# Fleiss' kappa, the example of the encyclopaedia article: 10 things, 14 raters, 5 categories.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, example C: 4 observers, 12 units.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
# The example of the encyclopaedia article on alpha: 3 coders, 15 units.
CODERS = [
    [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
    [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
    [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
]

CELL = st.one_of(st.integers(0, 3).map(float), st.just(math.nan))
RATINGS = st.integers(2, 4).flatmap(
    lambda people: st.lists(st.lists(CELL, min_size=people, max_size=people), min_size=1, max_size=8)
)


def test_fleiss_kappa_of_the_well_known_table():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(("ratings", "alpha"), [(KRIPPENDORFF, 0.743), (CODERS, 0.691)])
def test_alpha_of_published_examples(ratings, alpha):
    assert krippendorff_alpha(ratings) == pytest.approx(alpha, abs=5e-4)


def slow_alpha(columns):
    """Straight from the definition: mean disagreement of pairs within things over that of all pairs."""
    units = [[one for one in column if not math.isnan(one)] for column in columns]
    units = [unit for unit in units if len(unit) > 1]
    pool = [value for unit in units for value in unit]
    observed = sum((a != b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))
    expected = sum(a != b for a, b in permutations(pool, 2))
    if not expected:
        return math.nan
    return 1 - (observed / len(pool)) / (expected / (len(pool) * (len(pool) - 1)))


@given(RATINGS)
def test_alpha_is_the_definition(columns):
    expected = slow_alpha(columns)
    assert krippendorff_alpha(np.array(columns).T) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=9))
def test_kappa_by_pairs_of_raters(columns):
    """P counted pair by pair; alpha differs from kappa by a small-sample correction alone."""
    counts = np.array([[column.count(value) for value in range(3)] for column in columns])
    agreeing = np.mean([a == b for column in columns for a, b in combinations(column, 2)])
    pool = [value for column in columns for value in column]
    chance = sum((pool.count(value) / len(pool)) ** 2 for value in range(3))
    expected = (agreeing - chance) / (1 - chance) if chance < 1 else math.nan
    assert fleiss_kappa(counts) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    alpha = krippendorff_alpha(np.array(columns).T)
    assert alpha == pytest.approx(expected + (1 - expected) / len(pool), abs=1e-9, nan_ok=True)


@given(st.lists(st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6), min_size=2, max_size=4))
def test_pairwise_f1_is_the_mean_of_scikit_learns(marks):
    pairs = [f1_score(a, b) for a, b in combinations(marks, 2) if any(a) or any(b)]
    expected = np.mean(pairs) if pairs else math.nan
    assert pairwise_f1(marks) == pytest.approx(expected, nan_ok=True)


def test_pairwise_f1_counts_what_both_looked_at():
    assert pairwise_f1([[1, 0, _, 1], [1, 1, 1, _]]) == pytest.approx(2 / 3)  # over the first two tokens
    assert math.isnan(pairwise_f1([[1, _], [_, 1]]))
    assert math.isnan(pairwise_f1([[1, 0]]))


def test_full_agreement_is_one_and_nothing_to_disagree_on_is_not():
    same = [[0, 1, 1, 0], [0, 1, 1, 0]]
    assert krippendorff_alpha(same) == fleiss_kappa([[2, 0], [0, 2]]) == pairwise_f1(same) == 1.0
    assert math.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    assert math.isnan(krippendorff_alpha([[1, _], [_, 1]]))
    assert math.isnan(krippendorff_alpha([[_, _]]))
    assert math.isnan(fleiss_kappa([[0, 3], [0, 3]]))


@pytest.mark.parametrize("counts", [[[1, 1], [2, 1]], [[1, 0]], [], [3, 3]])
def test_kappa_refuses_unequal_numbers_of_raters(counts):
    with pytest.raises(ValueError, match=r"counts of shape|as many raters"):
        fleiss_kappa(counts)


def test_other_senseless_input_is_refused():
    with pytest.raises(ValueError, match="shape"):
        krippendorff_alpha([1, 2])
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        pairwise_f1([[0.5], [1]])


def marked(text, *people, name="a"):
    groups = tuple((spans,) for spans in people)
    return Example(name, (text,), "pos", groups[0], groups=groups)


def test_agreement_on_the_words_of_a_dataset():
    examples = [
        marked("so very good", ((8, 12),), ((3, 12),)),  # words: 001 and 011
        marked("dull , dull", ((0, 4),), ((0, 2),)),  # 100 and 100: part of a word marks it
        Example("c", ("nobody asked two",), "pos", (((0, 6),),)),
    ]
    found = agreement_of(examples)
    assert (found.texts, found.words, found.annotators) == (2, 6, (2, 2))
    assert found.pairwise_f1 == pytest.approx((2 / 3 + 1) / 2)
    assert found.alpha == pytest.approx(krippendorff_alpha([[0, 0, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0]]))
    assert found.kappa == pytest.approx(fleiss_kappa([[2, 0], [1, 1], [0, 2], [0, 2], [2, 0], [2, 0]]))


def test_texts_marked_by_different_numbers_of_people_have_alpha_but_no_kappa():
    found = agreement_of([marked("a b", ((0, 1),), ((0, 1),)), marked("c d", ((0, 1),), ((2, 3),), ())])
    assert found.annotators == (2, 3)
    assert found.alpha == pytest.approx(krippendorff_alpha([[1, 0, 1, 0], [1, 0, 0, 1], [_, _, 0, 0]]))
    assert math.isnan(found.kappa)
    assert found.pairwise_f1 == pytest.approx((1 + 0) / 2)


def test_segments_that_cannot_be_marked_do_not_count():
    groups = ((((0, 2),), ()), (((0, 2),), ()))
    example = Example("a", ("is good", "what is it ?"), "yes", groups[0], groups=groups)
    assert agreement_of([example], segments=(0,)).words == 2
    assert agreement_of([example]).words == 6


def test_votes_of_different_numbers_of_people_have_alpha_but_no_kappa():
    votes = [("a", "a"), ("b", "b", "a"), ("c",)]
    found = label_agreement_of([Example(str(n), ("x",), "a", votes=given) for n, given in enumerate(votes)])
    assert (found.texts, found.annotators) == (2, (2, 3)) and math.isnan(found.kappa)
    assert found.alpha == pytest.approx(krippendorff_alpha([[0, 1], [0, 1], [_, 0]]))
    assert found.same == pytest.approx((1 + 1 / 3) / 2)


def test_pieces_of_evidence_are_no_annotators():
    data = Splits(DatasetInfo("d", ("pos",)), {"train": [marked("a b", ((0, 1),), ((2, 3),))]})
    assert list(dataset_agreement(data)) == ["train", "all"]
    assert dataset_agreement(replace(data, info=replace(data.info, groups="evidence"))) == {}


def test_agreement_needs_two_people():
    with pytest.raises(UserError, match="two people"):
        agreement_of([Example("a", ("x",), "pos", (((0, 1),),))])
