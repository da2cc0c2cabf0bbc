"""Records become a submission of words that validates, scores what it should, and comes back as records."""

import json

import pytest
from hand_worked import annotation, evidence, write_data, write_lines

from unirex.data import load_dataset
from unirex.data.datasets import cose
from unirex.data.example import Example
from unirex.data.formats import eraser
from unirex.eraser import export, import_submission, read_gold, read_submission, score, validate
from unirex.eraser.words import eraser_words, segment_words
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored, Views

TEXT = "so unbelievably good\nsee it"  # so0 un-believ-ably1 good2 | see3 it4
TOKENS = ((0, 0, 2), (0, 3, 5), (0, 5, 11), (0, 11, 15), (0, 15, 20), (0, 21, 24), (0, 24, 27))  # with blanks
SCORES = (-1.0, 0.5, -0.25, 2.0, 3.0, -2.0, 0.25)


def record(name="a", **changes):
    given = {
        "id": name,
        "segments": (TEXT,),
        "label": "pos",
        "predicted": "pos",
        "labels": ("neg", "pos"),
        "probabilities": (0.25, 0.75),
        "sequences": (Scored(TOKENS, SCORES, (0, 0, 0, 1, 1, 0, 0), ((4,), (3, 4, 1))),),
        "budgets": (10.0, 50.0),
        "target": "pos",
        "views": (
            Views("attention_mask", ((0.5, 0.5), (1.0, 0.0)), ((0.125, 0.875), (0.25, 0.75))),
            Views("delete", ((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0), (0.0, 1.0))),
        ),
    }
    return Record(**{**given, **changes})


def exported(tmp_path, records, **settings):
    path = tmp_path / "submission.jsonl"
    made = export(records, path, **settings)
    return made, list(read_submission(path))


@pytest.mark.parametrize(
    ("word", "scores"),
    {
        "max": (-1.0, 2.0, 3.0, -2.0, 0.25),
        "mean": (-1.0, 0.75, 3.0, -2.0, 0.25),
        "first": (-1.0, 0.5, 3.0, -2.0, 0.25),
    }.items(),
)
def test_a_word_is_scored_by_its_tokens(tmp_path, word, scores):
    _, (one,) = exported(tmp_path, [record()], word=word)
    assert (one.rationales[0].docid, one.rationales[0].soft) == ("a", scores)


def test_hard_spans_are_the_runs_of_positive_words(tmp_path):
    _, (one,) = exported(tmp_path, [record()])
    assert one.rationales[0].hard == ((1, 3), (4, 5))


def test_hard_spans_may_be_those_of_a_budget_or_of_the_tool(tmp_path):
    _, (one,) = exported(tmp_path, [record()], hard=10)
    assert one.rationales[0].hard == ((2, 3),)
    sequence = Scored(TOKENS, (), None, (), chosen=(0, 1))
    _, (two,) = exported(tmp_path, [record(sequences=(sequence,), views=())])
    assert (two.rationales[0].hard, two.rationales[0].soft) == (((0, 2),), None)


def test_spans_may_end_with_their_sentences(tmp_path):
    every = Scored(TOKENS, (1.0,) * 7, None, ((4,), (4,)))
    _, (one,) = exported(tmp_path, [record(sequences=(every,))], budget=10)
    assert one.rationales[0].hard == ((0, 5),)
    _, (two,) = exported(tmp_path, [record(sequences=(every,))], budget=10, within_sentences=True)
    assert two.rationales[0].hard == ((0, 3), (3, 5))


def test_classes_and_what_becomes_of_them(tmp_path):
    made, (one,) = exported(tmp_path, [record()])
    assert made.budget == 10  # 2 of 7 tokens are marked: 29 %, nearer to 10 than to 50
    assert (one.classification, one.classification_scores) == ("pos", {"neg": 0.25, "pos": 0.75})
    assert (one.comprehensiveness, one.sufficiency) == (
        {"neg": 0.5, "pos": 0.5},
        {"neg": 0.125, "pos": 0.875},
    )
    assert [entry.threshold for entry in one.thresholded] == [0.1, 0.5]
    assert one.thresholded[1].comprehensiveness == {"neg": 1.0, "pos": 0.0}


def test_another_size_and_another_removal(tmp_path):
    _, (one,) = exported(tmp_path, [record()], budget=50, removal="delete")
    assert one.comprehensiveness == {"neg": 0.0, "pos": 1.0}
    with pytest.raises(UserError, match="no budget of 20 %; it has: 10, 50"):
        exported(tmp_path, [record()], budget=20)
    with pytest.raises(UserError, match="unknown removal 'pad'"):
        exported(tmp_path, [record()], removal="pad")


def test_the_thresholds_are_those_of_eraser(tmp_path):
    budgets = (1.0, 5.0, 10.0, 20.0, 50.0)
    views = Views("delete", ((0.5, 0.5),) * 5, ((0.5, 0.5),) * 5)
    _, (one,) = exported(tmp_path, [record(budgets=budgets, views=(views,))], budget=20)
    assert [entry.threshold for entry in one.thresholded] == [0.01, 0.05, 0.1, 0.2, 0.5]  # as floats


def test_words_that_were_not_read_are_the_least_important(tmp_path):
    cut = Scored(TOKENS[:5], SCORES[:5], None, ((4,), (3, 4)))
    made, (one,) = exported(tmp_path, [record(sequences=(cut,), truncated=2)], budget=10)
    assert one.rationales[0].soft == (-1.0, 2.0, 3.0, -1.0, -1.0) and made.truncated == 1
    positive = Scored(TOKENS[:5], (1.0, 2.0, 3.0, 4.0, 5.0), None, ((4,), (3, 4)))
    _, (two,) = exported(tmp_path, [record(sequences=(positive,))], budget=10)
    assert two.rationales[0].soft[3:] == (0.0, 0.0)


def test_the_data_goes_with_it(tmp_path):
    """Segments become documents of their own, and everything validates, scores, and is read again."""
    pair = record(
        "p",
        segments=(TEXT, "two  words here"),
        sequences=(Scored(((0, 0, 2), (1, 5, 10)), (1.0, -1.0), (1, 1), ((0,), (0, 1))),),
    )
    made, lines = exported(tmp_path, [record(), pair], with_data=True, budget=10)
    assert [path.name for path in made.files] == ["submission.jsonl", "docs.jsonl", "test.jsonl"]
    assert [[entry.docid for entry in one.rationales] for one in lines] == [["a"], ["p_0", "p_1"]]
    documents = [json.loads(one) for one in (tmp_path / "docs.jsonl").read_text().splitlines()]
    assert documents[0] == {"docid": "a", "document": "so unbelievably good\nsee it"}
    assert documents[2] == {"docid": "p_1", "document": "two words here"}
    gold = read_gold(tmp_path)
    assert validate(tmp_path / "submission.jsonl", gold, labels=["neg", "pos"]) == []
    assert gold.annotations["a"].tokens == (("a", 1, 3),)  # the word of a marked token is marked
    assert gold.annotations["a"].sentences == (("a", 0, 1),)
    assert gold.annotations["p"].tokens == (("p_0", 0, 1), ("p_1", 1, 2))
    found = score(tmp_path / "submission.jsonl", gold)
    assert found["token_prf"]["instance_micro"]["p"] == 3 / 4  # 2 of 3 in a, 1 of 1 in p
    write_lines(tmp_path / "train.jsonl", [annotation(name, name, ["a"]) for name in ("neg", "pos")])
    write_lines(tmp_path / "val.jsonl", [annotation("v", "neg", ["a"])])
    assert eraser.load(tmp_path)["test"][0].segments == (TEXT,)


def test_a_segment_that_carries_no_rationale_is_not_asked_about(tmp_path):
    asked = record(segments=(TEXT, "what is it ?"))
    _, (one,) = exported(tmp_path, [asked])
    assert [entry.docid for entry in one.rationales] == ["a_0"]


def test_records_are_read_twice_only_if_they_must(tmp_path):
    with pytest.raises(UserError, match="an iterator, which can be read only once; give a budget"):
        exported(tmp_path, iter([record()]))
    assert len(exported(tmp_path, iter([record()]), budget=10)[1]) == 1


def test_mistakes(tmp_path):
    with pytest.raises(UserError, match="two records have the id 'a'"):
        exported(tmp_path, [record(), record()])
    with pytest.raises(UserError, match="there are no records"):
        exported(tmp_path, [])
    with pytest.raises(UserError, match="unknown way to score words 'sum'"):
        exported(tmp_path, [record()], word="sum")
    with pytest.raises(UserError, match="record 'a' has no label"):
        exported(tmp_path, [record(label=None)], with_data=True)
    with pytest.raises(UserError, match="no rationale is marked"):
        exported(tmp_path, [record(sequences=(Scored(TOKENS, SCORES, None, ((4,), (4,))),))])
    assert not (tmp_path / "docs.jsonl").exists()


def test_documents_of_eraser_data_are_found(tmp_path):
    examples, gold = train_of(tmp_path)
    made, lines = exported(tmp_path, list(map(from_example, examples)), gold=gold, budget=10)
    assert {one.annotation_id: one.rationales[0].docid for one in lines} == {"a": "d1", "b": "d2", "c": "d3"}
    assert made.left_out == 0
    assert validate(tmp_path / "submission.jsonl", gold) == []


def train_of(tmp_path, **changes):
    """The examples and the gold of hand-worked data."""
    folder = write_data(tmp_path / "data", name="train", **changes)
    write_lines(folder / "val.jsonl", [annotation("v", "POS", ["d3"])])
    return load_dataset(folder, format="eraser")["train"], read_gold(folder, "train")


def from_example(example):
    """A record of a system that scores exactly what people marked."""
    tokens = [token for words in segment_words("x", example.segments) for token in words.tokens()]
    spans = example.rationale or ((),) * len(example.segments)
    gold = tuple(any(low < end and start < high for low, high in spans[at]) for at, start, end in tokens)
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=example.label,
        labels=("NEG", "POS"),
        probabilities=(float(example.label == "NEG"), float(example.label == "POS")),
        sequences=(Scored(tuple(tokens), tuple(1.0 if one else -1.0 for one in gold), gold, ()),),
        budgets=(),
        target=example.label,
    )


def test_gold_handed_in_is_perfect(tmp_path):
    examples, gold = train_of(tmp_path)
    exported(tmp_path, list(map(from_example, examples)), gold=gold)
    found = score(tmp_path / "submission.jsonl", gold)
    assert found["token_prf"]["instance_macro"] == {"p": 1, "r": 1, "f1": 1}
    assert found["iou_scores"][0]["macro"]["f1"] == found["rationale_prf"]["instance_micro"]["f1"] == 1
    assert found["token_soft_metrics"]["roc_auc_score"] == found["classification_scores"]["accuracy"] == 1


def test_documents_that_share_a_segment_and_queries(tmp_path):
    rows = [
        annotation("a", "POS", ["d1", "d2"], [evidence("d1", 3, 6), evidence("d2", 0, 1)]),
        {**annotation("b", "NEG", ["d3"], [evidence("d3", 0, 1)]), "query": "why ?"},
        annotation("c", "NEG", ["d3"], [evidence("d3", 0, 1)]),
    ]
    examples, gold = train_of(tmp_path, annotations=rows)
    found = eraser_words(gold, "a", examples[0].segments)
    assert [(one.docid, one.segment, len(one)) for one in found] == [("d1", 0, 6), ("d2", 0, 5)]
    made, _ = exported(tmp_path, list(map(from_example, examples)), gold=gold)
    assert made.left_out == 2  # "why ?" is no document
    assert score(tmp_path / "submission.jsonl", gold)["token_prf"]["instance_micro"]["f1"] == 1


def test_premise_and_hypothesis_are_known_without_evidence(tmp_path):
    rows = [annotation("s", "neutral", None, [evidence("s_hypothesis", 0, 1)])]
    texts = {"s_premise": "a b", "s_hypothesis": "a b"}  # even of the same words
    gold = read_gold(write_data(tmp_path / "data", annotations=rows, texts=texts))
    found = eraser_words(gold, "s", ("a b", "a b"))
    assert [(one.docid, one.segment) for one in found] == [("s_premise", 0), ("s_hypothesis", 1)]


def test_records_of_other_data_are_refused(tmp_path):
    gold = read_gold(write_data(tmp_path / "data"))
    with pytest.raises(UserError, match="no annotation 'q'; name the right folder and split"):
        exported(tmp_path, [record("q")], gold=gold, budget=10)
    with pytest.raises(UserError, match="no text of example 'a' is a document of its annotation"):
        exported(tmp_path, [record("a")], gold=gold, budget=10)


def test_of_choices_the_predicted_one_is_shown(tmp_path):
    scored = [Scored(((0, 0, 2),), (float(number),), (True,), ((0,),)) for number in (1, 2, 3)]
    one = record(
        segments=("so",), label="A", predicted="C", target="C", labels=("A", "B", "C"), budgets=(10.0,),
        probabilities=(0.0, 0.0, 1.0), sequences=tuple(scored), choices=("x", "y", "z"),
        views=(Views("delete", ((0.0, 0.0, 1.0),), ((0.0, 0.0, 1.0),)),),
    )  # fmt: skip
    _, (line,) = exported(tmp_path, [one], with_data=True)
    assert line.rationales[0].soft == (3.0,) and line.classification == "C"
    assert json.loads((tmp_path / "test.jsonl").read_text())["query"] == f"x{cose.BETWEEN}y{cose.BETWEEN}z"


def test_there_and_back(tmp_path):
    """What a submission can hold comes back as it was, at the level of words."""
    exported(tmp_path, [record()], with_data=True, budget=10)
    example = Example("a", (TEXT,), "pos", (((5, 20),),))
    (back,) = import_submission(tmp_path / "submission.jsonl", [example], ("neg", "pos"))
    assert (back.id, back.label, back.predicted, back.target) == ("a", "pos", "pos", "pos")
    assert (back.labels, back.probabilities) == (("neg", "pos"), (0.25, 0.75))
    (scored,) = back.sequences
    assert [TEXT[start:end] for _, start, end in scored.tokens] == TEXT.split()
    assert scored.scores == (-1.0, 2.0, 3.0, -2.0, 0.25)
    assert scored.chosen == (1, 2, 4)
    assert scored.gold == (False, True, True, False, False)
    assert (back.budgets, scored.selected) == ((10.0, 50.0), ((2,), (1, 2)))  # 5 words: 0.5 → 1, 2.5 → 2
    assert (back.views[0].removed, back.views[0].kept) == (record().views[0].removed, record().views[0].kept)


def test_a_submission_is_not_overwritten_by_its_data(tmp_path):
    with pytest.raises(UserError, match=r"test\.jsonl: its data is written under that name"):
        export([record()], tmp_path / "test.jsonl", with_data=True, budget=10)
    assert not list(tmp_path.iterdir())
