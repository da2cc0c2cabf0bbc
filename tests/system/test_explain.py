"""Explanations: offsets into the original text, whatever the tokenizer made of it."""

import json

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import unirex
from tiny import FAMILIES, assert_same_choice, build_model
from unirex.errors import UserError
from unirex.system import System

NASTY = [
    "  leading",
    "tab\tand\nnewline ",
    "naïve 电影 很好",
    "فيلم جيد",
    "👩‍🚀 went 🚀!",
    "a\u00a0b",
    "x" * 300,
    "e\u0301te\u0301",
]


@pytest.fixture(scope="module")
def systems(encoders):
    made = {}

    def build(family, **settings):
        key = (family, *sorted(settings.items()))
        if key not in made:
            folder = encoders(family)
            made[key] = System(build_model(folder, **settings), AutoTokenizer.from_pretrained(folder))
        return made[key]

    return build


def check(text, told):
    assert told.text == text and told.segments == (text,)
    assert "".join(word.text for word in told.words) == "".join(text.split())
    for part in (*told.words, *told.tokens, *told.spans):
        assert text[part.start : part.end] == part.text and part.text.strip() == part.text != ""
    for word in told.words:
        inside = [t for t in told.tokens if t.start < word.end and t.end > word.start]
        assert word.selected == any(t.selected for t in inside)
        assert word.score == max((t.score for t in inside), default=0.0)
    covered = {i for s in told.spans for i in range(s.start, s.end) if not text[i].isspace()}
    assert covered == {i for w in told.words if w.selected for i in range(w.start, w.end)}
    assert sum(told.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert told.probabilities[told.label] == max(told.probabilities.values())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", NASTY)
def test_offsets_point_into_the_original_text(systems, family, text):
    check(text, systems(family).explain(text, budget=40))


@given(text=st.text(min_size=1, max_size=40).filter(lambda t: t.strip() and t.isprintable()))
@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2"])
def test_any_text_can_be_explained(systems, family, text):
    check(text, systems(family).explain(text))


def test_the_budget_is_a_share_of_the_tokens(systems):
    told = systems("bert").explain("a gorgeous , witty , seductive film .", budget=50)
    chosen = sum(token.selected for token in told.tokens)
    assert chosen == round(len(told.tokens) / 2)
    everything = systems("bert").explain("a witty film .", budget=100)
    assert [span.text for span in everything.spans] == ["a witty film ."]


def test_best_span_is_one_run_of_tokens(systems):
    told = systems("bert").explain("a gorgeous , witty , seductive film .", budget=30, selector="best-span")
    flags = "".join("x" if token.selected else "." for token in told.tokens)
    assert "x" in flags and len([run for run in flags.split(".") if run]) == 1


def test_many_texts_come_back_in_their_order(systems):
    texts = [" ".join(["film"] * n) for n in (9, 1, 5, 2)]
    told = systems("bert").explain(texts)
    assert [one.text for one in told] == texts
    for one, text in zip(told, texts, strict=True):  # padding changes nothing
        alone = systems("bert").explain(text)
        assert one.probabilities == pytest.approx(alone.probabilities, abs=1e-5)


def test_streams_are_read_in_windows_not_whole(systems, monkeypatch):
    monkeypatch.setattr("unirex.system.WINDOW", 4)
    read = []

    def texts():
        for number in range(100):
            read.append(number)
            yield unirex.Example(str(number), ("a film",))

    stream = systems("bert").explain_all(texts())
    next(stream)
    assert len(read) == 4
    assert len(list(stream)) == 99


def test_progress_is_told_by_the_batch(systems):
    done = []
    texts = [unirex.Example(str(number), ("a film",)) for number in range(7)]
    assert len(list(systems("bert").explain_all(texts, batch_size=3, advance=done.append))) == 7
    assert done == [3, 3, 1]


def test_what_does_not_fit_is_counted(systems):
    told = systems("bert", max_length=12).explain("film " * 50)
    assert told.truncated == 40  # 10 fit beside [CLS] and [SEP]
    assert [(word.start, word.text) for word in told.words] == [(5 * at, "film") for at in range(10)]


@pytest.mark.parametrize("labels", [(False, True), (0, 1, 2), ("no", "yes"), (0.5, 1.5)])
def test_labels_keep_their_type(systems, labels):
    told = systems("bert", labels=labels).explain("a film")
    assert told.label in labels and type(told.label) is type(labels[0])
    assert list(told.probabilities) == list(labels)
    shown = json.loads(json.dumps(told.to_dict()))
    assert type(shown["label"]) is type(labels[0])
    assert [one["label"] for one in shown["probabilities"]] == list(labels)


def test_another_extractor_explains_the_same_predictions(systems):
    system = systems("bert")
    for name in ("gradient", "input-x-gradient", "integrated-gradients", "deeplift", "random"):
        other = system.with_extractor(name).explain("a witty film")
        expected = system.explain("a witty film").probabilities  # by another kernel, for some
        assert other.probabilities == pytest.approx(expected, abs=1e-5)
        assert not any(one.is_meta for one in system.with_extractor(name).model.state_dict().values())
    assert system.model.config.extractor == "shared-lm"  # untouched
    with pytest.raises(UserError, match="did you mean 'integrated-gradients'"):
        system.with_extractor("integrated-gradient")
    with pytest.raises(UserError, match="must be trained"):
        system.with_extractor("shared-lm")


@pytest.mark.parametrize(
    ("text", "said"), [("", "empty"), (" \n", "empty"), (None, "must be a string"), (3, "string")]
)
def test_what_is_not_a_text_is_refused(systems, text, said):
    with pytest.raises(UserError, match=said):
        systems("bert").explain([text])


@pytest.mark.parametrize("device", ["cuda:99", "nowhere"])
def test_a_device_that_is_not_there_is_said(systems, tmp_path, device):
    systems("bert").save_pretrained(tmp_path)
    assert unirex.load(tmp_path, device="cpu").model.device.type == "cpu"
    with pytest.raises(UserError, match=f"device '{device}': .*unirex doctor"):
        unirex.load(tmp_path, device=device)


def test_the_pipeline_of_transformers(systems, tmp_path):
    systems("bert").save_pretrained(tmp_path / "run")
    classify = transformers.pipeline("rationale-classification", model=str(tmp_path / "run"))
    texts = ["a witty film", "dull ."]
    several = classify(texts, budget=30)
    assert several[0]["rationale"][0].keys() >= {"start", "end", "text"}
    for one, text in zip(several, texts, strict=True):
        told = systems("bert").explain(text, budget=30)
        assert abs(max(told.probabilities.values()) - 0.5) > 1e-4, "or rounding decides the label"
        assert one["label"] == told.label
        assert one["probabilities"] == pytest.approx(told.probabilities, abs=1e-5)
        alone = classify(text, budget=30)
        assert_same_choice(
            *([(word["score"], word["selected"]) for word in a["words"]] for a in (alone, one))
        )
    assert next(classify(text for text in texts))["label"] == several[0]["label"]
    with pytest.raises(TypeError, match="no option bugdet"):
        classify("a film", bugdet=3)
