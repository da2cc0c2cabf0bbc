"""Every metric says what it is, which way is good, and how to show it."""

import pytest

from unirex import metrics
from unirex.errors import UserError
from unirex.metrics import METRICS, metric

NAMES = [
    "accuracy",
    "macro_f1",
    "binary_f1",
    "comprehensiveness",
    "sufficiency",
    "csd",
    "comprehensiveness_mean",
    "sufficiency_mean",
    "csd_mean",
    "auprc",
    "token_f1_macro2",
    "token_f1",
]


def test_the_names_are_those_the_evaluator_writes():
    assert list(METRICS) == NAMES
    assert all(name == one.name for name, one in METRICS.items())


@pytest.mark.parametrize("name", NAMES)
def test_each_metric_is_a_function_of_its_name(name):
    assert callable(getattr(metrics, name.removesuffix("_mean")))


def test_only_sufficiency_is_better_low():
    lower = {name for name, one in METRICS.items() if one.direction == "lower"}
    assert lower == {"sufficiency", "sufficiency_mean"}


def test_headers_tell_metrics_apart():
    assert len({one.header for one in METRICS.values()}) == len(METRICS)


def test_a_budget_belongs_to_its_metric():
    at_5 = metric("sufficiency@5")
    assert (at_5.header, at_5.direction, at_5.scale) == ("Suff@5", "lower", 1)
    assert "5 % of the tokens" in at_5.description and "AOPC" not in at_5.description
    assert metric("token_f1@20").decimals == 1


def test_an_unknown_metric_lists_the_known_ones():
    with pytest.raises(UserError, match="did you mean 'auprc'"):
        metric("auprrc")
