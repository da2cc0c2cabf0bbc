"""NRG: the paper's tables to five decimals (T8), what lacks or collapses, and what must not matter."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.errors import UserError
from unirex.metrics.relative_gain import relative_gain, warnings_of
from unirex.paper import published

ORACLE = Path(__file__).with_name("main_results_nrg_recomputed.csv")
PARTS = {
    "nrg_comp": "comprehensiveness",
    "nrg_suff": "sufficiency",
    "nrg_auprc": "auprc",
    "nrg_tf1": "token_f1_macro2",
}
NAMES = ("comprehensiveness", "sufficiency", "auprc", "token_f1_macro2", "accuracy")
TABLES = st.lists(
    st.fixed_dictionaries({name: st.integers(-20, 20).map(lambda tenth: tenth / 20) for name in NAMES}),
    min_size=1,
    max_size=6,
).map(lambda rows: {f"m{number}": row for number, row in enumerate(rows)})


def oracle():
    with ORACLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def four(gain):
    return gain.fnrg, gain.pnrg, gain.tnrg, gain.cnrg


def row(comp, suff, auprc=0.5, tf1=0.5, accuracy=0.9):
    return dict(zip(NAMES, (comp, suff, auprc, tf1, accuracy), strict=True))


@pytest.mark.parametrize("dataset", ["sst", "movies", "cose", "multirc", "esnli"])
def test_t8_the_printed_tables_give_the_recomputed_gains(dataset):
    gains = published.recomputed(dataset)
    rows = [row for row in oracle() if row["dataset"] == dataset]
    assert list(gains) == [row["method"] for row in rows] and len(rows) == 16
    for row in rows:
        gain = gains[row["method"]]
        expected = [float(row[name]) for name in ("fnrg", "pnrg", "tnrg", "cnrg")]
        assert four(gain) == pytest.approx(expected, abs=5.1e-6)  # the oracle has five decimals
        for column, name in PARTS.items():
            assert gain.parts[name] == pytest.approx(float(row[column]), abs=5.1e-6)


def test_the_ten_printed_values_that_disagree():
    marked = set()
    for row in oracle():
        gains = row["disagree_gt_0.005"].split(";")
        marked |= {(row["dataset"], row["method"], gain) for gain in gains if gain}
    found = published.disagreements()
    assert len(found) == 10 and all(entry.diagnosis for entry in found)
    assert {(entry.dataset, entry.method, entry.gain) for entry in found} == marked


@given(TABLES, st.floats(0.1, 50), st.floats(-5, 5), st.randoms(use_true_random=False))
def test_scale_shift_and_order_of_methods_do_not_matter(table, factor, shift, chance):
    methods = chance.sample(list(table), len(table))
    changed = {one: {name: value * factor + shift for name, value in table[one].items()} for one in methods}
    before, after = relative_gain(table), relative_gain(changed)
    for method in table:
        assert four(before[method]) == pytest.approx(four(after[method]), abs=1e-6)


@given(TABLES)
def test_gains_lie_between_the_worst_and_the_best(table):
    gains = relative_gain(table)
    for name in NAMES:
        parts = [one.parts[name] for one in gains.values()]
        assert (min(parts), max(parts)) in ((0.0, 1.0), (0.5, 0.5))
    lower = min(table, key=lambda method: table[method]["sufficiency"])
    assert gains[lower].parts["sufficiency"] in (1.0, 0.5)


def test_a_metric_on_which_all_are_equal_gives_half_and_says_so():
    gains = relative_gain({"a": row(0.1, 0.2), "b": row(0.3, 0.1)})
    assert gains["a"].tnrg == gains["a"].pnrg == 0.5
    assert gains["b"].cnrg == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert "All methods have the same accuracy" in " ".join(warnings_of(gains))
    nearly = relative_gain({"a": row(0.1, 0.2, accuracy=0.3), "b": row(0.3, 0.1, accuracy=0.1 + 0.2)})
    assert nearly["a"].tnrg == nearly["b"].tnrg == 0.5  # rounding is no difference


def test_weights():
    table = {"a": row(0.1, 0.2, accuracy=0.9), "b": row(0.3, 0.1, 0.6, 0.4, accuracy=0.8)}
    even, heavy = relative_gain(table), relative_gain(table, weights=(2, 1, 1))
    assert four(even["b"]) == pytest.approx((1, 0.5, 0, 0.5))
    assert heavy["b"].cnrg == pytest.approx((2 * 1 + 0.5 + 0) / 4)
    assert relative_gain(table, weights=(0, 0, 3))["a"].cnrg == 1.0


def test_a_missing_metric_leaves_no_gain_unless_it_is_to_be_skipped():
    table = {"a": row(0.1, 0.2), "b": row(0.3, 0.1), "c": {"comprehensiveness": 0.2, "accuracy": 0.8}}
    strict, lenient = relative_gain(table), relative_gain(table, missing="skip")
    assert math.isnan(strict["c"].fnrg) and math.isnan(strict["c"].pnrg) and math.isnan(strict["c"].cnrg)
    assert strict["c"].tnrg == 0.0
    assert strict["c"].missing == ("sufficiency", "auprc", "token_f1_macro2")
    assert lenient["c"].fnrg == pytest.approx(0.5)
    assert lenient["c"].cnrg == pytest.approx((0.5 + 0) / 2)
    assert four(strict["a"]) == four(lenient["a"])
    assert "c has no auprc, sufficiency, token_f1_macro2: gains" in " ".join(warnings_of(strict))


def test_without_any_gold_plausibility_can_be_left_out_by_its_weight():
    table = {"a": {**row(0.1, 0.2), "auprc": math.nan}, "b": {**row(0.3, 0.1), "auprc": math.nan}}
    assert all(math.isnan(one.cnrg) for one in relative_gain(table).values())
    assert relative_gain(table, weights=(1, 0, 1))["b"].cnrg == pytest.approx((1 + 0.5) / 2)
    assert "No method has auprc" in " ".join(warnings_of(relative_gain(table)))


def test_a_collapsed_predictor_that_earns_nrg_is_told():
    table = {"good": row(0.3, 0.2), "poor": row(0.1, 0.3), "constant": row(0.0, 0.001, accuracy=0.5)}
    gains = relative_gain(table)
    assert gains["constant"].fnrg == pytest.approx(0.5)  # as much as an honest method
    assert [method for method, one in gains.items() if one.collapsed] == ["constant"]
    (told,) = [one for one in warnings_of(gains) if one.startswith("constant")]
    assert "FNRG 0.500" in told and "always says the same" in told


def test_performance_near_chance_is_collapse_too():
    table = {"good": row(0.3, 0.2, accuracy=0.9), "guess": row(0.1, 0.1, accuracy=0.52)}
    assert not relative_gain(table)["guess"].collapsed  # chance is not known
    gains = relative_gain(table, chance=0.5)
    assert gains["guess"].collapsed and not gains["good"].collapsed
    assert any("near chance (0.500)" in one for one in warnings_of(gains))


def test_a_single_removal_metric_near_nought_is_no_collapse():
    table = {
        "a": {"csd": 0.0, "auprc": 0.1, "accuracy": 0.9},
        "b": {"csd": 0.2, "auprc": 0.2, "accuracy": 0.8},
    }
    gains = relative_gain(table, faithfulness=["csd"], plausibility=["auprc"])
    assert not any(one.collapsed for one in gains.values())


def test_the_gate_keeps_poor_performers_from_gain_and_from_the_scale():
    table = {
        "a": row(0.3, 0.2, accuracy=0.9),
        "b": row(0.1, 0.3, accuracy=0.88),
        "collapsed": row(0.0, 0.0, accuracy=0.5),
    }
    gains = relative_gain(table, gate=0.9)
    assert gains["collapsed"].gated and four(gains["collapsed"]) == (0, 0, 0, 0)
    assert gains["a"].fnrg == 1.0 and gains["b"].fnrg == 0.0  # the scale is theirs alone
    assert relative_gain(table)["a"].parts["sufficiency"] == pytest.approx(1 / 3)
    assert any("collapsed performs below the gate" in one for one in warnings_of(gains))
    assert not any(one.gated for one in relative_gain(table, gate=0.5).values())  # 0.5 · 0.9 = 0.45
    gated = [relative_gain(table, gate=gate)["collapsed"].gated for gate in (0.55, 0.56)]
    assert gated == [False, True]  # 0.495 and 0.504
    assert four(relative_gain(table, gate=1)["a"]) == pytest.approx((0.5, 0.5, 0.5, 0.5))


def test_a_method_of_unknown_performance_is_not_gated():
    table = {"a": row(0.3, 0.2), "b": {"comprehensiveness": 0.1, "sufficiency": 0.1}}
    assert not relative_gain(table, gate=0.9)["b"].gated


def test_metrics_at_one_budget_and_other_sets_of_metrics():
    table = {
        "a": {"sufficiency@5": 0.1, "auprc": 0.5, "macro_f1": 0.5},
        "b": {"sufficiency@5": 0.2, "auprc": 0.6, "macro_f1": 0.6},
    }
    gains = relative_gain(
        table, faithfulness=["sufficiency@5"], plausibility=["auprc"], performance=["macro_f1"]
    )
    assert four(gains["a"]) == pytest.approx((1, 0, 0, 1 / 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faithfulness": ["comprehensivness"]}, "did you mean 'comprehensiveness'"),
        ({"weights": (1, 1)}, "three numbers"),
        ({"weights": (0, 0, 0)}, "not all 0"),
        ({"weights": (1, -1, 1)}, "0 or more"),
        ({"gate": 90}, "gate 90"),
        ({"plausibility": []}, "needs a metric"),
        ({"performance": ["ece"], "gate": 0.9}, "more is better, not ece"),
        ({"chance": 50, "gate": 0.9}, "chance 50 is not on the scale of accuracy, of which the best is 0.9"),
    ],
)
def test_mistakes_are_told(options, message):
    with pytest.raises(UserError, match=message):
        relative_gain({"a": row(0.1, 0.2), "b": row(0.3, 0.1)}, **options)


def test_chance_has_no_part_in_the_gate():
    table = {"a": row(0.1, 0.2, accuracy=0.4), "b": row(0.3, 0.1, accuracy=0.3)}
    gains = relative_gain(table, gate=0.7, chance=0.5)
    assert all(one.collapsed and not one.gated for one in gains.values())
    assert relative_gain(table, gate=0.8)["b"].gated and not relative_gain(table, gate=0.8)["a"].gated


def test_an_empty_table_is_a_mistake():
    with pytest.raises(UserError, match="no methods"):
        relative_gain({})
