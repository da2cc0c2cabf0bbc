"""The printed numbers under our names: nothing lost, nothing in the wrong scale."""

import math

import pytest

from unirex.errors import UserError
from unirex.metrics.registry import METRICS
from unirex.paper import published

MAIN = ("sst", "movies", "cose", "multirc", "esnli")


@pytest.mark.parametrize("dataset", MAIN)
def test_every_dataset_has_sixteen_methods_with_five_metrics_and_four_gains(dataset):
    rows = published.results(dataset)
    assert len(rows) == 16
    names = {
        "comprehensiveness",
        "sufficiency",
        "auprc",
        "token_f1_macro2",
        published.performance_metric(dataset),
    }
    for row in rows.values():
        assert set(row.metrics) == names
        assert set(row.gains) == {"fnrg", "pnrg", "tnrg", "cnrg"}
        assert all(-0.2 <= mean <= 1 and 0 <= std < 0.3 for mean, std in row.metrics.values())


def test_percentages_are_shares_and_differences_stay_as_they_are():
    row = published.results("sst")["UNIREX (SLM-FP)"]
    assert row.metrics["auprc"] == (0.8255, 0.0084)
    assert row.metrics["token_f1_macro2"] == (0.7065, 0.0044)
    assert row.metrics["comprehensiveness"] == (0.302, 0.039)
    assert row.gains == {"fnrg": 0.807, "pnrg": 0.940, "tnrg": 0.927, "cnrg": 0.891}
    assert published.results("movies")["SGT"].metrics["macro_f1"] == (0.9633, 0.0076)


@pytest.mark.parametrize("dataset", ["yelp", "amazon", "stormfront", "offenseval", "irony"])
def test_transfer_has_six_methods_a_dataset(dataset):
    rows = published.results(dataset)
    assert len(rows) == 6 and "AA-F (Rand)" in rows
    assert {row.dataset for row in rows.values()} == {dataset}
    assert all({"csd", published.performance_metric(dataset)} <= set(row.metrics) for row in rows.values())
    assert not any(row.gains for row in rows.values())


def test_the_other_tables():
    assert len(published.ablations()) == 17 and len(published.transfer("sst")) == 6
    assert "convergence_delta" not in published.efficiency()[-1].metrics  # nothing is printed there
    study = {row.method: row.metrics for row in published.user_study()}
    assert study["Gold"]["confidence"] == (2.88, 0.3)  # of 4, and no share
    assert "alignment" not in study["No Rationale"]


def test_metric_names_are_ours():
    tables = [*published.main_results(), *published.ablations(), *published.efficiency()]
    assert {name for row in tables for name in row.metrics} <= set(METRICS)
    assert not any(math.isnan(value) for row in tables for pair in row.metrics.values() for value in pair)


@pytest.mark.parametrize(
    ("method", "extractor", "name"),
    [
        ("vanilla", None, "AA (IG)"),
        ("vanilla", "gradient", "AA (Grad)"),
        ("vanilla", "random", None),
        ("aa-f", "integrated-gradients", "UNIREX (AA-F)"),
        ("aa-f", "random", "AA-F (Rand)"),
        ("aa-f", "deeplift", None),
        ("aa-fp", "gold", None),
        ("slm-fp", "shared-lm", "UNIREX (SLM-FP)"),
        ("slm-p", "shared-lm", None),
    ],
)
def test_our_methods_by_the_papers_names(method, extractor, name):
    assert published.paper_name(method, extractor) == name


def test_every_name_of_the_main_table_is_one_of_ours():
    ours = {*published.METHODS.values(), *published.ATTRIBUTIONS.values()}
    assert {row.method for row in published.main_results()} == ours


def test_every_method_of_ours_is_known_or_has_no_row():
    from unirex.methods import method_names

    without = [name for name in method_names() if published.paper_name(name) is None]
    assert without == ["dlm-fpo", "slm-p", "slm-fpo", "hard-kuma"]


def test_the_row_beside_a_run():
    assert published.published_row("sst", "dlm-fp").gains["cnrg"] == 0.897
    assert published.published_row("sst", "aa-f", "random").metrics["accuracy"] == (0.9405, 0.0035)
    assert published.published_row("movies", "aa-f", "random") is None
    assert published.published_row("yelp", "slm-fp").metrics["csd"] == (0.114, 0.056)
    assert published.published_row("demo", "slm-fp") is None
    assert published.published_row("sst", "slm-p") is None


def test_what_must_not_be_compared_is_said():
    assert "Do not compare plausibility" in published.caveats("movies")[0]
    assert "Do not compare plausibility" not in " ".join(published.caveats("sst"))
    for dataset in MAIN:
        caveats = " ".join(published.caveats(dataset))
        assert "L2E" in caveats and "comprehensiveness is halved" in caveats and "divided by 6" in caveats
    irony = " ".join(published.caveats("irony"))
    assert "trained on SST alone" in irony and "L2E" not in irony


def test_the_performance_metrics_are_the_papers():
    papers = {
        "accuracy": {"sst", "cose", "yelp", "amazon"},
        "macro_f1": {"movies", "multirc", "esnli", "offenseval"},
        "binary_f1": {"stormfront", "irony"},
    }
    assert {name: published.performance_metric(name) for name in published.DATASETS} == {
        dataset: metric for metric, datasets in papers.items() for dataset in datasets
    }


def test_an_unknown_dataset_lists_the_known_ones():
    for ask in (published.results, published.caveats):
        with pytest.raises(UserError, match="Known: sst, movies"):
            ask("imdb")


def test_collapsed_predictors_of_the_paper_are_found():
    found = {
        dataset: {name for name, gain in published.recomputed(dataset).items() if gain.collapsed}
        for dataset in MAIN
    }
    assert "A2R" in found["multirc"] and {"FRESH+P", "A2R+P"} <= found["cose"] and "L2E" in found["sst"]
    assert not any(name.startswith("UNIREX") for names in found.values() for name in names)


def test_the_gate_leaves_out_who_predicts_near_chance():
    gains = published.recomputed("cose", gate=0.9)
    assert {method for method, gain in gains.items() if gain.gated} == {"FRESH", "A2R", "FRESH+P", "A2R+P"}
    assert max(gains, key=lambda method: gains[method].cnrg).startswith("UNIREX")
