"""The registry: every metric has a function, a direction and a way to be shown."""

import inspect

import pytest

from unirex.errors import UserError
from unirex.evaluation.probes import PROBES
from unirex.metrics import (
    calibration,
    curves,
    faithfulness,
    leave_one_out,
    naopc,
    performance,
    plausibility,
)
from unirex.metrics.registry import METRICS, PAPER_COLUMNS, metric

MODULES = {
    "performance": (performance, calibration),
    "faithfulness": (faithfulness, curves, leave_one_out, naopc),
    "plausibility": (plausibility,),
}
ELSEWHERE = {  # metrics whose function has a name of its own
    "ece": "expected_calibration_error",
    "decision_flip_first": "first_token_flips",
    "decision_flip_fraction": "flip_fraction",
    "naopc": "normalised_aopc",
}


@pytest.mark.parametrize("name", [name for name, entry in METRICS.items() if entry.desideratum in MODULES])
def test_each_metric_is_a_function_that_says_which_way_is_good(name):
    wanted = ELSEWHERE.get(name, name.removesuffix("_mean").removesuffix("_all_tokens"))
    (found,) = [
        getattr(module, wanted)
        for module in MODULES[METRICS[name].desideratum]
        if getattr(getattr(module, wanted, None), "__module__", None) == module.__name__
    ]
    said = f"{found.__doc__} {inspect.getmodule(found).__doc__}".lower()
    assert f"{METRICS[name].direction} is better" in said
    assert ">>>" in found.__doc__, "a doctest worked by hand"


def test_headers_tell_metrics_apart():
    assert len({entry.header for entry in METRICS.values()}) == len(METRICS)


def test_every_probe_serves_a_metric_and_every_paper_column_names_one():
    assert {entry.probe for entry in METRICS.values() if entry.probe} == set(PROBES)
    assert len(PAPER_COLUMNS) == len([entry for entry in METRICS.values() if entry.paper])


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
