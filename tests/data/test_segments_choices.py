"""Rows with several texts, or with choices, mean what their columns say in every kind of file."""

from dataclasses import replace

import pytest
from data_files import write_rows as write

from unirex.data import load_dataset
from unirex.data.formats.table import Columns, read_inputs, read_records, resolve_choice
from unirex.data.validate import collecting
from unirex.errors import UserError

NLI = Columns(text="premise,hypothesis")
QUIZ = {"text": "Where do fish live?", "choices": ["in water", "in trees", "in books"]}


def pair(n=0, **more):
    return {"premise": f"a dog {n}", "hypothesis": f"an animal {n}", "label": ["yes", "no"][n % 2], **more}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("marks", [{"premise": [[2, 5]], "hypothesis": [[0, 2]]}, [[[2, 5]], [[0, 2]]]])
def test_segments_in_the_order_asked_for(tmp_path, suffix, marks):
    path = write(tmp_path / f"nli{suffix}", [pair(rationale=marks)])
    (record,) = read_records(path, columns=NLI)
    assert record.example.segments == ("a dog 0", "an animal 0")
    assert record.example.rationale == (((2, 5),), ((0, 2),))


def test_segments_may_be_asked_for_the_other_way_round(tmp_path):
    path = write(tmp_path / "nli.jsonl", [pair(rationale={"premise": [1]})])
    (record,) = read_records(path, columns=Columns(text="hypothesis , premise"))
    assert record.example.segments == ("an animal 0", "a dog 0")
    assert record.example.rationale == ((), ((2, 5),))


def test_a_rationale_column_for_each_segment(tmp_path):
    path = write(tmp_path / "nli.csv", [pair(why_p=[1], why_h=""), pair(1, why_p="", why_h="")])
    columns = replace(NLI, rationale="why_p,why_h")
    first, second = (record.example.rationale for record in read_records(path, columns=columns))
    assert (first, second) == ((((2, 5),), ()), None)


def test_a_column_that_has_a_comma_in_its_name(tmp_path):
    path = write(tmp_path / "data.jsonl", [{"a,b": "one text", "label": 1}])
    assert read_records(path, columns=Columns(text="a,b"))[0].example.segments == ("one text",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": "premise,hypotesis"}, r"nli\.jsonl:1: unknown column 'hypotesis'; did you mean"),
        ({"text": "premise,premise"}, r"nli\.jsonl:1: columns 'premise,premise' name one column twice"),
        ({"rationale": "label,premise,split"}, r"3 rationale columns .* for 2 of"),
        ({"rationale": "a,b"}, r"nli\.jsonl: unknown column 'a'"),
        ({"choices": "options"}, r"nli\.jsonl: unknown column 'options'"),
    ],
)
def test_columns_that_are_not_there(tmp_path, columns, message):
    with pytest.raises(UserError, match=message):
        read_records(write(tmp_path / "nli.jsonl", [pair()]), columns=replace(NLI, **columns))


def test_one_of_several_texts_may_be_empty_but_not_all(tmp_path):
    path = write(tmp_path / "nli.csv", [pair(), pair(1) | {"hypothesis": " "}])
    assert read_records(path, columns=NLI)[1].example.segments[1] == " "
    path = write(tmp_path / "none.csv", [pair(), pair(1) | {"premise": "", "hypothesis": " "}])
    with pytest.raises(UserError, match=r"none\.csv:3: all of premise, hypothesis are empty"):
        read_records(path, columns=NLI)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_choices_are_a_list(tmp_path, suffix):
    path = write(tmp_path / f"quiz{suffix}", [{**QUIZ, "label": "in trees", "rationale": [2]}])
    (record,) = read_records(path)
    assert record.example.segments == ("Where do fish live?",)
    assert record.example.choices == ("in water", "in trees", "in books")
    assert record.example.label == "B"
    assert record.example.rationale == (((9, 13),),)


@pytest.mark.parametrize("label", ["C", 2, "2", 2.0, "in books", " in books "])
def test_ways_to_name_the_right_choice(label):
    assert resolve_choice(label, QUIZ["choices"]) == "C"


@pytest.mark.parametrize(
    ("label", "choices", "message"),
    [
        ("D", ["x", "y"], r"'label' 'D' is none of the choices A \('x'\), B \('y'\); give a letter"),
        (2, ["x", "y"], "the number from 0 to 1"),
        (-1, ["x", "y"], "none of the choices"),
        (0.5, ["x", "y"], "none of the choices"),
        (True, ["x", "y"], "none of the choices"),
        ("x", ["x", "x"], "could mean the choices A and B"),
        ("A", ["b", "A"], "could mean the choices A and B"),
        ("1", ["1", "2"], "could mean the choices A and B"),
    ],
)
def test_labels_that_mean_no_choice_or_two(label, choices, message):
    with pytest.raises(UserError, match=message):
        resolve_choice(label, choices)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ("a | b", r"quiz\.jsonl:1: 'choices' must be a JSON list of two or more texts"),
        (["only"], "two or more"),
        ({"a": 1}, "two or more"),
        (["x", ""], r"'choices\[1\]' is empty"),
        (["x", 3], r"'choices\[1\]' must be a string, not 3"),
    ],
)
def test_choices_that_are_none(tmp_path, choices, message):
    path = write(tmp_path / "quiz.jsonl", [{"text": "which?", "choices": choices, "label": 0}])
    with pytest.raises(UserError, match=message):
        read_records(path)
    assert read_records(path, columns=Columns(choices=""))[0].example.choices is None


def test_all_rows_have_choices_or_none(tmp_path):
    path = write(tmp_path / "quiz.jsonl", [{**QUIZ, "label": 0}, {"text": "why?", "label": "A"}])
    with pytest.raises(UserError, match=r"quiz\.jsonl:2: no choices, but .*quiz\.jsonl:1 has some"):
        read_records(path)


def test_files_of_a_folder_have_one_shape(tmp_path):
    write(tmp_path / "train.jsonl", [{**QUIZ, "label": 0}] * 4)
    write(tmp_path / "dev.jsonl", [{"text": "why?", "label": "A"}] * 2)
    with pytest.raises(UserError, match=r"dev\.jsonl:1: no choices, but .*train\.jsonl:1 has some"):
        load_dataset(tmp_path)


def test_a_dataset_of_pairs(tmp_path):
    path = write(tmp_path / "nli.jsonl", [pair(n) for n in range(30)])
    data = load_dataset(path, columns={"text": "premise,hypothesis"})
    assert (data.info.task, data.info.labels) == ("segments", ("no", "yes"))


def test_a_dataset_of_choices(tmp_path):
    """The letters go as far as the longest list, wherever it is; a letter may be right in test only."""
    few = [{**QUIZ, "label": n % 2, "split": "train"} for n in range(10)]
    many = {"text": "which?", "choices": list("vwxyz"), "label": "z", "split": "test"}
    data = load_dataset(write(tmp_path / "quiz.jsonl", [*few, many]))
    assert (data.info.task, data.info.labels) == ("choice", ("A", "B", "C", "D", "E"))
    assert data["test"][0].label == "E"
    assert {example.label for example in data["train"]} == {"A", "B"}


def test_choices_without_anything_to_train_on(tmp_path):
    path = write(tmp_path / "quiz.jsonl", [{**QUIZ, "label": 0, "split": "test"}])
    with pytest.raises(UserError, match=r"quiz\.jsonl: no training examples"):
        load_dataset(path)


def test_inputs_need_no_label(tmp_path):
    rows = [pair(rationale={"premise": [1]}), pair(1, id="second") | {"label": None}, pair(2, split="fold 3")]
    del rows[2]["label"]
    path = write(tmp_path / "nli.jsonl", rows)
    first, second, third = read_inputs(path, columns=NLI)
    assert (first.place, first.example.id, first.example.label) == (f"{path}:1", f"{path}:1", "yes")
    assert first.example.rationale == (((2, 5),), ())
    assert (second.example.id, second.example.label) == ("second", None)
    assert (third.split, third.example.label) == (None, None)


def test_inputs_with_choices(tmp_path):
    path = write(tmp_path / "quiz.csv", [{**QUIZ, "label": ""}, {**QUIZ, "label": "in trees"}])
    assert [record.example.label for record in read_inputs(path)] == [None, "B"]
    assert next(read_inputs(path)).example.choices == tuple(QUIZ["choices"])


def test_columns_of_inputs_are_checked_before_the_first_is_given(tmp_path):
    path = write(tmp_path / "quiz.csv", [{**QUIZ, "label": ""}])
    with pytest.raises(UserError, match=r"quiz\.csv: unknown column 'options'"):
        next(read_inputs(path, columns=Columns(choices="options")))


def test_plain_text_has_one_text_a_line(tmp_path):
    (tmp_path / "texts.txt").write_text("one\n\ntwo\n")
    assert [record.example.segments for record in read_inputs(tmp_path / "texts.txt")] == [("one",), ("two",)]
    with pytest.raises(UserError, match=r"texts\.txt: has no columns, but 'premise,hypothesis'"):
        read_inputs(tmp_path / "texts.txt", columns=NLI)


def test_all_problems_are_collected(tmp_path):
    content = (
        b'{"text": "fine", "label": "a"}\n'
        b'{"text": "", "label": "a"}\n'
        b"{oops\n"
        b'{"text": "\xff", "label": "a"}\n'
        b'{"text": "fine", "label": null}\n'
        b'{"text": "fine", "label": "b", "rationale": [7]}\n'
        b'{"text": "good", "label": "b"}\n'
    )
    path = tmp_path / "data.jsonl"
    path.write_bytes(content)
    with collecting() as problems:
        records = read_records(path)
    assert [record.place for record in records] == [f"{path}:{n}" for n in (1, 4, 7)]
    assert [problem.removeprefix(f"{path}:")[:1] for problem in problems] == ["2", "3", "4", "5", "6"]


def test_all_problems_of_a_csv_file_are_collected(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('text,label\nx,a\na,b,c\n"y"z,b\n,b\nw,b\n')
    with collecting() as problems:
        records = read_records(path)
    assert [record.place for record in records] == [f"{path}:2", f"{path}:6"]
    assert [problem.removeprefix(f"{path}:")[:1] for problem in problems] == ["3", "4", "5"]


def test_nothing_left_when_every_row_is_wrong(tmp_path):
    path = write(tmp_path / "data.jsonl", [{"text": "", "label": 1}])
    with collecting() as problems, pytest.raises(UserError, match="no example that could be read"):
        load_dataset(path)
    assert len(problems) == 1
