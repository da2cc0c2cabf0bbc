"""The dial, the blend and reasons for a label: in Python, in the pipeline and on the command line."""

import json

import pytest
import transformers

import unirex
from commands import fails, succeeds, write_rows
from planted import planted
from unirex.errors import UserError

TEXT = "the plot is good and people know what is bad"
TRAINING = {"epochs": 6, "learning_rate": 4e-3, "batch_size": 16, "patience": 6}


@pytest.fixture(scope="module")
def system(learner):
    settings = {"encoder": str(learner), "pooling": "mean", "training": TRAINING, "progress": False}
    return unirex.fit("slm-fpo", planted(), budgets_per_step=1, **settings)


@pytest.fixture(scope="module")
def saved(system, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dial") / "system"
    system.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    examples = planted()["test"][:12]
    made = [
        {"text": e.segments[0], "label": e.label, "rationale": [list(span) for span in e.rationale[0]]}
        for e in examples
    ]
    return write_rows(
        tmp_path_factory.mktemp("rows") / "rows.jsonl", [{**row, "split": "test"} for row in made]
    )


def scores(explanation):
    return [token.score for token in explanation.tokens]


def test_the_dial_changes_scores_and_neither_label_nor_system(system):
    before = system.explain(TEXT)
    person, model = (system.explain(TEXT, dial=dial) for dial in (0, 1))
    assert scores(person) != scores(model)
    assert person.probabilities == pytest.approx(model.probabilities)
    assert scores(system.explain(TEXT)) == scores(before)
    assert scores(system.explain(TEXT, dial=system.model.extractor.dial)) == scores(before)


def test_a_turned_dial_is_saved(system, tmp_path):
    turned = system.with_dial(0.9)
    turned.save_pretrained(tmp_path / "turned")
    loaded = unirex.load(tmp_path / "turned")
    assert loaded.model.extractor.dial == 0.9
    assert scores(loaded.explain(TEXT)) == scores(turned.explain(TEXT))


def test_reasons_for_and_against(system):
    for_, against = (system.explain(TEXT, target=label, budget=10) for label in ("pos", "neg"))
    assert (for_.target, against.target) == ("pos", "neg")
    assert for_.label == against.label == system.explain(TEXT).label
    assert system.explain(TEXT).target is None
    assert scores(for_) != scores(against)
    both = list(system.explain_all([TEXT, "good"], targets=["pos", "neg"]))
    assert [(e.text, e.target) for e in both] == [
        (text, label) for text in (TEXT, "good") for label in ("pos", "neg")
    ]


def test_a_label_that_does_not_exist_is_refused(system):
    with pytest.raises(UserError, match=r"unknown label 'poss'; did you mean 'pos'\?"):
        system.explain(TEXT, target="poss")


def test_scores_that_are_the_same_for_all_labels_are_not_sold_as_reasons_for_one(classifier):
    assert classifier.explain(TEXT, target="pos").target == "pos"  # integrated gradients
    with pytest.raises(UserError, match="the same for every label"):
        classifier.with_extractor("attention").explain(TEXT, target="pos")


def test_a_system_with_one_score_has_no_dial_but_can_be_blended(classifier, system, tmp_path):
    with pytest.raises(UserError, match="one score a token"):
        classifier.with_dial(0.5)
    with pytest.raises(UserError, match="no learnt scores"):
        classifier.with_blend(0.5)
    blended = system.with_blend(0.5, "ig", steps=3)
    assert scores(blended.explain(TEXT)) != scores(system.explain(TEXT))
    nothing, learnt = (
        one.explain(TEXT, budget=30, selector="best-span") for one in (system.with_blend(0.0), system)
    )
    assert [t.selected for t in nothing.tokens] == [t.selected for t in learnt.tokens]
    blended.save_pretrained(tmp_path / "blended")
    assert scores(unirex.load(tmp_path / "blended").explain(TEXT)) == scores(blended.explain(TEXT))


def test_the_pipeline_takes_the_same_options(saved):
    answer = transformers.pipeline("rationale-classification", model=str(saved))
    turned = [word["score"] for word in answer(TEXT, dial=1.0)["words"]]
    assert turned != [word["score"] for word in answer(TEXT, dial=0.0)["words"]]
    assert answer(TEXT, target="neg")["words"] != answer(TEXT, target="pos")["words"]
    with pytest.raises(TypeError, match="no option dail"):
        answer(TEXT, dail=1)


def test_explain_on_the_command_line(capsys, saved, classifier, tmp_path):
    out = succeeds(capsys, "explain", saved, TEXT, "--json", "--dial", "0.5", "--for", "all")
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["target"] for one in found] == ["neg", "pos"]
    out = succeeds(capsys, "explain", saved, "--contrast", "pos", "neg", TEXT, "--unit", "sentence", "--json")
    found = json.loads(out)
    assert (found["target"], found["contrast"], found["unit"]) == ("pos", "neg", "sentence")
    succeeds(capsys, "explain", saved, TEXT, "--blend", "0.5", "--extractor", "ixg")
    assert "dial 2.0" in fails(capsys, "explain", saved, TEXT, "--dial", "2")
    assert "leave out --extractor" in fails(
        capsys, "explain", saved, TEXT, "--dial", "1", "--extractor", "ig"
    )
    assert "unknown label" in fails(capsys, "explain", saved, TEXT, "--for", "good")
    both = succeeds(capsys, "explain", saved, TEXT, "--for", "pos", "neg", "--json").splitlines()
    assert [json.loads(line)["target"] for line in both] == ["pos", "neg"]
    tasks = fails(capsys, "explain", saved, TEXT, "--for", "all", "--label_studio", tmp_path / "t.json")
    assert "leave out --for" in tasks
    classifier.save_pretrained(tmp_path / "plain")
    assert "one score a token" in fails(capsys, "explain", tmp_path / "plain", TEXT, "--dial", "0")


def test_evaluate_draws_the_curve(capsys, saved, rows, tmp_path):
    folder = tmp_path / "curve"
    arguments = ("evaluate", saved, "--data", rows, "--draws", "0", "--out", folder)
    out = succeeds(capsys, *arguments, "--dial", "0", "0.5", "1")
    assert [line.split("  ")[0] for line in out.splitlines() if line.startswith("dial")] == [
        "dial 0", "dial 0.5", "dial 1"
    ]  # fmt: skip
    assert (folder / "dial.png").stat().st_size > 1000 and (folder / "dial.svg").exists()
    assert json.loads((folder / "dial-0.5" / "metrics.json").read_text())["settings"]["extractor_options"][
        "dial"
    ] == pytest.approx(0.5)
    assert "goes with one position" in fails(capsys, *arguments[:-2], "--dial", "0", "1", "--blend", "1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"extractor": "integrated-gradients"}, "ordering' teaches learnt scores"),
        ({"extractor": "blended", "objectives": {"ordering": {"weight": 0}}}, "for trained systems"),
        ({"objectives": {"ordering": {"weight": 0}}}, "learns from the objective 'ordering' alone"),
        ({"objectives": {"ordering": {"teacher": "gold"}}}, "objectives.ordering.teacher 'gold'"),
        ({"objectives": {"ordering": {"every": 0}}}, "at least 1"),
        ({"objectives": {"ordering": {"warmup": 2}}}, "share from 0 to 1"),
        ({"objectives": {"ordering": {"sharpness": 0}}}, "above 0"),
    ],
)
def test_what_could_not_be_learnt_is_refused(learner, settings, message):
    with pytest.raises(UserError, match=message):
        unirex.fit("slm-fpo", planted((4, 2, 2)), encoder=str(learner), progress=False, **settings)
