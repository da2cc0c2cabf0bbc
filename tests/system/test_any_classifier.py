"""Any Hugging Face sequence classifier is read as it reads itself, and explained without training."""

import json
from functools import cache

import pytest
import torch
from transformers import (
    AlbertConfig,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BartConfig,
    ElectraConfig,
    FNetConfig,
    GPT2Config,
    XLNetConfig,
)

import tiny
import unirex
from commands import fails, succeeds
from unirex.data.example import Example
from unirex.encoding.batch import collate
from unirex.errors import UserError
from unirex.extractors import EXTRACTORS
from unirex.models.task import Pass
from unirex.perturb import Perturber

LABELS = ("bad", "fair", "good")
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
MORE = {  # families beyond tiny.FAMILIES; these two have embeddings of another width than their states
    "electra": lambda n: ElectraConfig(vocab_size=n, embedding_size=16, max_position_embeddings=100, **SIZE),
    "albert": lambda n: AlbertConfig(vocab_size=n, embedding_size=16, max_position_embeddings=100, **SIZE),
}
TYPED = ("bert", "electra", "albert")  # families told which text of a pair a token is of
FAMILIES = (*tiny.FAMILIES, "longformer", *MORE)
GRADIENTS = (
    "gradient",
    "smoothgrad",
    "input-x-gradient",
    "integrated-gradients",
    "deeplift",
    "gradient-shap",
)
ATTRIBUTIONS = (*GRADIENTS, "occlusion", "lime", "kernel-shap", "attention", "attention-rollout")
SINGLE = [(text,) for text in tiny.SENTENCES]
PAIRS = [(one[:30], other[:35]) for one, other in zip(tiny.SENTENCES, tiny.SENTENCES[1:], strict=False)]


def save_classifier(
    folder, family="bert", *, config=None, model=AutoModelForSequenceClassification, **changes
):
    """A tiny random classifier with large weights and its tokenizer, as anybody would save them."""
    tokens = tiny.tokenizer(tiny.TOKENIZERS.get(family, "wordpiece"))
    if family in TYPED:
        tokens.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    if config is None:
        make = MORE.get(family, lambda n: tiny.encoder_config(family, n, pad=tokens.pad_token_id))
        config = make(len(tokens))
    config.id2label = dict(enumerate(LABELS))
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    tiny.shaken(model.from_config(config)).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory):
    """`classifiers("bert")` is the folder of a tiny classifier of that family."""
    root, made = tmp_path_factory.mktemp("classifiers"), {}

    def folder(family):
        if family not in made:
            made[family] = save_classifier(root / family, family)
        return made[family]

    return folder


@pytest.fixture(scope="module")
def systems(classifiers):
    """`systems("bert")` is that classifier as it is loaded, which takes a while, made once."""
    return cache(lambda family: unirex.load(classifiers(family)))


def own(folder):
    """The model and the tokenizer as transformers loads them."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def batch_of(system, texts):
    encoded = system.text_encoder.encode([Example(str(n), one) for n, one in enumerate(texts)])
    return collate(encoded, system.tokenizer.pad_token_id)


@pytest.mark.parametrize("texts", [SINGLE, PAIRS], ids=["texts", "pairs"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_logits_are_those_of_the_model_itself(classifiers, systems, family, texts):
    system, (model, tokenizer) = systems(family), own(classifiers(family))
    sparse = getattr(model.config, "attention_type", None)  # BigBird forgets it after one short text
    expected = []
    for one in texts:
        if sparse:
            model.base_model.set_attention_type(sparse)
        expected.append(model(**tokenizer(*one, return_tensors="pt")).logits)
    expected = torch.cat(expected)
    batch = batch_of(system, texts)  # padded, as the model's own are not
    torch.testing.assert_close(Pass(system.model.task, batch).logits, expected, rtol=1e-5, atol=1e-5)
    assert expected.std() > 0.01


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "modernbert", "deberta-v2"])
@torch.no_grad()
def test_views_of_pairs_are_what_the_model_says_with_tokens_masked(classifiers, systems, family):
    system, (model, tokenizer) = systems(family), own(classifiers(family))
    batch = batch_of(system, PAIRS)
    kept = torch.rand(batch.input_ids.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    found = Perturber("attention_mask").logits(Pass(system.model.task, batch), kept[None])[0]
    for row, pair in enumerate(PAIRS):
        inputs = tokenizer(*pair, return_tensors="pt")
        size = inputs["input_ids"].shape[1]
        inputs["attention_mask"] = (kept | ~batch.selectable)[row : row + 1, :size].long()
        torch.testing.assert_close(found[row], model(**inputs).logits[0], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_deleted_words_leave_the_types_of_the_others(classifiers, systems):
    system, (model, tokenizer) = systems("bert"), own(classifiers("bert"))
    batch = batch_of(system, [("a good film", "not bad")])
    assert system.model.task.types
    kept = torch.ones_like(batch.selectable)
    kept[0, 2] = False  # "good"
    found = Perturber("delete").logits(Pass(system.model.task, batch), kept[None])[0, 0]
    expected = model(**tokenizer("a film", "not bad", return_tensors="pt")).logits[0]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_word_added_to_the_tokenizer_is_one_token_here_too(tmp_path):
    folder = save_classifier(tmp_path / "model")
    model, tokenizer = own(folder)
    tokenizer.add_tokens(["@USER"])
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    found = unirex.load(folder).text_encoder.encode([Example("0", ("a @USER film",))])[0].sequences[0]
    assert found.input_ids.tolist() == tokenizer("a @USER film")["input_ids"]


def test_the_extractors_tried_here_are_all_there_are_without_parameters():
    others = {
        "random",
        "gold",
        "inverse",
        "dual-lm",
        "shared-lm",
        "blended",
        "bucket-tagger",
        "a2r",
        "hard-kuma",
    }
    assert set(EXTRACTORS) - others - {"support", "given"} == set(ATTRIBUTIONS)


@pytest.mark.parametrize("extractor", [*ATTRIBUTIONS, "random"])
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert"])
def test_every_attribution_explains_texts_and_pairs(systems, family, extractor):
    system = systems(family).with_extractor(extractor)
    assert system.name == f"{family} + {extractor}"
    for one in system.explain([SINGLE[0], PAIRS[1]], budget=30):
        assert set(one.probabilities) == set(LABELS) and one.label in LABELS
        assert any(word.score for word in one.words) and one.spans


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_explained_as_it_is_loaded(systems, family):
    system = systems(family)
    config = system.model.config
    assert (config.extractor, config.extractor_options) == ("integrated-gradients", {"steps": 20})
    assert system.labels == LABELS and not system.model.training
    assert system.explain("a good film").segments == ("a good film",)


@torch.no_grad()
def test_integrated_gradients_add_up_to_what_the_model_says(systems):
    system = systems("distilbert").with_extractor("integrated-gradients", steps=200)
    batch = batch_of(system, PAIRS[:2])
    full = Pass(system.model.task, batch)
    delta = system.model.extractor.convergence_delta(full, full.logits.argmax(-1))
    assert delta.abs().max() < 0.05


def test_a_long_text_is_cut_and_said_to_be(systems):
    explained = systems("roberta").explain("a good film " * 100)
    assert explained.truncated > 0


def test_a_long_text_is_read_whole_in_windows_if_asked(classifiers):
    system = unirex.load(classifiers("bert"))
    system.model.config.truncation = "windows"
    explained = system.explain(("a good film " * 50, "not bad"))
    assert explained.truncated == 0 and len(explained.words) == 152


@torch.no_grad()
def test_the_encoder_is_heard_as_it_speaks_inside_the_classifier(classifiers):
    system, (model, tokenizer) = unirex.load(classifiers("bert")), own(classifiers("bert"))
    for one in (model, system.model.task.classifier):
        one.set_attn_implementation("eager")
        one.config.output_attentions = True
    expected = model(**tokenizer(*PAIRS[0], return_tensors="pt")).attentions
    found = system.model.task.encoded(batch_of(system, PAIRS[:1])).attentions
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    scores = system.with_extractor("attention").model.step(batch_of(system, PAIRS[:1])).scores
    torch.testing.assert_close(scores, expected[-1].mean(1)[:, 0], rtol=1e-5, atol=1e-5)


def test_more_than_two_texts_are_refused(systems):
    with pytest.raises(UserError, match="one text or a pair"):
        systems("bert").explain(("a", "good", "film"))


def test_labels_can_be_named(classifiers):
    assert unirex.load(classifiers("bert"), labels=[0, 1, 2]).explain("good").label in (0, 1, 2)
    with pytest.raises(UserError, match=r"2 names, but .* has 3 classes: bad, fair, good"):
        unirex.load(classifiers("bert"), labels=["a", "b"])


def test_what_was_not_trained_is_not_saved(systems, tmp_path):
    with pytest.raises(UserError, match="nothing was trained"):
        systems("bert").save_pretrained(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"problem_type": "regression"}, "regression"),
        ({"num_labels": 1}, "regression"),
        ({"id2label": {0: "a", 1: "a"}}, "two classes have one name"),
    ],
)
def test_other_tasks_are_refused(tmp_path, changes, said):
    with pytest.raises(UserError, match=said):
        unirex.load(save_classifier(tmp_path, **changes))


GPT2 = {"vocab_size": 200, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "pad_token_id": 0}
XLNET = {"vocab_size": 200, "d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 48}
BART = {"vocab_size": 200, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (lambda: GPT2Config(**GPT2, bos_token_id=2, eos_token_id=3), "gpt2 reads from left to right"),
        (lambda: BartConfig(**BART, encoder_attention_heads=2, decoder_attention_heads=2), "has a decoder"),
        (lambda: XLNetConfig(**XLNET, pad_token_id=0), "other logits than by itself"),
        (lambda: FNetConfig(vocab_size=200, **SIZE, pad_token_id=0), "other logits than by itself"),
    ],
    ids=["gpt2", "bart", "xlnet", "fnet"],
)
def test_models_that_cannot_be_read_are_refused(tmp_path, config, said):
    with pytest.raises(UserError, match=said):
        unirex.load(save_classifier(tmp_path, config=config()))


def test_a_model_without_a_head_is_refused(tmp_path, encoders):
    with pytest.raises(UserError, match="BertModel has no classification head"):
        unirex.load(encoders("bert"))
    with pytest.raises(UserError, match="BertForMaskedLM has no classification head"):
        unirex.load(save_classifier(tmp_path, model=AutoModelForMaskedLM))
    change_config(tmp_path, architectures=["BertForSequenceClassification"])
    with pytest.raises(UserError, match="would be random"):
        unirex.load(tmp_path)


def test_a_folder_without_its_tokenizer_is_refused(tmp_path):
    save_classifier(tmp_path)
    for file in tmp_path.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(UserError, match="tokenizer"):
        unirex.load(tmp_path)


def test_weights_that_do_not_fit_or_are_damaged_are_refused(tmp_path):
    save_classifier(tmp_path)
    change_config(tmp_path, id2label={"0": "bad", "1": "good"}, label2id={"bad": 0, "good": 1})
    with pytest.raises(UserError, match=r"misshapen and would be random: 'classifier\.bias'"):
        unirex.load(tmp_path)
    weights = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(UserError, match="could not be loaded"):
        unirex.load(tmp_path)


def test_pickled_weights_are_never_loaded(tmp_path):
    save_classifier(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="pickled weights are never loaded"):
        unirex.load(tmp_path)


def change_config(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")


def rows(out):
    return [json.loads(line) for line in out.splitlines()]


def test_the_command_explains_with_a_named_model(classifiers, capsys):
    folder = classifiers("bert")
    two = succeeds(capsys, "explain", "--model", folder, "--extractor", "ig", "--json", "a good film", "dull")
    assert [one["segments"] for one in rows(two)] == [["a good film"], ["dull"]]
    assert rows(two)[0]["label"] in LABELS
    assert rows(succeeds(capsys, "explain", folder, "a good film", "dull", "--json")) == rows(two)
    pair = succeeds(capsys, "explain", "--model", folder, "--pair", "--json", "a good film", "dull")
    assert [one["segments"] for one in rows(pair)] == [["a good film", "dull"]]


def test_the_command_explains_files_of_pairs(classifiers, capsys, tmp_path):
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"premise": "a good film", "claim": "dull"}\n', "utf-8")
    columns = ("--columns.text", "premise,claim")
    out = succeeds(capsys, "explain", "--model", classifiers("roberta"), "--file", file, *columns, "--json")
    assert rows(out)[0]["segments"] == ["a good film", "dull"]


def test_the_command_says_what_is_wrong(classifiers, encoders, capsys, tmp_path):
    folder = classifiers("bert")
    assert "no such folder" in fails(capsys, "explain", "--model", tmp_path / "typo", "good")
    assert "no classification head" in fails(capsys, "explain", "--model", encoders("bert"), "good")
    assert "--model names the model already" in fails(capsys, "explain", folder, "good", "--model", folder)
    assert "needs a system or --model" in fails(capsys, "explain")
    three = ("--pair", "a good film", "dull", "not bad")
    assert "reads 2 texts at a time" in fails(capsys, "explain", "--model", folder, *three)
    assert "must be trained" in fails(capsys, "explain", "--model", folder, "--extractor", "dual-lm", "good")


@pytest.fixture
def rated(tmp_path):
    """A file of six rated texts, one of them with a gold rationale."""
    texts = [(text, LABELS[number % 3]) for number, text in enumerate(tiny.SENTENCES[:6])]
    made = [{"text": text, "label": label} for text, label in texts]
    made[0]["rationale"] = [[2, 10]]
    (tmp_path / "rated.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made), "utf-8")
    return tmp_path / "rated.jsonl"


def test_the_command_evaluates_and_leaves_the_model_alone(classifiers, rated, capsys, monkeypatch):
    folder = classifiers("bert")
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    monkeypatch.chdir(rated.parent)
    options = ("--data", rated, "--split", "all", "--extractor", "gradient", "--draws", "1")
    out = succeeds(capsys, "evaluate", "--model", folder, *options)
    assert "6 texts; records and metrics in runs/bert/evaluation/rated-all-gradient" in out
    metrics = json.loads((rated.parent / "runs/bert/evaluation/rated-all-gradient/metrics.json").read_text())
    assert "bert + gradient" in json.dumps(metrics)
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before


@pytest.mark.parametrize("split", ["all", "test"])
def test_labels_that_are_not_the_models_are_refused_with_both(classifiers, rated, capsys, split, tmp_path):
    other = rated.read_text("utf-8").replace('"fair"', '"so-so"')
    rated.write_text(other * 5, "utf-8")
    options = ("--data", rated, "--split", split, "--out", tmp_path / "out", "--draws", "0")
    said = fails(capsys, "evaluate", "--model", classifiers("bert"), *options)
    assert "'so-so'" in said and "'bad', 'fair', 'good'" in said and "--labels" in said
    named = ("--labels", '["bad", "so-so", "good"]', "--extractor", "gradient")
    succeeds(capsys, "evaluate", "--model", classifiers("bert"), *options, *named)
