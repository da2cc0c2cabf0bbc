"""Post hoc attributions of a plain classifier, end to end: they find the planted word."""

import pytest

import unirex
from planted import DECIDING, planted

POST_HOC = {
    "smoothgrad": {},
    "integrated-gradients": {},
    "deeplift": {},
    "gradient-shap": {},
    "occlusion": {},
    "lime": {},
    "kernel-shap": {},
    "attention": {"query": "mean"},
    "attention-rollout": {"query": "mean"},
}


ADD_UP = ("integrated-gradients", "deeplift", "gradient-shap", "kernel-shap")


@pytest.mark.parametrize("name", POST_HOC)
def test_every_post_hoc_attribution_finds_the_planted_word(classifier, name):
    results = unirex.evaluate(classifier.with_extractor(name, **POST_HOC[name]), planted()["test"])
    floor = results.rows[f"vanilla + {name}: random scores"]
    assert results.metrics["auprc"] >= 0.9 > floor["auprc"] + 0.3
    assert results.metrics["csd"] >= floor["csd"] + 0.4
    if name in ADD_UP:  # and what does says by how much it does not
        found = results.metrics["convergence_delta"]
        assert found < 1e-4 if name == "kernel-shap" else found > 0


@pytest.mark.parametrize("name", POST_HOC)
def test_it_explains_texts_and_comes_back_as_it_was_saved(classifier, name, tmp_path):
    system = classifier.with_extractor(name, **POST_HOC[name])
    explained = system.explain("the film is good and long", budget=17)
    assert [span.text for span in explained.spans] == ["good"]
    system.save_pretrained(tmp_path / "saved")
    assert unirex.load(tmp_path / "saved").explain("the film is good and long", budget=17) == explained


def test_the_planted_words_are_those_that_carry_the_labels(classifier):
    overview = unirex.summarise(classifier, planted()["test"], min_count=2)
    for label in overview.labels:
        assert {word.text for word in label.words[:3]} == set(DECIDING[label.label])
