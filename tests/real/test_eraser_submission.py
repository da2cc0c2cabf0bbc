"""Gold handed in as a submission: sound, and as good as can be, on the published ERASER data."""

import os
from itertools import islice

import pytest

from unirex.data import load_dataset
from unirex.data.catalogue import DATASETS, find_folder
from unirex.data.rationales import words
from unirex.eraser import export, import_submission, read_gold, score, validate
from unirex.errors import UserError
from unirex.evaluation.records import Record, Scored

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(
        not os.environ.get("UNIREX_DATA"), reason="set UNIREX_DATA to the folder that holds the real datasets"
    ),
]


ALL = {"p": 1, "r": 1, "f1": 1}


def data_of(name, split):
    module = __import__(DATASETS[name], fromlist=["FOLDERS"])
    try:
        folder = find_folder(name, module.FOLDERS)
    except UserError as error:
        pytest.skip(str(error))
    return load_dataset(name), read_gold(folder, split)


def perfect(example, labels):
    """The record of a system that is right about everything."""
    tokens = [(at, *span) for at, text in enumerate(example.segments[:1]) for span in words(text)]
    spans = (example.rationale or ((),))[0]
    gold = tuple(any(low < end and start < high for low, high in spans) for _, start, end in tokens)
    scores = tuple(1.0 if one else -1.0 for one in gold)
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=example.label,
        labels=labels,
        probabilities=tuple(float(label == example.label) for label in labels),
        sequences=(Scored(tuple(tokens), scores, gold, ()),),
        budgets=(),
        target=example.label,
        choices=example.choices,
    )


@pytest.mark.parametrize("name", ["movies", "multirc", "cose"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_gold_is_a_perfect_submission(tmp_path, name, split):
    data, gold = data_of(name, split)
    path = tmp_path / "submission.jsonl"
    records = [perfect(one, data.info.labels) for one in data[split]]
    made = export(records, path, gold=gold, within_sentences=name == "multirc")
    assert (made.instances, made.left_out) == (len(data[split]), 0)
    assert validate(path, gold) == []
    found = score(path, gold)
    assert found["token_prf"]["instance_micro"] == found["token_prf"]["instance_macro"] == ALL
    assert set(found["token_soft_metrics"].values()) == {1.0}
    assert found["classification_scores"]["accuracy"] == 1
    (overlap,), exact = found["iou_scores"], found["rationale_prf"]
    if (name, split) == (
        "movies",
        "test",
    ):  # 20 pieces of its evidence have no tokens, and nobody can find them
        assert overlap["micro"]["p"] == exact["instance_micro"]["p"] == 1
        assert overlap["micro"]["r"] == exact["instance_micro"]["r"] == pytest.approx(0.9903, abs=1e-4)
    else:
        assert (
            overlap["micro"] == overlap["macro"] == exact["instance_micro"] == exact["instance_macro"] == ALL
        )


def test_a_submission_comes_back(tmp_path):
    data, gold = data_of("multirc", "dev")
    examples = list(islice(data["dev"], 200))
    records = [perfect(one, data.info.labels) for one in examples]
    export(records, tmp_path / "s.jsonl", gold=gold)
    for settings in ({"gold": gold}, {}):
        back = import_submission(tmp_path / "s.jsonl", examples, data.info.labels, **settings)
        for was, one in zip(records, back, strict=True):
            assert one.sequences[0].tokens == was.sequences[0].tokens
            assert (one.sequences[0].gold, one.predicted) == (was.sequences[0].gold, was.predicted)
