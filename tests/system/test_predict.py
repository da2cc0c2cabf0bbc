"""`predict`, `predict_proba` and `score`: the answers of `explain` without the explanations."""

import numpy as np
import pytest

import unirex
from planted import planted, planted_choices, planted_segments, planted_sets
from unirex.methods import resolve
from unirex.methods.building import build_system

KINDS = {
    "text": ("slm-fp", planted),
    "segments": ("vanilla", planted_segments),
    "choices": ("slm-fp", planted_choices),
    "sets": ("vanilla", planted_sets),
    "rationale": ("a2r", planted),
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_the_explanations(kind, learner):
    method, corpus = KINDS[kind]
    data = corpus(sizes=(8, 1, 40))
    system = build_system(method, data, resolve(method, None, {"encoder": str(learner)}), learns=False)
    explained = system.explain(data["test"])
    assert system.predict(data["test"]) == [explanation.label for explanation in explained]
    chances = system.predict_proba(data["test"])
    for row, explanation in zip(chances, explained, strict=True):
        given = list(explanation.probabilities.values())
        assert np.allclose(row[: len(given)], given, atol=1e-6) and not row[len(given) :].any()
    right = np.mean([explanation.label == explanation.gold_label for explanation in explained])
    assert system.score(data["test"], [example.label for example in data["test"]]) == right


def test_nothing_is_explained(classifier, monkeypatch):
    def fail(*_):
        raise AssertionError("a rationale was computed")

    monkeypatch.setattr(type(classifier.model.extractor), "forward", fail)
    assert classifier.predict("a good film") == "pos"
    assert classifier.predict(["a good film", "a bad film"]) == ["pos", "neg"]
    assert classifier.predict_proba("a good film").shape == (2,)
    assert classifier.predict_proba([]).shape == (0, 2)


def test_labels_that_cannot_be_right_are_refused(classifier):
    assert classifier.score(["a good film", "a bad film"], ["pos", "pos"]) == 0.5
    with pytest.raises(unirex.UserError, match="2 texts and 1 labels"):
        classifier.score(["a good film", "a bad film"], ["pos"])
    with pytest.raises(unirex.UserError, match="unknown label '1'"):
        classifier.score(["a good film"], [1])


def test_a_system_is_described_in_a_line_and_in_a_notebook(classifier):
    assert repr(classifier).startswith(
        "<System vanilla + integrated-gradients: labels 'neg', 'pos', extractor"
    )
    assert len(repr(classifier)) < 400 and "&#x27;neg&#x27;" in classifier._repr_html_()
