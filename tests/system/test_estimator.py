"""`RationaleClassifier` keeps scikit-learn's manners; most tests train a tiny encoder for one epoch."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import unirex
from planted import planted, planted_segments

CHECKS = (  # of scikit-learn, those that need no table of numbers
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_get_tags_default_keys",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)


@pytest.fixture(scope="module")
def samples():
    """Texts, labels and character spans of a small corpus."""
    part = planted((40, 1, 1))["train"]
    return [e.text for e in part], [e.label for e in part], [[list(s) for s in e.rationale[0]] for e in part]


@pytest.fixture
def tiny(learner):
    """A classifier that trains in a moment."""
    return unirex.RationaleClassifier(
        "vanilla", encoder=str(learner), epochs=1, batch_size=16, learning_rate=4e-3
    )


@pytest.mark.parametrize("name", [name for name in CHECKS if hasattr(estimator_checks, name)])
def test_scikit_learn_checks(name):
    getattr(estimator_checks, name)("RationaleClassifier", unirex.RationaleClassifier())


def test_check_estimator_has_nothing_against_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # it skips what reads no tables of numbers
        estimator_checks.check_estimator(unirex.RationaleClassifier())


def test_fit_predict_score_and_explain(tiny, samples):
    texts, labels, marks = samples
    tiny.set_params(method="slm-p", epochs=4, settings={"pooling": "mean"})
    assert tiny.fit(pd.Series(texts), np.array(labels), rationales=marks) is tiny
    assert tiny.classes_.tolist() == ["neg", "pos"] == list(tiny.system_.labels)
    chances = tiny.predict_proba(np.array(texts))
    assert chances.shape == (40, 2) and np.allclose(chances.sum(1), 1, atol=1e-5)
    assert tiny.predict(texts).tolist() == tiny.classes_[chances.argmax(1)].tolist()
    assert tiny.score(texts, labels) == np.mean(tiny.predict(texts) == np.array(labels)) > 0.6
    assert tiny.explain(texts[0], budget=10).label == tiny.predict(texts[:1])[0]
    assert [explained.text for explained in tiny.explain(texts[:2])] == texts[:2]


def test_grid_search_over_a_pipeline_slices_rationales_with_the_texts(tiny, samples):
    texts, labels, marks = samples
    pipeline = Pipeline([("as it is", FunctionTransformer()), ("classify", tiny.set_params(method="slm-p"))])
    grid = GridSearchCV(pipeline, {"classify__learning_rate": [1e-3, 4e-3]}, cv=2, error_score="raise")
    grid.fit(texts, labels, classify__rationales=marks)
    assert len(grid.cv_results_["mean_test_score"]) == 2
    assert set(grid.predict(texts)) <= {"neg", "pos"}


def test_numbers_are_labels_and_seeds_decide(tiny, samples):
    texts, labels, _ = samples
    numbers = np.array([label == "pos" for label in labels], dtype=int)
    first, second = (clone(tiny).fit(texts, numbers) for _ in range(2))
    assert np.array_equal(first.predict_proba(texts), second.predict_proba(texts))
    assert first.predict(texts).dtype == numbers.dtype


def test_pairs_and_a_dev_set_of_ones_own(tiny):
    part = planted_segments(sizes=(24, 1, 1))["train"]
    frame = pd.DataFrame([e.segments for e in part], columns=["premise", "claim"])
    labels = [e.label for e in part]
    tiny.fit(frame, labels, dev=([list(e.segments) for e in part[:8]], labels[:8]))
    assert tiny.predict([part[0].segments]) == tiny.predict(frame[:1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("one text", ["neg"], "give a list of texts"),
        ([], [], "no texts"),
        ([3, 4], ["neg", "pos"], "must be a string, not 3"),
        (["a", ("b", "c")], ["neg", "pos"], "sample 2 has 2 texts"),
        (["a", "b"], None, "a label for each"),
        (["a", "b"], ["neg"], "inconsistent numbers of samples"),
        (["a"] * 9, ["neg"] * 9, "fewer than two classes"),
        (["a", "b"], [0.5, 0.7], "continuous"),
        (["a", "b"], ["neg", None], "row 2: 'label' is missing"),
    ],
)
def test_mistakes_are_named(tiny, X, y, message):  # noqa: N803
    with pytest.raises(ValueError, match=message):
        tiny.fit(X, y)


def test_a_method_that_learns_from_marks_asks_for_them(tiny, samples):
    with pytest.raises(unirex.UserError, match="fit\\(X, y, rationales=…\\)"):
        tiny.set_params(method="slm-fp").fit(*samples[:2])
    with pytest.raises(NotFittedError):
        tiny.predict(["a film"])
