"""Evidence stands where ERASER's token offsets say: in any folder of its format, and in its named sets."""

import pytest
from data_files import write_rows
from hypothesis import given
from hypothesis import strategies as st

from unirex.data import load_dataset
from unirex.data.datasets import cose, esnli, movies, multirc
from unirex.data.formats import eraser
from unirex.data.formats.eraser_files import Document, sentences_of_file, sentences_of_record
from unirex.data.validate import collecting
from unirex.errors import UserError

REVIEW = "a film\nit is just so good"  # tokens: a0 film1 | it2 is3 just4 so5 good6


def evidence(docid, start, end, text=None):
    given = {"docid": docid, "start_token": start, "end_token": end, "start_sentence": -1, "end_sentence": -1}
    return given if text is None else {**given, "text": text}


def annotation(name="d1", label="POS", *groups, query="", **more):
    return {
        "annotation_id": name,
        "classification": label,
        "evidences": [list(group) for group in groups],
        "query": query,
        "query_type": None,
        **more,
    }


def folder(path, train=None, docs=None, *, val=None, test=None, jsonl=False):
    """A folder of ERASER's format, by default of two reviews; documents for dev and test are added."""
    train = both("POS", [evidence("d1", 0, 1)]) if train is None else train
    docs = {**(docs or {"d1": REVIEW, "d2": "bad"}), "v": "so bad", "t": "so good"}
    val = [annotation("v", "NEG", [evidence("v", 1, 2)])] if val is None else val
    test = [annotation("t", "POS", [evidence("t", 1, 2)])] if test is None else test
    for name, rows in {"train": train, "val": val, "test": test}.items():
        write_rows(path / f"{name}.jsonl", list(rows))
    if jsonl:
        rows = [{"docid": docid, "document": text} for docid, text in docs.items()]
        write_rows(path / "docs.jsonl", rows)
        return path
    (path / "docs").mkdir()
    for docid, text in docs.items():
        (path / "docs" / docid).write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def both(label="POS", *groups, **more):
    """A train file with both classes, the first of them as asked."""
    return [annotation("d1", label, *groups, **more), annotation("d2", "NEG", [evidence("d2", 0, 1)])]


def marked(example, segment=0):
    return [example.segments[segment][start:end] for start, end in example.rationale[segment]]


def remarks(path):
    with collecting() as problems:
        data = eraser.load(path)
    return data, problems


def test_tokens_are_counted_through_the_sentences(tmp_path):
    groups = [evidence("d1", 1, 3)], [evidence("d1", 6, 7)]
    data = eraser.load(folder(tmp_path, both("POS", *groups)))
    first = data["train"][0]
    assert first.segments == ("a film\nit is just so good",)
    # film begins at character 2; "it" ends at 9 (a1 space1 film4 newline1 it2); good is characters 21 to 25
    assert first.rationale == (((2, 9), (21, 25)),)
    assert marked(first) == ["film\nit", "good"]
    assert first.groups == ((((2, 9),),), (((21, 25),),))
    assert (data.info.labels, data.info.task, data.info.name) == (("NEG", "POS"), "text", tmp_path.name)


def test_a_file_drops_empty_lines_and_tokens_but_a_record_keeps_them(tmp_path):
    messy = " so  good \r\n\n see it \n"
    # docs/:       so0 good1 | see2 it3                      docs.jsonl: so0 ''1 good2 | ''3 | see4 it5 | ''6
    for name, start, end, jsonl in (("files", 1, 3, False), ("records", 2, 5, True)):
        (tmp_path / name).mkdir()
        train = both("POS", [evidence("d1", start, end)])
        data = eraser.load(folder(tmp_path / name, train, {"d1": messy, "d2": "bad"}, jsonl=jsonl))
        assert marked(data["train"][0])[0].split() == ["good", "see"]
    assert data["train"][0].text == "so  good\n\nsee it\n"


MESSY = st.text(" \n\tab\u00a0\u2028", max_size=20)


def tokens(text):
    document = Document.of(text)
    return [text[slice(*document.span(number, number + 1))] for number in range(len(document))]


@given(MESSY.filter(str.strip))
def test_tokens_of_a_file_are_those_of_the_benchmarks_loader(text):
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert tokens(sentences_of_file(text)) == [token for line in lines for token in line.split(" ") if token]


@given(MESSY)
def test_tokens_of_a_record_are_those_of_the_benchmarks_loader(text):
    lines = [line.strip() for line in text.split("\n")]
    assert tokens(sentences_of_record(text)) == [token for line in lines for token in line.split(" ")]


def test_groups_are_kept_and_their_union_merged(tmp_path):
    groups = [[evidence("d1", 0, 2), evidence("d1", 5, 6)], [evidence("d1", 1, 4), evidence("d1", 5, 6)]]
    data = eraser.load(folder(tmp_path, both("POS", *groups), {"d1": "a b c d e f", "d2": "x"}))
    # characters: a0 b2 c4 d6 e8 f10; the first group marks 0-3 and 10-11, the second 2-7 and 10-11
    first = data["train"][0]
    assert first.groups == ((((0, 3), (10, 11)),), (((2, 7), (10, 11)),))
    assert first.rationale == (((0, 7), (10, 11)),)


def test_a_document_is_read_once_and_shared(tmp_path):
    train = [annotation(f"q{i}", "POS" if i % 2 else "NEG", [evidence("d1", i, i + 1)]) for i in range(4)]
    data = eraser.load(folder(tmp_path, train, {"d1": REVIEW}))
    assert len({id(example.segments[0]) for example in data["train"]}) == 1


def test_the_query_is_the_last_segment_and_cannot_carry_a_rationale(tmp_path):
    train = both("POS", [evidence("d1", 6, 7)], query="is it good ?")
    data = eraser.load(folder(tmp_path, train))
    assert data["train"][0].segments == (REVIEW, "is it good ?")
    assert data["train"][0].rationale == (((21, 25),), ())
    assert data["train"][1].segments == ("bad", "")  # all have as many segments
    assert (data.info.task, data.info.rationale_segments) == ("segments", (0,))


def test_the_query_can_be_left_out(tmp_path):
    train = both("POS", [evidence("d1", 6, 7)], query="is it good ?")
    data = eraser.load(folder(tmp_path, train), query=False)
    assert data["train"][0].segments == (REVIEW,)
    assert (data.info.task, data.info.rationale_segments) == ("text", None)


def pair(name, label, *groups, query="?"):
    return annotation(name, label, *groups, query=query, docids=[f"{name}1", f"{name}2"])


def test_as_many_documents_everywhere_are_segments_of_their_own(tmp_path):
    docs = {f"{name}{number}": f"text {name} {number}" for name in "abcd" for number in (1, 2)}
    train = [pair("a", "x", [evidence("a2", 1, 3)]), pair("b", "y", [evidence("b1", 0, 1)])]
    val, test = [pair("c", "x", [evidence("c1", 0, 1)])], [pair("d", "x", [evidence("d1", 0, 1)])]
    data = eraser.load(folder(tmp_path, train, docs, val=val, test=test))
    assert data["train"][0].segments == ("text a 1", "text a 2", "?")
    assert data["train"][0].rationale == ((), ((5, 8),), ())
    assert data.info.rationale_segments == (0, 1)


def test_differing_numbers_of_documents_are_joined(tmp_path):
    group = [evidence("d1", 1, 2), evidence("d3", 0, 1)]
    train = both("POS", group, query="?")
    data = eraser.load(folder(tmp_path, train, {"d1": "a film", "d2": "bad", "d3": "good fun"}))
    first = data["train"][0]
    assert first.segments == ("a film\ngood fun", "?")
    assert first.rationale == (((2, 6), (7, 11)), ())  # "good" is at 0 in its document, which begins at 7
    assert data.info.rationale_segments == (0,)


def test_no_evidence_is_no_gold_and_remarked(tmp_path):
    folder(tmp_path, [*both("POS"), annotation("d3", "POS", [])], {"d1": REVIEW, "d2": "bad", "d3": "x"})
    data, problems = remarks(tmp_path)
    assert [one.rationale is None for one in data["train"]] == [True, False, True]
    assert data["train"][0].groups == ()
    assert problems[0].endswith("train.jsonl:1: no evidence in 'd1'; read as an example without gold")
    assert "train.jsonl:3" in problems[1]


def test_the_tokens_count_where_the_text_differs(tmp_path):
    folder(tmp_path, both("POS", [evidence("d1", 5, 7, "o good")]))
    data, (problem,) = remarks(tmp_path)
    assert marked(data["train"][0]) == ["so good"]
    assert "train.jsonl:1: evidence text 'o good' is 'so good' at its tokens" in problem


def test_text_over_two_sentences_is_no_mismatch(tmp_path):
    folder(tmp_path, both("POS", [evidence("d1", 1, 3, "film it")]))
    assert remarks(tmp_path)[1] == []


def test_empty_evidence_marks_nothing_and_is_remarked(tmp_path):
    group = [evidence("d1", 3, 3, ""), evidence("d1", 6, 7, "good")]
    folder(tmp_path, both("POS", group))
    data, (problem,) = remarks(tmp_path)
    assert marked(data["train"][0]) == ["good"]
    assert "evidence at token 3 of 'd1' is empty; it marks nothing" in problem


def test_unknown_keys_are_remarked(tmp_path):
    group = [{**evidence("d1", 6, 7), "hue": 1}]
    folder(tmp_path, both("POS", group, worker="w"))
    _, problems = remarks(tmp_path)
    assert len(problems) == 2
    assert "'worker' is no field of an annotation" in problems[0]
    assert "'hue' is no field of evidence" in problems[1]


def without(key):
    row = annotation("d3", "POS", [evidence("d1", 0, 1)])
    del row[key]
    return row


def with_evidence(**changes):
    return annotation("d3", "POS", [{**evidence("d1", 0, 1), **changes}])


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("{", "malformed JSON"),
        ("[]", "must be a JSON object"),
        (without("annotation_id"), "'annotation_id' is missing; it must be text"),
        (without("classification"), "'classification' is missing"),
        (without("evidences"), "'evidences' is missing; it must be a list"),
        (without("query"), "'query' is missing"),
        (annotation(3), "'annotation_id' must be text, not 3"),
        (annotation(""), "'annotation_id' is empty"),
        (annotation("d3", True), "'classification' must be text, not True"),
        (annotation("d3", query=None), "'query' must be text, not None"),
        (annotation("d3", query="\ud800"), "'query' holds half a surrogate pair"),
        (annotation("d3", docids="d1"), "'docids' must be a list, not 'd1'"),
        (annotation("d3", docids=[1]), "'docids' must be a list of texts, not [1]"),
        (annotation("d3", evidences=None), "'evidences' must be a list, not None"),
        (annotation("d3", evidences=[{}]), "'evidences' must be a list of groups"),
        (annotation("d3", evidences=[["x"]]), "'evidences' must be a list of groups"),
        (with_evidence(docid=None), "'docid' must be text, not None"),
        (with_evidence(start_token="0"), "'start_token' must be a whole number, not '0'"),
        (with_evidence(start_token=True), "'start_token' must be a whole number, not True"),
        (with_evidence(end_token=1.0), "'end_token' must be a whole number, not 1.0"),
        (with_evidence(start_token=-1), "evidence from token -1 to 1"),
        (with_evidence(start_token=2), "evidence from token 2 to 1"),
        (with_evidence(end_token=8), "evidence to token 8, but document 'd1' has 7 tokens"),
        (with_evidence(docid="d9"), "document 'd9' is not in"),
        (with_evidence(docid="../train.jsonl"), "document '../train.jsonl' is not in"),
        (with_evidence(docid=".."), "document '..' is not in"),
        (with_evidence(docid="a\0b"), "is not in"),
        (with_evidence(docid="blank"), "document 'blank' in"),
        (with_evidence(docid="latin"), "latin: not UTF-8 at byte 3"),
        (with_evidence(text=5), "'text' must be text, not 5"),
        (annotation("d1", "POS", [evidence("d1", 0, 1)]), "duplicate annotation_id 'd1', first at"),
        (annotation("d3", "POS"), "document 'd3' is not in"),
    ],
)
def test_a_bad_annotation_is_told_with_its_line(tmp_path, row, told):
    docs = {"d1": REVIEW, "d2": "bad", "blank": " \n \n", "latin": b"caf\xe9"}
    train = [*both("POS", [evidence("d1", 6, 7)]), row]
    folder(tmp_path, train, docs)
    with pytest.raises(UserError) as error:
        eraser.load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'train.jsonl'}:3: ")
    assert told in str(error.value)
    with collecting() as problems:  # the rows around it are read all the same
        assert [one.id for one in eraser.load(tmp_path)["train"]] == ["d1", "d2"]
    assert str(error.value) in problems


def test_every_bad_row_is_collected(tmp_path):
    train = [without("query"), *both("POS", [evidence("d1", 6, 7)]), with_evidence(end_token=9), "{"]
    folder(tmp_path, train)
    with collecting() as problems:
        assert len(movies.load(tmp_path)["train"]) == 2
    assert [problem.split(": ")[0].rsplit(":")[-1] for problem in problems] == ["1", "4", "5"]


def test_an_id_is_unique_over_the_splits(tmp_path):
    val = [annotation("d2", "NEG", [evidence("d2", 0, 1)])]
    folder(tmp_path, val=val)
    with pytest.raises(UserError, match=r"val\.jsonl:1: duplicate annotation_id 'd2', .*train\.jsonl:2"):
        eraser.load(tmp_path)


def test_a_label_that_train_does_not_have_is_told_with_its_line(tmp_path):
    val = [annotation("v", "MIXED", [evidence("v", 0, 1)])]
    folder(tmp_path, val=val)
    with pytest.raises(UserError, match=r"val\.jsonl:1: unknown classification 'MIXED'.* Known: NEG, POS"):
        eraser.load(tmp_path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "malformed JSON"),
        ('{"document": "x"}', "'docid' must be the name of the document, not None"),
        ('{"docid": 3, "document": "x"}', "'docid' must be the name of the document, not 3"),
        ('{"docid": "z"}', "'document' must be a string, not None"),
        ('{"docid": "d1", "document": "x"}', "document 'd1' is there twice"),
        ('{"docid": "z", "document": "\\ud800"}', "half a surrogate pair"),
    ],
)
def test_a_bad_document_is_told_with_its_line(tmp_path, line, told):
    train = both("POS", [evidence("d1", 0, 1)])
    folder(tmp_path, train, {"d1": REVIEW, "d2": "bad", "unused": ""}, jsonl=True)
    with (tmp_path / "docs.jsonl").open("a") as file:
        file.write(line)
    with pytest.raises(UserError) as error:
        eraser.load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'docs.jsonl'}:6: ")
    assert told in str(error.value)


def test_documents_in_two_ways_or_none_are_told(tmp_path):
    folder(tmp_path, jsonl=True)
    (tmp_path / "docs").mkdir()
    with pytest.raises(UserError, match=r"has both docs and docs\.jsonl; keep one"):
        eraser.load(tmp_path)
    (tmp_path / "docs").rmdir()
    (tmp_path / "docs.jsonl").unlink()
    with pytest.raises(UserError, match=r"neither docs .* nor docs\.jsonl"):
        eraser.load(tmp_path)


def test_splits_are_found_by_name(tmp_path):
    folder(tmp_path)
    (tmp_path / "dev.jsonl").write_text("")
    with pytest.raises(UserError, match=r"dev\.jsonl and val\.jsonl are both dev"):
        eraser.load(tmp_path)
    (tmp_path / "val.jsonl").replace(tmp_path / "dev.jsonl")
    assert list(eraser.load(tmp_path)) == ["train", "dev", "test"]
    (tmp_path / "train.jsonl").unlink()
    with pytest.raises(UserError, match=r"no train\.jsonl"):
        eraser.load(tmp_path)


def test_dev_is_taken_out_of_train_where_there_is_none(tmp_path):
    train = [annotation(f"q{i}", "ab"[i % 2], [evidence("d1", 0, 1)]) for i in range(40)]
    test = [annotation("t", "a", [evidence("t", 0, 1)])]
    folder(tmp_path, train, {"d1": REVIEW}, test=test)
    (tmp_path / "val.jsonl").unlink()
    assert [len(part) for part in eraser.load(tmp_path, seed=3).values()] == [36, 4, 1]
    assert eraser.load(tmp_path, seed=3)["dev"] == eraser.load(tmp_path, seed=3)["dev"]


def test_a_folder_shows_that_it_is_erasers(tmp_path):
    folder(tmp_path, both("POS", [evidence("d1", 6, 7)]))
    assert eraser.is_eraser(tmp_path)
    assert marked(load_dataset(tmp_path)["train"][0]) == ["good"]
    (tmp_path / "train.jsonl").write_text('{"text": "so good", "label": 1}\n')  # docs may be documentation
    assert not eraser.is_eraser(tmp_path)
    (tmp_path / "train.jsonl").unlink()
    assert not eraser.is_eraser(tmp_path)
    assert not eraser.is_eraser(tmp_path / "nowhere")


# The four sets known by name.


def test_movies(tmp_path):
    train = both("POS", [evidence("d1", 4, 7, "just so good")], query="What is the sentiment of this review?")
    data = movies.load(folder(tmp_path, train))
    assert data["train"][0].segments == (REVIEW,)
    assert data["train"][0].label == "POS"
    assert marked(data["train"][0]) == ["just so good"]
    assert (data.info.labels, data.info.task, data.info.metric) == (("NEG", "POS"), "text", "macro_f1")


def test_sentence_offsets_of_movies_are_wrong_as_in_the_released_code(tmp_path):
    docs = {"d1": "a film\nit is just so good\nbut dull", "d2": "bad"}
    # Tokens: a0 film1 | it2 is3 just4 so5 good6 | but7 dull8. In their sentence, "just" is 2 and "good" is 4:
    # 4 to 7 "just so good" lands on 2 to 4 + 1, "it is just"; 1 to 5 "film it is just" on 1 to 2 + 1, "film
    # it"; 6 to 8 "good but" on 4 to 0 + 1, which is nothing; so is 5 to 9 "so good but dull", 3 to 1 + 1.
    spans = [(4, 7), (6, 8), (1, 5), (5, 9)]
    groups = [[evidence("d1", *span)] for span in spans]
    folder(tmp_path, both("POS", *groups), docs)
    right = movies.load(tmp_path, offsets="document")["train"][0]
    wrong = movies.load(tmp_path, offsets="sentence")["train"][0]
    assert marked(right) == ["film\nit is just so good\nbut dull"]
    assert right.text[slice(*right.groups[0][0][0])] == "just so good"
    found = [[wrong.text[start:end] for start, end in group[0]] for group in wrong.groups]
    assert found == [["it is just"], ["film\nit"]]
    with pytest.raises(UserError, match="unknown offsets 'word'"):
        movies.load(tmp_path, offsets="word")


def test_a_named_set_needs_its_splits_and_labels(tmp_path):
    val = [annotation("v", "neutral", [evidence("v", 0, 1)])]
    folder(tmp_path, val=val)
    with pytest.raises(UserError, match=r"val\.jsonl:1: unknown classification 'neutral'.* Known: NEG, POS"):
        movies.load(tmp_path)
    (tmp_path / "val.jsonl").unlink()
    with pytest.raises(UserError, match=r"no val\.jsonl; movies needs one"):
        movies.load(tmp_path)


def test_a_review_is_one_document(tmp_path):
    train = both("POS", [evidence("d1", 0, 1), evidence("d2", 0, 1)])
    folder(tmp_path, train)
    with pytest.raises(UserError, match=r"train\.jsonl:1: about 2 documents"):
        movies.load(tmp_path)


QUESTION = "What do people aim to do at work ?"  # aim is token 3


def question(name, label="E", query="a [sep] b b [sep] c [sep] d [sep] e", docs=None):
    return annotation(name, label, [evidence(docs or name, 3, 4, "aim")], query=query, docids=None)


def cose_folder(path, row):
    docs = dict.fromkeys(["q1", "q2", "q3"], QUESTION)
    return folder(path, [row], docs, val=[question("q2")], test=[question("q3", "A")], jsonl=True)


def test_cose(tmp_path):
    data = cose.load(cose_folder(tmp_path, question("q1")))
    (example,) = data["train"]
    assert (example.segments, example.choices) == ((QUESTION,), ("a", "b b", "c", "d", "e"))
    assert (example.label, marked(example)) == ("E", ["aim"])
    info = data.info
    assert (info.task, info.metric, info.labels) == ("choice", "accuracy", ("A", "B", "C", "D", "E"))
    assert (info.rationale_segments, info.markers) == ((0,), ("Q:", "A:"))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (question("q1", query="a [sep] b"), "'query' has 2 answers; put ' [sep] ' between the 5"),
        (question("q1", query="a [sep] b [sep]  [sep] c [sep] d"), "'an answer in query' is empty"),
        (question("q1", "true"), "unknown classification 'true'"),
        (question("q1", "F"), "unknown classification 'F'"),
    ],
)
def test_a_bad_question_is_told(tmp_path, row, told):
    cose_folder(tmp_path, row)
    with pytest.raises(UserError) as error:
        cose.load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'train.jsonl'}:1: ")
    assert told in str(error.value)


def asked(name, label, query="Is it ? || yes"):
    return annotation(name, label, [evidence("d1", 2, 7), evidence("d1", 0, 2)], query=query, docids=None)


def test_multirc(tmp_path):
    train = [asked("d1:0:0", "True"), asked("d1:0:1", "False")]
    folder(tmp_path, train, {"d1": REVIEW}, val=[asked("d1:1:0", "True")], test=[asked("d1:2:0", "True")])
    data = multirc.load(tmp_path)
    first, second = data["train"]
    assert first.segments == (REVIEW, "Is it ? || yes")
    assert first.rationale == (((0, 6), (7, 25)), ())  # two whole sentences, and none of the query
    assert first.segments[0] is second.segments[0] is data["test"][0].segments[0]
    assert (data.info.labels, data.info.task, data.info.metric) == (("False", "True"), "segments", "macro_f1")
    assert data.info.rationale_segments == (0,)


def test_multirc_needs_a_query(tmp_path):
    train = [asked("d1:0:0", "True", query=" ")]
    folder(tmp_path, train, {"d1": REVIEW}, val=[asked("d1:1:0", "True")], test=[asked("d1:2:0", "True")])
    with pytest.raises(UserError, match=r"train\.jsonl:1: 'query' is empty"):
        multirc.load(tmp_path)


def inferred(name, label, *spans):
    group = [evidence(f"{name}_{side}", start, end) for side, start, end in spans]
    return annotation(
        name, label, group, query="Nobody runs .", docids=[f"{name}_hypothesis", f"{name}_premise"]
    )


def esnli_folder(path, *train):
    names = [row["annotation_id"] for row in train] + ["v#1", "t#1"]
    docs = {f"{name}_premise": "A man runs ." for name in names}
    docs |= {f"{name}_hypothesis": "Nobody runs ." for name in names}
    val = [inferred("v#1", "entailment", ("hypothesis", 0, 1))]
    test = [inferred("t#1", "neutral", ("hypothesis", 0, 1))]
    return folder(path, train, docs, val=val, test=test, jsonl=True)


def test_esnli(tmp_path):
    over_both = inferred("a#0", "contradiction", ("premise", 1, 2), ("hypothesis", 0, 1))
    one_side = inferred("b#0", "neutral", ("hypothesis", 1, 2))
    data = esnli.load(esnli_folder(tmp_path, over_both, one_side))
    first, second = data["train"]
    assert first.segments == ("A man runs .", "Nobody runs .")
    assert (marked(first, 0), marked(first, 1)) == (["man"], ["Nobody"])
    assert second.rationale == ((), ((7, 11),))  # nothing in the premise, which is not the same as no gold
    assert data.info.labels == ("entailment", "neutral", "contradiction")
    assert (data.info.task, data.info.metric, data.info.rationale_segments) == ("segments", "macro_f1", None)


def test_evidence_of_another_pair_is_told(tmp_path):
    row = inferred("a#0", "neutral", ("hypothesis", 1, 2))
    row["evidences"][0][0]["docid"] = "v#1_hypothesis"
    esnli_folder(tmp_path, row)
    with pytest.raises(UserError, match=r"train\.jsonl:1: evidence in document 'v#1_hypothesis', which is"):
        esnli.load(tmp_path)
