"""A dataset in numbers: every number worked out by hand, and faults that only the whole shows."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.check import Repeats, count_repeats, faults, repeats
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.statistics import TokenCounter, count_tokens, gold_flags, statistics

INFO = DatasetInfo("films", ("neg", "pos"))
TRAIN = [
    Example("1", ("a fine film",), "pos", (((2, 6),),), groups=((((2, 6),),), ((),))),  # 1 of 3 words
    Example("2", ("dull dull dull dull",), "neg", (((0, 4), (5, 9)),)),  # 2 of 4
    Example("3", ("so so",), "neg", ((),)),  # 0 of 2: somebody looked and found nothing
    Example("4", ("nobody looked",), "neg"),
]
TEST = [Example("5", ("one two three four five six",), "pos")]
DATA = Splits(INFO, {"train": TRAIN, "dev": [], "test": TEST})


def letters(limit: int) -> TokenCounter:
    """A tokenizer whose tokens are pairs of letters, with a special token around and between texts."""

    def keep(counts, room):
        return [max(0, room)] if len(counts) == 1 else [min(counts[0], max(0, room - counts[1])), counts[1]]

    def cut(texts):
        return {text: [found.span() for found in re.finditer(r"\w\w?", text)] for text in texts}

    return TokenCounter(tokenize=cut, special=lambda texts: texts + 1, truncate=keep, limit=limit)


def one(text="a film", **changes):
    return Example(**{"id": "1", "segments": (text,), "label": "pos", **changes})


def test_the_numbers_of_a_split():
    split = statistics(DATA).splits["train"]
    assert split.examples == 4 and dict(split.labels) == {"neg": 3, "pos": 1}
    assert (split.words.mean, split.words.median, split.words.p95, split.words.max) == (11 / 4, 2.5, 4, 4)
    assert (split.gold.examples, split.gold.words, split.gold.of_words, split.gold.groups) == (3, 3, 9, 2)
    assert split.gold.density == 3 / 9
    assert math.isclose(split.gold.mean_density, (1 / 3 + 2 / 4 + 0) / 3)
    assert split.tokens is None and split.lost is None


def test_an_empty_split_is_left_out_and_one_without_gold_has_no_density():
    found = statistics(DATA)
    assert list(found.splits) == ["train", "test"] and list(found.across) == [("train", "test")]
    assert found.splits["test"].gold.density is None and found.splits["test"].gold.mean_density is None
    assert dict(found.splits["test"].labels) == {"neg": 0, "pos": 1}  # a class without examples is listed too


def test_tokens_and_what_is_cut_off():
    # "a fine film": a fi ne fi lm, gold fi ne; with two special tokens 7, of which 4 fit: a fi
    found, lost = count_tokens([TRAIN[0]], letters(limit=4))
    assert found.max == 7
    assert (lost.examples, lost.tokens, lost.of_tokens) == (1, 3, 5)
    assert (lost.gold_tokens, lost.of_gold_tokens) == (1, 2)
    assert count_tokens([TRAIN[0]], letters(limit=7))[1].examples == 0


def test_every_choice_is_a_sequence_of_its_own():
    question = Example(
        "q", ("who sat there",), "B", (((0, 3),),), choices=("cat", "a big dog"), groups=((((0, 3),),),)
    )
    info = DatasetInfo("quiz", ("A", "B"), "choice", markers=("Q:", "A:"))
    split = statistics(Splits(info, {"train": [question]}), letters(limit=100)).splits["train"]
    assert (split.words.mean, split.words.max) == (5, 6)  # 3 + 1 and 3 + 3; markers are not words of the data
    # wh o | sa t | th er e = 7, ca t = 2, a bi g do g = 5, Q and A 1 each, 3 special
    assert (split.tokens.mean, split.tokens.max) == ((7 + 2 + 2 + 3 + 7 + 5 + 2 + 3) / 2, 17)
    assert split.lost.of_gold_tokens == 4 and split.lost.of_tokens == 21  # in both sequences


def test_words_count_only_where_a_rationale_can_be():
    pair = Example("1", ("a long document", "short question"), "pos", (((2, 6),), ()))
    part = {"train": [pair]}
    everywhere = statistics(Splits(DatasetInfo("d", ("pos",), "segments"), part)).splits["train"]
    there = DatasetInfo("d", ("pos",), "segments", rationale_segments=(0,))
    assert everywhere.gold.density == 1 / 5
    assert statistics(Splits(there, part)).splits["train"].gold.density == 1 / 3
    assert everywhere.words.max == 5


@given(
    st.text("ab \u00a0\n", max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5),
)
def test_a_piece_is_gold_if_it_holds_a_marked_character_that_is_no_blank(text, spans):
    spans = [span for span in spans if span[0] < span[1] <= len(text)]
    marked = {at for start, end in spans for at in range(start, end) if not text[at].isspace()}
    pieces = [(start, min(start + 3, len(text))) for start in range(0, len(text), 3)]
    assert gold_flags(pieces, text, spans) == [bool(marked & set(range(*piece))) for piece in pieces]


def test_repeats_whatever_their_case_and_blanks():
    texts = ["A fine film", "a  FINE\nfilm ", "a fine film!", "a fine film"]
    labels = ["pos", "pos", "pos", "neg"]
    found = list(repeats([one(text, id=str(n), label=labels[n]) for n, text in enumerate(texts)]))
    assert [(example.id, before.id) for example, before in found] == [("1", "0"), ("3", "0")]
    assert count_repeats(found) == Repeats(same=1, conflicting=1)


def test_a_repeat_conflicts_if_any_earlier_one_is_labelled_otherwise():
    found = list(repeats([one(id="1"), one(id="2", label="neg"), one(id="3")]))
    assert count_repeats(found) == Repeats(conflicting=2) and found[1][1].id == "2"


def test_the_same_question_with_other_choices_is_no_repeat():
    assert not list(repeats([one(choices=("x", "y"), label="A"), one(choices=("x", "z"), label="A")]))
    pair, joined, choice = one(segments=("a", "b")), one("a b"), one("a", choices=("b",))
    assert not list(repeats([pair, joined, choice]))


def test_repeats_across_splits():
    parts = {"train": [one()], "dev": [one(id="2"), one(id="3", label="neg")], "test": [one("x")]}
    found = statistics(Splits(INFO, parts))
    assert found.splits["dev"].repeats == Repeats(conflicting=1)
    assert found.across == {
        ("train", "dev"): Repeats(same=1, conflicting=1),
        ("train", "test"): Repeats(),
        ("dev", "test"): Repeats(),
    }


def test_the_numbers_are_json_with_labels_of_their_own_type():
    data = Splits(DatasetInfo("d", (0, 1)), {"train": [one(label=1), one("x", id="2", label=0)]})
    plain = json.loads(json.dumps(statistics(data, letters(limit=9)).to_dict()))
    assert plain["splits"]["train"]["labels"] == [{"label": 0, "examples": 1}, {"label": 1, "examples": 1}]
    assert plain["max_length"] == 9 and plain["splits"]["train"]["tokens"]["max"] == 5
    assert plain["splits"]["train"]["gold"]["density"] is None


def fault(example, info=INFO):
    """The faults of an example beside a sound one."""
    sound = [Example("p", ("fine",), "pos"), Example("n", ("dull",), "neg")]
    return list(faults(Splits(info, {"train": [*sound, example]})))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rationale": (((0, 99),),)}, "span [0, 99] of segment 1 is outside its text of 6 characters"),
        ({"rationale": (((-1, 2),),)}, "outside"),
        ({"rationale": (((2, 2),),)}, "span [2, 2] of segment 1 is empty"),
        ({"rationale": (((1, 2),),)}, "marks nothing but blanks"),
        ({"rationale": (((0, 1),), ())}, "of 2 segments, but the example has 1"),
        ({"rationale": ((),), "groups": ((((0, 99),),),)}, "group 1 span [0, 99]"),
        ({"label": "meh"}, "label 'meh' is none of 'neg', 'pos'"),
        ({"segments": ("  ",)}, "there is no text in it"),
        ({"choices": ("x", "y"), "label": "C"}, "label 'C' is none of 'A', 'B'"),
        ({"id": "p"}, "duplicate id 'p'"),
    ],
)
def test_a_fault_is_reported_with_the_example_it_is_in(changes, says):
    (told,) = fault(one(**changes))
    assert says in told and told.startswith(("train, example '1': ", "train: "))


def test_marks_where_no_rationale_can_be():
    info = DatasetInfo("d", ("pos", "neg"), rationale_segments=(1,))
    (told,) = fault(one(rationale=(((0, 1),),)), info)
    assert "segment 1, which cannot carry one" in told


def test_faults_of_splits():
    assert not list(faults(Splits(INFO, {"train": TRAIN, "test": TEST})))
    told = list(faults(Splits(INFO, {"dev": [], "test": [one(label="pos")]})))
    assert told == ["there is no train split", "dev is empty"]
    parts = {"train": [one(id="1", label="pos")], "test": [one("x", id="2", label="neg")]}
    assert list(faults(Splits(INFO, parts))) == ["test, example '2': label 'neg' is not in train"]


def test_a_text_with_one_label_in_train_and_another_in_test():
    parts = {
        "train": [one(id="a"), one("x", id="b", label="neg")],
        "test": [one("A film", id="c", label="neg")],
    }
    (told,) = faults(Splits(INFO, parts))
    assert told == "test, example 'c': labelled 'neg', but the same text is 'pos' in train (example 'a')"
    parts["test"] = [one("A film", id="c")]
    assert not list(faults(Splits(INFO, parts)))  # the same label: counted by the statistics, no fault


def test_a_letter_that_train_never_shows_is_no_fault():
    asked = [one(f"question {n}", id=str(n), choices=("x", "y"), label=label) for n, label in enumerate("AB")]
    info = DatasetInfo("q", ("A", "B"), "choice")
    assert not list(faults(Splits(info, {"train": asked[:1], "test": asked[1:]})))
