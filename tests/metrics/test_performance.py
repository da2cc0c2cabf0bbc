"""Task metrics equal scikit-learn's, for labels of any type."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from unirex.evaluation.tally import Tally, f1_interval
from unirex.metrics import accuracy, binary_f1, macro_f1, performance
from unirex.metrics.performance import ClassRow, class_report_of, micro_f1, micro_f1_of

LABELS = (["neg", "pos"], ["entailment", "neutral", "contradiction"], [0, 1, 2], [False, True])
PAIRS = st.sampled_from(LABELS).flatmap(
    lambda labels: st.lists(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), min_size=1)
)


def sides(pairs):
    return [p for p, _ in pairs], [g for _, g in pairs]


@given(PAIRS)
def test_accuracy_and_f1_are_scikit_learns(pairs):
    predicted, gold = sides(pairs)
    assert accuracy(predicted, gold) == pytest.approx(sklearn_metrics.accuracy_score(gold, predicted))
    for f1, average in ((macro_f1, "macro"), (micro_f1, "micro")):
        expected = sklearn_metrics.f1_score(gold, predicted, average=average, zero_division=0)
        assert f1(predicted, gold) == pytest.approx(expected)
    assert micro_f1(predicted, gold) == pytest.approx(accuracy(predicted, gold))


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), min_size=1))
def test_binary_f1_is_scikit_learns(pairs):
    predicted, gold = sides(pairs)
    expected = sklearn_metrics.f1_score(gold, predicted, pos_label=1, zero_division=0)
    assert binary_f1(predicted, gold, labels=(0, 1)) == pytest.approx(expected)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_micro_f1_of_some_labels_is_scikit_learns(pairs):
    predicted, gold = sides(pairs)
    expected = sklearn_metrics.f1_score(gold, predicted, labels=["a", "b"], average="micro", zero_division=0)
    assert micro_f1(predicted, gold, labels=("a", "b")) == pytest.approx(expected)


@given(PAIRS)
def test_the_class_report_is_scikit_learns(pairs):
    predicted, gold = sides(pairs)
    rows = class_report_of(Counter(pairs))
    columns = sklearn_metrics.precision_recall_fscore_support(gold, predicted, zero_division=0)
    assert [(one.precision, one.recall, one.f1, one.support) for one in rows.values()] == [
        pytest.approx(expected) for expected in zip(*columns, strict=True)
    ]


def test_a_report_has_the_labels_asked_for_in_their_order():
    counts = {("a", "a"): 3, ("a", "b"): 1}
    rows = class_report_of(counts, ("b", "a", "c"))
    assert list(rows) == ["b", "a", "c"]
    assert rows["a"] == ClassRow(precision=3 / 4, recall=1.0, f1=6 / 7, support=3)
    assert rows["b"] == ClassRow(precision=0.0, recall=0.0, f1=0.0, support=1)
    assert rows["c"] == ClassRow(precision=0.0, recall=0.0, f1=0.0, support=0)
    assert micro_f1_of(counts) == 3 / 4
    assert micro_f1_of(counts, labels=("c",)) == 0.0


def test_binary_f1_of_the_last_label_unless_another_is_given():
    predicted, gold = ["hate", "not_hate", "hate"], ["hate", "hate", "not_hate"]
    assert binary_f1(predicted, gold, labels=("not_hate", "hate")) == 2 * 1 / (2 + 2)
    assert binary_f1(predicted, gold, positive="not_hate") == 0.0
    assert binary_f1([True, False], [True, True]) == 2 * 1 / (1 + 2)


def test_macro_f1_over_a_fixed_label_set_counts_absent_labels_as_zero():
    assert macro_f1(["a", "a"], ["a", "a"]) == 1.0
    assert macro_f1(["a", "a"], ["a", "a"], labels=("a", "b")) == 0.5


def test_labels_of_mixed_types_do_not_break_the_order():
    assert macro_f1(["a", 1], ["a", 2]) == pytest.approx(1 / 3)


def test_nothing_to_score_is_not_a_score():
    assert all(math.isnan(metric([], [])) for metric in (accuracy, macro_f1, binary_f1, micro_f1))
    assert class_report_of({}) == {}


@pytest.mark.parametrize("metric", [accuracy, macro_f1, micro_f1, binary_f1])
def test_unequal_lengths_are_refused(metric):
    with pytest.raises(ValueError, match="2 predictions for 1 gold labels"):
        metric(["a", "b"], ["a"])


@pytest.mark.parametrize("name", performance.FROM_CONFUSION)
def test_f1_of_many_draws_is_that_of_each(name):
    f1_of, pairs = performance.FROM_CONFUSION[name], [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    draws = np.random.default_rng(0).multinomial(9, [0.4, 0.3, 0.2, 0.1], size=50)  # some without a "b"
    found = f1_of(dict(zip(pairs, draws.T, strict=True)), labels=("a", "b"))
    one_by_one = [f1_of(dict(zip(pairs, row.tolist(), strict=True)), labels=("a", "b")) for row in draws]
    assert found.tolist() == one_by_one


def test_a_label_that_never_occurs_has_an_interval():
    """Its F1 is 0 in every draw."""
    tally = Tally(labels=("neg", "pos"))
    tally.confusion.update({("neg", "neg"): 5})
    f1_of = list(performance.FROM_CONFUSION.values())[-1]
    assert f1_interval(tally.confusion, f1_of, labels=tally.labels) == (0.0, 0.0)
