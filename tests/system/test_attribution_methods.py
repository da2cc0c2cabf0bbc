"""Post hoc attributions of a plain classifier, end to end: they find the planted word."""

import pytest

import unirex
from planted import planted

TRAINING = {"epochs": 8, "learning_rate": 4e-3, "batch_size": 16, "patience": 8}
POST_HOC = {
    "integrated-gradients": {},
    "deeplift": {},
    "gradient-shap": {},
    "occlusion": {},
    "lime": {},
    "kernel-shap": {},
    "attention": {"query": "mean"},
    "attention-rollout": {"query": "mean"},
}


@pytest.fixture(scope="module")
def plain(learner):
    """A classifier that learnt the planted corpus and nothing about explaining."""
    return unirex.fit(
        "vanilla", planted(), encoder=str(learner), pooling="mean", training=TRAINING, progress=False
    )


@pytest.mark.parametrize("name", POST_HOC)
def test_every_post_hoc_attribution_finds_the_planted_word(plain, name):
    results = unirex.evaluate(plain.with_extractor(name, **POST_HOC[name]), planted()["test"])
    floor = results.rows[f"vanilla + {name}: random scores"]
    assert results.metrics["auprc"] >= 0.9 > floor["auprc"] + 0.3
    assert results.metrics["csd"] >= floor["csd"] + 0.4


@pytest.mark.parametrize("name", POST_HOC)
def test_it_explains_texts_and_comes_back_as_it_was_saved(plain, name, tmp_path):
    system = plain.with_extractor(name, **POST_HOC[name])
    explained = system.explain("the film is good and long", budget=17)
    assert [span.text for span in explained.spans] == ["good"]
    system.save_pretrained(tmp_path / "saved")
    assert unirex.load(tmp_path / "saved").explain("the film is good and long", budget=17) == explained


@pytest.mark.parametrize("name", ["integrated-gradients", "deeplift", "gradient-shap", "kernel-shap"])
def test_what_should_add_up_says_by_how_much_it_does_not(plain, name):
    results = unirex.evaluate(plain.with_extractor(name), planted()["test"])
    found = results.metrics["convergence_delta"]
    assert found < 1e-4 if name == "kernel-shap" else found > 0
