"""Every metric says what it is, which way is good, and how to show it."""

import inspect

import pytest

from unirex.errors import UserError
from unirex.metrics import (
    calibration,
    curves,
    decision_flip,
    faithfulness,
    leave_one_out,
    naopc,
    normalised,
    performance,
    plausibility,
    soft,
)
from unirex.metrics.registry import METRICS, metric

MODULES = {
    "performance": (performance, calibration),
    "faithfulness": (faithfulness, normalised, decision_flip, curves, leave_one_out, naopc, soft),
    "plausibility": (plausibility,),
}
ELSEWHERE = {  # metrics whose function has a name of its own
    "ece": "expected_calibration_error",
    "decision_flip_first": "first_token_flips",
    "decision_flip_fraction": "flip_fraction",
    "naopc": "normalised_aopc",
}
LOWER = {
    "ece",
    "sufficiency",
    "sufficiency_mean",
    "log_odds",
    "decision_flip_fraction",
    "deletion_auc",
    "seconds",
    "token_forwards",
    "convergence_delta",
}


def test_every_metric_knows_its_own_name():
    assert all(name == one.name for name, one in METRICS.items())


@pytest.mark.parametrize("name", [name for name, one in METRICS.items() if one.desideratum in MODULES])
def test_each_metric_is_a_function_that_says_which_way_is_good(name):
    wanted = ELSEWHERE.get(name, name.removesuffix("_mean"))
    (found,) = [
        getattr(module, wanted)
        for module in MODULES[METRICS[name].desideratum]
        if getattr(getattr(module, wanted, None), "__module__", None) == module.__name__
    ]
    said = f"{found.__doc__} {inspect.getmodule(found).__doc__}".lower()
    assert f"{METRICS[name].direction} is better" in said
    assert ">>>" in found.__doc__, "a doctest worked by hand"


def test_which_are_better_low():
    assert {name for name, one in METRICS.items() if one.direction == "lower"} == LOWER


def test_headers_tell_metrics_apart():
    assert len({one.header for one in METRICS.values()}) == len(METRICS)


def test_a_budget_belongs_to_its_metric():
    at_5 = metric("sufficiency@5")
    assert (at_5.header, at_5.direction, at_5.scale) == ("Suff@5", "lower", 1)
    assert "5 % of the tokens" in at_5.description and "AOPC" not in at_5.description
    assert metric("token_f1@20").decimals == 1


def test_a_part_of_the_texts_or_another_removal_belongs_to_its_metric():
    assert metric("auprc/correct").header == "AUPRC correct"
    assert "texts predicted right" in metric("auprc/correct").description
    other = metric("sufficiency/mask_token")
    assert other.direction == "lower" and "removed by mask_token" in other.description


def test_an_unknown_metric_lists_the_known_ones():
    with pytest.raises(UserError, match="did you mean 'auprc'"):
        metric("auprrc")
