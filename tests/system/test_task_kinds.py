"""Pairs, choices and long documents: one method of each kind does choices and long texts, some the others."""

import csv
import json
import math
from dataclasses import replace

import pytest
import torch
import transformers

import tiny
import unirex
from commands import fails, succeeds, write_rows
from planted import planted_choices, planted_long, planted_segments
from unirex.cli import main
from unirex.data.example import Example, choice_label
from unirex.errors import UserError
from unirex.evaluation.record_files import read_records
from unirex.evaluation.summary import Summary
from unirex.methods import method_names, method_settings

QUICK = {"epochs": 1, "learning_rate": 4e-3, "batch_size": 4}
LEARNING = {"learning_rate": 4e-3, "batch_size": 16, "patience": 20}
KINDS = {
    "pair": (planted_segments(2, (10, 4, 6)), {}),
    "three": (planted_segments(3, (10, 4, 6)), {}),
    "choice": (planted_choices((10, 4, 6)), {}),
    "long": (planted_long((6, 3, 4)), {"max_length": 40, "truncation": "windows"}),
}
STEPS = {"steps": 3}  # of integrated gradients, to be quick
ALL_LAYERS = {"slm-fpo": {"extractor_options": {"layers": 2}}}  # of the learner
VARIANTS = {
    "sgt:original": ("sgt", {"sgt": {"variant": "original"}}),
    "l2e:label": ("l2e", {"extractor_options": {"label": True}, "l2e": {"teacher_options": STEPS}}),
    "fresh:best-span": ("fresh", {"rationale_selector": "best-span", "fresh": {"saliency_options": STEPS}}),
    "a2r:unirex": ("a2r", {"a2r": {"variant": "unirex"}}),
    "aa-f:gold": ("aa-f", {"extractor": "gold"}),
    "aa-fp:mlp": ("aa-fp", {"extractor_options": {"pooling": "mlp-8-1", **STEPS}}),
    "aa-fp:first-order": ("aa-fp", {"extractor_options": {"create_graph": False, **STEPS}}),
    "slm-fp:straight_through": ("slm-fp", {"selector": "straight_through"}),
    "dlm-fp:gumbel": ("dlm-fp", {"selector": "gumbel"}),
}
ONE_OF_EACH = ("aa-fp", "sgt-p", "l2e", "fresh-p", "a2r-p", "hard-kuma", "dlm-fp", "slm-fpo")
# Fewer terms in the loss than another has, or one head more.
LESS_OF_ANOTHER = ("aa-f", "sgt", "dlm-p", "slm-p", "slm-fp", "a2r", "dlm-fpo")
METHODS = pytest.mark.parametrize(
    ("kind", "method"),
    # Several sequences a text: the hardest kind.
    [("choice", method) for method in method_names() if method not in LESS_OF_ANOTHER]
    + [("long", method) for method in ONE_OF_EACH]
    + [("pair", method) for method in ("sgt-p", "l2e", "fresh-p", "slm-fpo")]
    + [("three", method) for method in ("aa-fp", "a2r")]
    + [("choice", variant) for variant in VARIANTS],
)


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def fit(learner, data, method="slm-fp", training=QUICK, **settings):
    return unirex.fit(
        method, data, encoder=str(learner), pooling="mean", training=training, progress=False, **settings
    )


@pytest.fixture(scope="module")
def fitted(learner):
    """`fitted(kind, method)` is a system trained a little on data of that kind, made once; or a variant."""
    made = {}

    def build(kind: str, method: str = "slm-fp"):
        if (kind, method) not in made:
            data, settings = KINDS[kind]
            made[kind, method] = fit(learner, data, **settings | settings_of(method))
        return made[kind, method]

    return build


def settings_of(name):
    """A method, or a variant of one, as `fit` takes it."""
    method, settings = VARIANTS.get(name, (name, ALL_LAYERS.get(name, {})))
    if name == method and method_settings(method)["extractor"] == "integrated-gradients":
        settings = {"extractor_options": STEPS}
    return {"method": method, **settings}


def test_the_corpora_are_of_the_kinds_they_are_for(learner):
    choices = {len(one.choices) for part in KINDS["choice"][0].values() for one in part}
    assert len(choices) > 1, "a varying number of choices"
    lengths = [len(one.text.split()) for part in KINDS["long"][0].values() for one in part]
    positions = transformers.AutoConfig.from_pretrained(learner).max_position_embeddings
    assert max(lengths) > positions, "longer than the encoder can take in any way but in windows"


@METHODS
def test_it_measures_and_explains(fitted, kind, method, tmp_path):
    """All in one test, so that no two workers train the same system."""
    data, _ = KINDS[kind]
    system = fitted(kind, method)
    results = unirex.evaluate(system, data["test"], draws=2)
    check_results(results, system, data, tmp_path)
    explained = system.explain(list(data["test"]))
    for example, told in zip(data["test"], explained, strict=True):
        check_explanation(told, example, rationale_segments=data.info.rationale_segments)
    check_alone(system, data["test"][:3], explained[:3], results.records[:3])


def check_results(results, system, data, folder):
    """Every metric is a number, and records come back from their files."""
    assert "accuracy" in results.metrics
    for row in results.rows.values():
        assert {"comprehensiveness", "sufficiency", "csd", "auprc", "token_f1"} < row.keys()
        assert all(math.isfinite(value) for value in row.values())
    results.save(folder)
    for ending in ("jsonl", "parquet"):
        read = tuple(read_records(folder / f"records.{ending}"))
        assert read == results.records
        assert Summary.of("ours", read, system.labels).metrics == results.metrics
    for record, example in zip(results.records, data["test"], strict=True):
        check_record(record, example)


def check_record(record, example):
    """A record is of its example, with a sequence for each choice."""
    assert (record.id, record.segments, record.choices) == (example.id, example.segments, example.choices)
    assert sum(record.probabilities) == pytest.approx(1, abs=1e-5) and record.truncated == 0
    assert len(record.sequences) == len(example.choices or ("only one",))
    assert all(0 <= p <= 1 for p in (*record.removed, *record.kept))
    for number, one in enumerate(record.sequences):
        texts = (*example.segments, *(example.choices or ())[number : number + 1])
        words = [texts[segment][start:end] for segment, start, end in one.tokens]
        carried = example.segments if example.choices else texts
        assert words == " ".join(carried).split(), "every word of the texts, and nothing else"
        gold = [span for span, flag in zip(one.tokens, one.gold, strict=True) if flag]
        assert [texts[segment][start:end] for segment, start, end in gold] == gold_words(example)


def gold_words(example):
    marked = zip(example.segments, example.rationale, strict=True)
    return " ".join(text[start:end] for text, spans in marked for start, end in spans).split()


def check_explanation(told, example, *, rationale_segments=None):
    """Offsets are those of the original texts, and the answer is one that could be given."""
    for part in (*told.spans, *told.words, *told.tokens, *told.gold_spans):
        assert told.segments[part.segment][part.start : part.end] == part.text != ""
    assert [word.text for word in told.words] == " ".join(told.segments).split()
    assert told.truncated == 0 and [token.text for token in told.tokens] == [w.text for w in told.words]
    assert " ".join(span.text for span in told.gold_spans).split() == gold_words(example)
    chosen = {token.segment for token in told.tokens if token.selected}
    assert chosen or told.unfilled
    assert rationale_segments is None or chosen <= set(rationale_segments)
    assert chosen == {span.segment for span in told.spans}
    assert sum(told.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert told.probabilities[told.label] == max(told.probabilities.values())
    assert (told.gold_label, told.choices) == (example.label, example.choices)
    if example.choices is None:
        assert told.segments == example.segments and set(told.probabilities) == {"neg", "pos"}
    else:
        letters = [choice_label(number) for number in range(len(example.choices))]
        assert list(told.probabilities) == letters
        assert told.segments == (*example.segments, example.choices[letters.index(told.label)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_system_explains_as_before(fitted, kind, tmp_path):
    """Every method: `test_methods`."""
    system, texts = fitted(kind), list(KINDS[kind][0]["test"])
    system.save_pretrained(tmp_path / "saved")
    assert unirex.load(tmp_path / "saved").explain(texts) == system.explain(texts)


def check_alone(system, texts, explained, records):
    """An answer does not depend on the others of its batch."""
    for one, among_others in zip(map(system.explain, texts), explained, strict=True):
        assert one.probabilities == pytest.approx(among_others.probabilities, abs=1e-5)
        if one.label != among_others.label:  # only of two that are as good as equal
            assert one.probabilities[among_others.label] == pytest.approx(
                one.probabilities[one.label], abs=1e-5
            )
            continue
        assert one.segments == among_others.segments
        tiny.assert_same_choice(
            *([(token.score, token.selected) for token in told.tokens] for told in (one, among_others))
        )
    alone = unirex.evaluate(system, texts, batch_size=1, draws=0)
    for one, other in zip(alone.records, records, strict=True):
        assert one.removed == pytest.approx(other.removed, abs=1e-5)
        assert one.kept == pytest.approx(other.kept, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extractor", ["deeplift", "input-x-gradient", "gradient", "random", "gold"])
def test_another_extractor_explains_every_kind(fitted, kind, extractor):
    data, _ = KINDS[kind]
    system = fitted(kind).with_extractor(extractor)
    for example, told in zip(data["test"], system.explain(list(data["test"])), strict=True):
        check_explanation(told, example, rationale_segments=data.info.rationale_segments)
    metrics = unirex.evaluate(system, data["test"], draws=0).metrics
    assert all(math.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize(
    ("data", "chance", "training", "settings"),
    [
        (planted_segments(2, (96, 24, 32)), 0.5, {"epochs": 10}, {"budgets_per_step": 1}),
        (planted_choices((96, 24, 32)), 0.33, {"epochs": 4}, {"budgets_per_step": 1}),
        (
            planted_long(),
            0.5,
            {"epochs": 6, "batch_size": 8},
            {"budgets_per_step": 1, "max_length": 60, "truncation": "windows"},
        ),
    ],
    ids=["pair", "choices", "long"],
)
def test_what_was_planted_is_learned(learner, data, chance, training, settings):
    system = fit(learner, data, training=LEARNING | training, **settings)
    results = unirex.evaluate(system, data["test"])
    assert results.metrics["accuracy"] >= chance + 0.3
    assert results.metrics["auprc"] >= results.rows["slm-fp: random scores"]["auprc"] + 0.3


def test_a_window_too_far_from_the_beginning_is_read_as_well(learner, fitted):
    """What decides stands behind all that fits at once: whoever reads only the head cannot know."""
    text = "the film is a plot " * 30
    system = fitted("long")
    plain, with_end = system.explain(text), system.explain(text + "bad dull worse")
    assert with_end.probabilities != plain.probabilities
    assert with_end.truncated == 0 and with_end.tokens[-1].text == "worse"
    assert fitted("pair").explain((text, "the film")).truncated > 0, "elsewhere it would have been cut"


def lengthened(data):
    """The same examples with a long first text."""
    parts = {
        split: tuple(
            replace(one, segments=(one.segments[0] + " the film is" * 40, *one.segments[1:])) for one in part
        )
        for split, part in data.items()
    }
    return replace(data, parts=parts)


@pytest.mark.parametrize("method", ["slm-fp", "dlm-p", "aa-fp"])
@pytest.mark.parametrize("data", [planted_segments(3, (4, 2, 3)), planted_choices((4, 2, 3))])
def test_long_texts_beside_short_ones_and_with_choices(learner, data, method):
    data = lengthened(data)
    steps = {"extractor_options": {"steps": 3}} if method == "aa-fp" else {}
    system = fit(learner, data, method, max_length=40, truncation="windows", **steps)
    told = system.explain(list(data["test"]))
    for example, one in zip(data["test"], told, strict=True):
        check_explanation(one, example, rationale_segments=data.info.rationale_segments)
        alone = system.explain(example)
        assert [t.score for t in one.tokens] == pytest.approx([t.score for t in alone.tokens], abs=1e-5)
    for record, example in zip(unirex.evaluate(system, data["test"]).records, data["test"], strict=True):
        check_record(record, example)


def test_only_rationale_segments_are_selected_and_removed(learner):
    data = planted_segments(2, (12, 4, 6), rationale_segments=(1,))
    system = fit(learner, data)
    for told in system.explain(list(data["test"]), budget=100):
        assert {(token.segment, token.selected) for token in told.tokens} == {(0, False), (1, True)}
    results = unirex.evaluate(system, data["test"], budgets=[100], draws=0)
    for record, example in zip(results.records, data["test"], strict=True):
        assert {segment for segment, _, _ in record.sequences[0].tokens} == {1}
        assert record.kept == pytest.approx((record.full,), abs=1e-5)
        number = system.labels.index(record.predicted)
        assert record.removed == pytest.approx((without_second(system, example)[number],), abs=1e-5)


@torch.no_grad()
def without_second(system, example):
    """What is predicted of the first text beside an empty one."""
    marks = system.tokenizer
    inside = marks(example.segments[0], add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[marks.cls_token_id, *inside, marks.sep_token_id, marks.sep_token_id]])
    states = system.model.task.encoder(input_ids=ids).last_hidden_state
    return system.model.task.head(states.mean(1)).softmax(-1)[0].tolist()


def test_a_setting_chooses_other_rationale_segments(learner):
    data = planted_segments(3, (8, 4, 4), rationale_segments=(1,))
    system = fit(learner, data, rationale_segments=(0, 2))
    chosen = {t.segment for told in system.explain(list(data["test"]), budget=100) for t in told.spans}
    assert chosen == {0, 2}


@pytest.mark.parametrize("segments", [(7,), (-1,), ()])
def test_rationale_segments_that_are_not_there_are_refused(learner, segments):
    with pytest.raises(UserError, match="rationale_segments"):
        fit(learner, KINDS["pair"][0], rationale_segments=segments)


def test_losses_are_means_over_examples_however_many_choices_they_have(learner, tmp_path):
    data = planted_choices((9, 2, 2))
    still = QUICK | {"batch_size": 2, "learning_rate": 1e-12, "dropout": False}
    system = unirex.fit(
        "vanilla", data, encoder=str(learner), training=still, progress=False, out=tmp_path / "run"
    )
    records = unirex.evaluate(system, data["train"], draws=0).records
    losses = [-math.log(record.probabilities[ord(record.label) - ord("A")]) for record in records]
    row = next(csv.DictReader((tmp_path / "run/metrics.csv").open()))
    assert float(row["loss/task"]) == pytest.approx(sum(losses) / len(losses), abs=1e-4)


def test_the_label_is_the_choice_that_is_shown_even_if_all_are_alike(learner):
    system = fit(learner, KINDS["choice"][0])
    with torch.no_grad():  # logits that differ by less than probabilities can tell
        system.model.task.head.weight.mul_(1e-9)
        system.model.task.head.bias.zero_()
    examples = KINDS["choice"][0]["test"]
    records = unirex.evaluate(system, examples, draws=0).records
    for example, told, record in zip(examples, system.explain(list(examples)), records, strict=True):
        check_explanation(told, example)
        assert record.predicted == told.label


def test_more_choices_than_in_training_can_be_asked_about(fitted):
    choices = ("a bad film", "it is bad", "a dull plot", "good", "worse", "the dull audience", "bad")
    question = Example("q", ("what is it",), "D", (((0, 4),),), choices)
    told = fitted("choice").explain(question)
    assert list(told.probabilities) == list("ABCDEFG")
    metrics = unirex.evaluate(fitted("choice"), [question, *KINDS["choice"][0]["test"]]).metrics
    assert all(math.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize(
    ("kind", "asked", "said"),
    [
        ("pair", "a film", "this system reads 2 texts at a time"),
        ("pair", ("a", "b", "c"), "has 3 texts; this system reads 2"),
        ("pair", ("", " "), "nothing to classify"),
        (
            "pair",
            {"text": "a", "text_pair": "b", "choices": ["a", "b"]},
            "choices, which this system does not",
        ),
        ("pair", {"txt": "a", "text_pair": "b"}, "text_pair"),
        ("choice", "what is it", "needs choices"),
        ("choice", {"text": "what", "choices": ["a", 3]}, "a string"),
        ("choice", {"text": "what", "choices": "a film"}, "choices"),
        ("choice", {"text": "what", "choices": []}, "choices"),
        ("choice", {"text": "what", "choices": ["one"]}, "choices"),
        ("choice", {"text": "what", "choices": ["a", " "]}, "choice|empty"),
        ("long", ("a film", "b"), "has 2 texts; this system reads one text"),
    ],
)
def test_what_a_system_cannot_read_is_said(fitted, kind, asked, said):
    with pytest.raises(UserError, match=said):
        fitted(kind).explain(asked)


def test_one_of_two_texts_may_be_blank(fitted):
    told = fitted("pair").explain(("a good film", " "))
    assert told.segments == ("a good film", " ") and [word.text for word in told.words] == [
        "a",
        "good",
        "film",
    ]


PAIR = {"text": "a good film", "text_pair": "it is\tlong"}
QUIZ = {"text": "what do people like", "choices": ["a dull plot", "fun", "bad"]}


@pytest.mark.parametrize(("kind", "asked"), [("pair", PAIR), ("choice", QUIZ)])
def test_the_pipeline_reads_pairs_and_choices(fitted, kind, asked, tmp_path):
    fitted(kind).save_pretrained(tmp_path / "saved")
    classify = transformers.pipeline("rationale-classification", model=str(tmp_path / "saved"))
    answer = classify(asked, budget=30)
    told = fitted(kind).explain(asked, budget=30)
    assert (answer["label"], answer["probabilities"]) == (told.label, told.probabilities)
    assert [part["text"] for part in answer["rationale"]] == [span.text for span in told.spans]
    assert {part["segment"] for part in answer["words"]} == {0, 1}
    assert list(classify(iter([asked]), budget=30)) == [answer]
    for one in classify([asked, asked], budget=30):  # together: up to rounding
        assert one["label"] == answer["label"]
        tiny.assert_same_choice(
            *([(word["score"], word["selected"]) for word in told["words"]] for told in (one, answer))
        )


# The same from the command line, with files as people have them.

NLI = ["--columns.text", "premise,hypothesis"]


def nli_row(split, example):
    named = dict(zip(("premise", "hypothesis"), example.segments, strict=True))
    return named | {"label": example.label, "rationale": example.rationale, "split": split}


def quiz_row(split, example):
    return {
        "text": example.text,
        "choices": example.choices,
        "label": example.label,
        "rationale": example.rationale[0],
        "split": split,
    }


@pytest.fixture(scope="module")
def runs(learner, tmp_path_factory):
    """A file and a run made by the command line, of pairs and of choices."""
    folder, made = tmp_path_factory.mktemp("kinds"), {}
    for kind, row, options in (("pair", nli_row, NLI), ("choice", quiz_row, [])):
        rows = [row(split, example) for split, part in KINDS[kind][0].items() for example in part]
        data, out = write_rows(folder / f"{kind}.jsonl", rows), folder / kind
        command = ["train", "--data", data, *options, "--encoder", learner, "--pooling", "mean", "--out", out]
        command += ["--training.epochs", 1, "--training.batch_size", 4]
        assert main([str(one) for one in command]) == 0
        made[kind] = data, out
    return made


@pytest.mark.parametrize(("kind", "options"), [("pair", NLI), ("choice", [])])
def test_train_and_evaluate_files(runs, capsys, kind, options):
    data, out = runs[kind]
    saved = unirex.load(out).model.config.built_layout()
    assert (saved.segments, saved.choice) == ((2, False) if kind == "pair" else (1, True))
    assert "random scores" in succeeds(capsys, "evaluate", out, "--data", data, *options)
    records = read_records(out / f"evaluation/{kind}-test/records.jsonl")
    assert [record.segments for record in records] == [one.segments for one in KINDS[kind][0]["test"]]


def test_explain_texts_of_the_command_line(runs, capsys):
    _, out = runs["pair"]
    lines = succeeds(capsys, "explain", out, "a good film", "it is", "the plot", "bad", "--json").splitlines()
    assert [json.loads(line)["segments"] for line in lines] == [["a good film", "it is"], ["the plot", "bad"]]
    _, out = runs["choice"]
    options = ["--choices", json.dumps(QUIZ["choices"]), "--json"]
    lines = succeeds(capsys, "explain", out, "what do people like", "what is fun", *options).splitlines()
    assert len(lines) == 2
    for line in lines:
        told = json.loads(line)
        assert told["choices"] == QUIZ["choices"] and told["segments"][1] in QUIZ["choices"]
        assert told["label"] == "ABC"[QUIZ["choices"].index(told["segments"][1])]
        assert [one["label"] for one in told["probabilities"]] == ["A", "B", "C"]


@pytest.mark.parametrize("kind", ["pair", "choice"])
def test_explanations_in_the_terminal_show_all_texts(runs, capsys, kind):
    data, out = runs[kind]
    options = NLI if kind == "pair" else []
    shown = succeeds(capsys, "explain", out, "--data", data, *options, "--number", 1).split()
    example = KINDS[kind][0]["test"][0]
    assert set(example.text.split()) <= set(shown)


@pytest.mark.parametrize(("kind", "options"), [("pair", NLI), ("choice", [])])
def test_explain_a_file_and_a_dataset(runs, capsys, kind, options, tmp_path):
    data, out = runs[kind]
    succeeds(
        capsys, "explain", out, "--data", data, *options, "--split", "dev", "--out", tmp_path / "dev.jsonl"
    )
    dev = [json.loads(line) for line in (tmp_path / "dev.jsonl").read_text("utf-8").splitlines()]
    assert [one["gold_label"] for one in dev] == [one.label for one in KINDS[kind][0]["dev"]]
    bare = [
        {key: cell for key, cell in json.loads(line).items() if key not in ("label", "rationale", "split")}
        for line in data.read_text("utf-8").splitlines()
    ]
    file = write_rows(tmp_path / "bare.jsonl", bare)
    succeeds(capsys, "explain", out, "--file", file, *options, "--out", tmp_path / "told.jsonl")
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text("utf-8").splitlines()]
    examples = [one for part in KINDS[kind][0].values() for one in part]
    assert [tuple(one["segments"][: len(examples[0].segments)]) for one in told] == [
        one.segments for one in examples
    ]
    assert all(one["gold_label"] is None for one in told)
    by_text = {tuple(one["segments"]): one["words"] for one in told}
    for one in dev:
        both = one["words"], by_text[tuple(one["segments"])]
        tiny.assert_same_choice(*([(word["score"], word["selected"]) for word in words] for words in both))


def test_wrong_numbers_of_texts_are_one_line(runs, capsys, tmp_path):
    (_, pairs), (quiz, choices) = runs["pair"], runs["choice"]
    assert "reads 2 texts at a time, but there are 3" in fails(capsys, "explain", pairs, "a", "b", "c")
    assert "needs choices" in fails(capsys, "explain", choices, "what is it")
    asked = ["--choices", '["a", "b"]']
    assert "does not read" in fails(capsys, "explain", pairs, "a", "b", *asked)
    assert "--choices are for texts" in fails(capsys, "explain", choices, "--file", quiz, *asked)
    for bad in ("[]", '["a"]', '["a", ""]'):
        assert "choice" in fails(capsys, "explain", choices, "what is it", "--choices", bad)
    (tmp_path / "lines.txt").write_text("a film\na plot\n")
    assert "reads 2 texts" in fails(capsys, "explain", pairs, "--file", tmp_path / "lines.txt")
    assert "needs choices" in fails(capsys, "explain", choices, "--file", tmp_path / "lines.txt")
    assert "needs choices" in fails(capsys, "evaluate", choices, "--data", runs["pair"][0], *NLI)
    usual = ["--columns", "{}"]  # not those of the training
    assert "has choices" in fails(capsys, "evaluate", pairs, "--data", quiz, *usual)
    assert "unknown column 'text'" in fails(capsys, "evaluate", pairs, "--data", runs["pair"][0], *usual)


@pytest.mark.parametrize("kind", ["pair", "choice"])
def test_pages_show_texts_and_never_run_them(runs, capsys, tmp_path, kind):
    _, out = runs[kind]
    nasty = "<script>alert(1)</script> & <b>good</b>"
    more = [nasty] if kind == "pair" else ["--choices", json.dumps([nasty, '"><img src=x>', "fun"])]
    succeeds(capsys, "explain", out, f"a film {nasty}", *more, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>" not in page and "<b>good" not in page and "<img" not in page
    assert "&lt;" in page and "alert" in page
    if kind == "choice":
        assert "A · &lt;script&gt;" in page and "C · fun" in page
