"""Every fault of a submission is named with its line, annotation, document and remedy.

One spoilt file for each. Many of these faults pass the official validator: docs/eraser.md lists them.
"""

import pytest
from hand_worked import ANNOTATIONS, annotation, classes, evidence, spans, submission, write_data, write_lines

from unirex.eraser import read_gold, read_submission, validate

COMP, SUFF = "comprehensiveness_classification_scores", "sufficiency_classification_scores"


def entry(rows, number=0):
    return rows[number]["rationales"][0]


def put(target, changes):
    """Change fields of an object; None takes one away."""
    target.update(changes)
    for name in [name for name, value in changes.items() if value is None]:
        del target[name]


def spoil(number=0, **changes):
    return lambda rows: put(rows[number], changes)


def spoil_entry(number=0, **changes):
    return lambda rows: put(entry(rows, number), changes)


def size(number, name, value):
    return lambda rows: put(rows[0]["thresholded_scores"][number], {name: value})


def hard(*pairs):
    return spoil_entry(hard_rationale_predictions=spans(*pairs))


def without(*names):
    """No line has these."""

    def change(rows):
        for row in rows:
            for name in names:
                row.pop(name, None)

    return change


def every(*changes):
    def spoilt(rows):
        for change in changes:
            change(rows)

    return spoilt


def repeat(rows):
    rows.append(rows[0])


def twice(rows):
    rows[0]["rationales"].append({**entry(rows), "hard_rationale_predictions": []})


def another_document_without(name):
    def change(rows):
        rows[0]["rationales"].append({key: value for key, value in entry(rows, 1).items() if key != name})

    return change


def new_threshold(rows):
    rows[1]["thresholded_scores"][0]["threshold"] = 0.2


def double_threshold(rows):
    for row in rows:
        row["thresholded_scores"].append(row["thresholded_scores"][0])


FAULTS = {  # the change, and a part of the message
    "duplicate annotation": (repeat, "4: annotation 'a': the annotation is there twice, first at"),
    "overlapping spans": (hard((0, 3), (2, 4)), "document 'd1': spans 0 to 3 and 2 to 4 overlap"),
    "a span inside another": (hard((0, 6), (2, 3)), "spans 0 to 6 and 2 to 3 overlap"),
    "start beyond the end": (hard((7, 8)), "span 7 to 8 ends beyond the document's 6 tokens"),
    "end beyond the end": (hard((5, 7)), "span 5 to 7 ends beyond the document's 6 tokens"),
    "too few soft scores": (
        spoil_entry(soft_rationale_predictions=[0.1]),
        "soft_rationale_predictions has 1 numbers; give one for each of the document's 6 tokens",
    ),
    "class is no text": (spoil(classification=1), "'classification' must be text, not 1"),
    "class is null": (spoil(classification=None), "classification_scores without classification"),
    "scores are no object": (spoil(classification_scores=[1]), "'classification_scores' must be an object"),
    "class without scores": (
        without("classification_scores", SUFF, "thresholded_scores"),
        "classification without classification_scores",
    ),
    "scores without class": (
        without("classification", COMP, "thresholded_scores"),
        "classification_scores without classification",
    ),
    "other thresholds": (new_threshold, "at 0.2, 0.5, on the first line at 0.1, 0.5; use the same"),
    "thresholds alone": (without(COMP), f"thresholded_scores without {COMP}; give these too"),
    "class on some lines": (
        spoil(
            1, **dict.fromkeys(["classification", "classification_scores", "thresholded_scores", COMP, SUFF])
        ),
        "2: classification is on 2 of 3 lines and not here, for the first time",
    ),
    "thresholds on some lines": (
        spoil(0, thresholded_scores=None),
        "1: thresholded_scores is on 2 of 3 lines",
    ),
    "unknown document": (
        spoil_entry(docid="d9"),
        "1: annotation 'a', document 'd9': the data has no document of this id",
    ),
    "no id": (spoil(annotation_id=None), "'annotation_id' is missing"),
    "no rationales": (spoil(rationales=None), "'rationales' is missing"),
    "no docid": (spoil_entry(docid=None), "'docid' is missing"),
    "no end of a span": (
        spoil_entry(hard_rationale_predictions=[{"start_token": 1}]),
        "document 'd1': 'end_token' is missing",
    ),
    "soft tokens are null": (
        lambda rows: entry(rows).update(soft_rationale_predictions=None),
        "'soft_rationale_predictions' is null; leave it out",
    ),
    "a blank line": (lambda rows: rows.insert(1, ""), "2: the line is blank"),
    "no JSON": (lambda rows: rows.insert(1, "{"), "2: not valid JSON"),
    "a list": (lambda rows: rows.insert(1, "[]"), "2: a line must be a JSON object"),
    "no lines": (lambda rows: rows.clear(), "there are no lines"),
    "the same span twice": (
        hard((1, 3), (1, 3)),
        "1: annotation 'a', document 'd1': span 1 to 3 is there twice",
    ),
    "negative tokens": (hard((-2, 3)), "span -2 to 3 begins before the document"),
    "an empty span": (hard((3, 3)), "span 3 to 3 is empty"),
    "a span that ends before it begins": (hard((4, 2)), "span 4 to 2 is empty"),
    "start at the end": (hard((6, 6)), "span 6 to 6 is empty"),
    "a document twice": (twice, "document 'd1': the document has 2 entries; merge them"),
    "unnormalised probabilities": (
        spoil(classification_scores={"POS": 0.9, "NEG": 0.9}),
        "classification_scores: the probabilities add up to 1.8",
    ),
    "no probabilities": (
        spoil(classification_scores={"POS": 2.5, "NEG": -1.5}),
        "are no probabilities; give numbers from 0 to 1",
    ),
    "an unknown class": (
        spoil(classification="MEH", classification_scores={"MEH": 1.0, "NEG": 0.0}),
        "classification 'MEH' is none of the classes: NEG, POS",
    ),
    "an unknown class among scores": (
        spoil(**{COMP: {"POS": 0.5, "NEG": 0.25, "MEH": 0.25}}),
        f"{COMP}: 'MEH' is none of the classes",
    ),
    "other classes without the rationale": (
        spoil(**{SUFF: {"POS": 1.0}}),
        f"{SUFF}: names other classes than classification_scores",
    ),
    "no score for the class": (
        spoil(classification_scores={"NEG": 1.0}),
        "classification_scores: the predicted class 'POS' has no probability",
    ),
    "unnormalised at a threshold": (
        size(0, COMP, {"POS": 0.5, "NEG": 0.1}),
        f"at threshold 0.1: {COMP}: the probabilities add up to 0.6",
    ),
    "a missing annotation": (lambda rows: rows.pop(), "annotation 'c': no line for this annotation"),
    "an annotation of other data": (spoil(annotation_id="q"), "annotation 'q': the data has no annotation"),
    "an empty soft list": (
        every(*(spoil_entry(number, soft_rationale_predictions=[]) for number in range(3))),
        "soft_rationale_predictions has no numbers; give one for each of the document's 6 tokens",
    ),
    "too many sentences": (
        spoil_entry(soft_sentence_predictions=[0.1, 0.2, 0.3]),
        "soft_sentence_predictions has 3 numbers; give one for each of the document's 2 sentences",
    ),
    "a threshold twice": (double_threshold, "thresholded_scores has 2 entries at 0.1; keep one"),
    "a threshold that is no share": (
        every(*(lambda rows, n=n: rows[n]["thresholded_scores"][0].update(threshold=10) for n in range(3))),
        "at threshold 10: a threshold is a share of the tokens",
    ),
    "flips on some lines": (spoil(2, tokens_to_flip=None), "3: tokens_to_flip is on 2 of 3 lines"),
    "more flips than tokens": (spoil(tokens_to_flip=7), "tokens_to_flip 7 is not from 0 to the 6 tokens"),
    "flips are text": (spoil(tokens_to_flip="3"), "'tokens_to_flip' must be a whole number"),
    "an unknown field": (spoil(classificatoin="POS"), "did you mean 'classification'"),
    "a fraction of a token": (hard((0.5, 2)), "'start_token' must be a whole number, not 0.5"),
    "true for a token": (hard((True, 2)), "'start_token' must be a whole number, not True"),
    "an infinite score": (
        spoil_entry(soft_rationale_predictions=[float("inf")] * 6),
        "must be a list of finite numbers",
    ),
    "soft sentences are null": (
        lambda rows: [entry(rows, number).update(soft_sentence_predictions=None) for number in range(3)],
        "'soft_sentence_predictions' is null; leave it out",
    ),
}
for name, other in ((COMP, SUFF), (SUFF, COMP)):
    alone = without("classification", "classification_scores", "thresholded_scores", other)
    some = every(without("thresholded_scores"), spoil(1, **{name: None}))
    FAULTS |= {
        f"{name} is no object": (spoil(**{name: 0.5}), f"'{name}' must be an object"),
        f"{name} at some thresholds": (size(1, name, None), f"at threshold 0.5: {name} is missing"),
        f"{name} without class": (alone, f"{name} without classification"),
        f"{name} on some lines": (some, f"2: {name} is on 2 of"),
    }
for name in ("hard_rationale_predictions", "soft_rationale_predictions", "soft_sentence_predictions"):
    FAULTS[f"{name} on some lines"] = (spoil_entry(1, **{name: None}), f"2: {name} is on 2 of 3 lines")
for name in ("soft_rationale_predictions", "soft_sentence_predictions"):
    message = f"{name} for 1 of 2 documents; give all of them or none"
    FAULTS[f"{name} for some documents"] = (another_document_without(name), message)


@pytest.fixture
def gold(tmp_path):
    return read_gold(write_data(tmp_path / "data"))


def written(tmp_path, change):
    rows = submission()
    change(rows)
    return write_lines(tmp_path / "submission.jsonl", rows)


def test_a_sound_submission_has_no_faults(tmp_path, gold):
    path = written(tmp_path, lambda rows: None)
    assert validate(path, gold) == validate(read_submission(path), gold) == []


@pytest.mark.parametrize("case", FAULTS)
def test_the_fault_is_named(tmp_path, gold, case):
    change, message = FAULTS[case]
    path = written(tmp_path, change)
    faults = [str(fault) for fault in validate(path, gold)]
    assert any(message in fault for fault in faults), faults
    assert all(fault.startswith(str(path)) for fault in faults)  # each has its place


def test_all_faults_are_told_not_only_the_first(tmp_path, gold):
    path = written(tmp_path, every(hard((4, 2), (0, 9)), spoil(2, tokens_to_flip=-1), repeat))
    assert [str(fault).removeprefix(f"{path}:").partition(";")[0] for fault in validate(path, gold)] == [
        "1: annotation 'a', document 'd1': span 4 to 2 is empty",
        "1: annotation 'a', document 'd1': span 0 to 9 ends beyond the document's 6 tokens",
        "3: annotation 'c': tokens_to_flip -1 is not from 0 to the 3 tokens there are",
        f"4: annotation 'a': the annotation is there twice, first at {path}:1",
        "4: annotation 'a', document 'd1': span 4 to 2 is empty",
        "4: annotation 'a', document 'd1': span 0 to 9 ends beyond the document's 6 tokens",
    ]


def test_other_classes_may_be_named(tmp_path, gold):
    change = every(*(spoil(n, classification_scores={**classes(0.6), "MEH": 0.0}) for n in range(3)))
    path = written(tmp_path, every(change, without(COMP, SUFF, "thresholded_scores")))
    assert "'MEH' is none of the classes" in str(validate(path, gold)[0])
    assert validate(path, gold, labels=["NEG", "POS", "MEH"]) == []


def test_documents_count_as_their_loader_counts(tmp_path):
    """In docs.jsonl a doubled space holds an empty token, in a file of docs/ it holds none."""
    rows = [annotation("a", "POS", ["d"], [evidence("d", 0, 1)])]
    together = read_gold(write_data(tmp_path / "one", annotations=rows, texts={"d": "so  good"}))
    apart = write_data(tmp_path / "two", annotations=rows, texts={})
    (apart / "docs.jsonl").unlink()
    (apart / "docs").mkdir()
    (apart / "docs" / "d").write_text("so  good\n")
    line = {"annotation_id": "a", "rationales": [{"docid": "d", "soft_rationale_predictions": [1, 2, 3]}]}
    path = write_lines(tmp_path / "s.jsonl", [line])
    assert validate(path, together) == []
    assert "each of the document's 2 tokens" in str(validate(path, read_gold(apart))[0])


def test_gold_is_of_one_split(tmp_path):
    folder = write_data(tmp_path / "data", name="val", annotations=ANNOTATIONS[:1])
    assert list(read_gold(folder, "dev").annotations) == ["a"]
    assert read_gold(folder, "val").labels == {"POS"}
