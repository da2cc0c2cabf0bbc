"""The words, classes and gold words are those the trees spell out, or the line that is wrong is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.datasets import sst
from unirex.data.datasets.sst import Tree
from unirex.data.validate import collecting
from unirex.errors import UserError

POS, NEG, NEUTRAL = "(3 (2 so) (4 good))", "(1 (2 so) (0 bad))", "(2 (2 so) (2 what))"


def folder(path, train, *, dev=POS, test=NEG, suffix=".txt"):
    for name, content in {"train": train, "dev": dev, "test": test}.items():
        data = content if isinstance(content, bytes) else content.encode()
        (path / f"{name}{suffix}").write_bytes(data)
    return path


def train(path, *trees, **options):
    return sst.load(folder(path, "\n".join(trees)), **options)["train"]


def mistake(path):
    with pytest.raises(UserError) as error:
        sst.load(path)
    return str(error.value)


def marked(example):
    return [example.text[start:end] for start, end in example.rationale[0]]


def test_explanatory_nodes_by_hand(tmp_path):
    # Sentiment |label - 2| / 2: the nodes from the root to "not bad" 3 -> .5, "bad" 1 -> .5, all others 0.
    # No node is above "bad" (.5 > .5 fails), so the leaves decide: bad .5 is gold, the others are 0.
    tree = "(3 (2 It) (3 (2 is) (3 (3 (2 not) (1 bad)) (2 (2 at) (2 all)))))"
    assert Tree(tree).weights == [0, 0, 0, 0.5, 0, 0]
    (example,) = train(tmp_path, tree)
    assert (example.text, example.label, marked(example)) == ("It is not bad at all", "pos", ["bad"])


def test_the_first_explanatory_node_from_the_root_takes_all_its_words():
    # The root 1 -> .5 and "was really ..." 1 -> .5 are below the 1 of "really bad stuff" (label 0), which is
    # above the .5 of "bad stuff" and "bad": explanatory, so all its three words get 1.
    tree = Tree("(1 (2 it) (1 (2 was) (0 (2 really) (1 (1 bad) (2 stuff)))))")
    assert tree.label == 1
    assert tree.words == ["it", "was", "really", "bad", "stuff"]
    assert tree.weights == [0, 0, 1, 1, 1]


def test_an_explanatory_root_marks_every_word_and_nested_ones_yield_to_it():
    # "b c" 3 -> .5 is above its leaves (0, 0), but the root 4 -> 1 is above everything: 1 for all.
    assert Tree("(4 (2 a) (3 (2 b) (2 c)))").weights == [1, 1, 1]
    # The most negative descendant counts as well: 4 -> 1 is not above 0 -> 1.
    assert Tree("(4 (2 a) (0 b))").weights == [0, 1]
    assert Tree("(4 good)").weights == [1]  # a leaf is explanatory


def test_a_neutral_node_is_never_gold(tmp_path):
    (example,) = train(tmp_path, "(3 (3 (2 a) (2 b)) (3 (2 c) (3 d)))")
    # root .5 ties with "a b" .5; "a b" is above its 0s: gold; "c d" ties with d .5: c 0, d .5
    assert marked(example) == ["a b", "d"]  # one span for each run of gold words


def test_the_root_decides_the_class_and_neutral_trees_are_left_out(tmp_path):
    found = train(tmp_path, "(0 a)", "(1 b)", "(2 c)", "(3 d)", "(4 e)")
    assert [(one.id, one.text, one.label) for one in found] == [
        ("sst-train-1", "a", "neg"),
        ("sst-train-2", "b", "neg"),
        ("sst-train-4", "d", "pos"),  # the number is that of the line
        ("sst-train-5", "e", "pos"),
    ]


def test_a_no_break_space_is_inside_a_word(tmp_path):
    (example,) = train(tmp_path, "(3 (2 Contempt) (3 (2 and) (4 (3 8\u00a01\\/2) (2 !))))")
    assert example.text == "Contempt and 8\u00a01/2 !"
    assert marked(example) == ["8\u00a01/2 !"]  # 4 -> 1 is above .5 and 0
    (again,) = train(tmp_path, "(4 (3 8\u00a01\\/2) (4 x))")
    assert marked(again) == ["8\u00a01/2 x"]  # weights .5 and 1, one for each leaf


def test_escapes_are_restored(tmp_path):
    tree = (
        "(3 (2 -LRB-) (3 (2 f\\*\\*k\\/n) (2 (2 -LSB-) (2 (2 -RSB-) (2 (2 -LCB-) (2 (2 -RCB-) (2 -RRB-)))))))"
    )
    (example,) = train(tmp_path, tree)
    assert example.text == "( f**k/n [ ] { } )"


def test_case_is_kept_unless_asked(tmp_path):
    tree = "(3 (2 A\u0130B) (4 GOOD))"  # the lower case of İ is two characters: spans fit the result
    (example,) = train(tmp_path, tree)
    assert (example.text, marked(example)) == ("A\u0130B GOOD", ["GOOD"])
    (example,) = train(tmp_path, tree, lowercase=True)
    assert (example.text, marked(example)) == ("a\u0130b good".lower(), ["good"])


def test_a_deep_tree_needs_no_recursion():
    tree = Tree("(3 (2 a) " * 50_000 + "(4 b)" + ")" * 50_000)
    assert len(tree.words) == 50_001
    assert tree.weights[-2:] == [0, 1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("(3 (2 a) (4 b)", "cut off: 1 '(' without ')'"),
        ("(3 (2 a)) (4 b)", "column 11: unexpected '(4 b)'"),
        ("(3 a))", "column 6: unexpected ')'"),
        ("(5 a)", "column 1: unexpected '('"),
        ("(3 )", "the node after word 0 holds no words"),
        ("(3 (2 a) (2 ))", "the node after word 1 holds no words"),
        ("(3 two words)", "column 4: unexpected 't'"),
        ("(3 (2 a) b)", "column 10: unexpected 'b'"),
        ("a film", "column 1: unexpected 'a'"),
        ("(3a)", "column 1: unexpected '('"),
        (")", "column 1: unexpected ')'"),
    ],
)
def test_a_malformed_tree_is_told_with_its_line(tmp_path, line, told):
    found = mistake(folder(tmp_path, f"{POS}\n\n{line}\n"))
    assert found.startswith(f"{tmp_path / 'train.txt'}:3: ") and told in found


def test_all_problems_are_collected(tmp_path):
    folder(tmp_path, f"(3 a\n{POS}\n(9 b)\n", test="x")
    with collecting() as problems:
        data = sst.load(tmp_path)
    places = [problem.split(": ")[0].rsplit("/")[-1] for problem in problems]
    assert places == ["train.txt:1", "train.txt:3", "test.txt:1"]
    assert [one.id for one in data["train"]] == ["sst-train-2"]


def by_definition(node):
    """The weights of a tree of (label, word) and (label, nodes), by the definition, from the top."""
    label, content = node
    sentiment = abs(label - 2) / 2
    if isinstance(content, str):
        return [sentiment]
    below = [one for child in content for one in labels(child)]
    if all(sentiment > abs(one - 2) / 2 for one in (max(below), min(below))):
        return [sentiment] * len(words(node))
    return [weight for child in content for weight in by_definition(child)]


def labels(node):
    return [node[0], *(one for child in node[1] if not isinstance(node[1], str) for one in labels(child))]


def words(node):
    return [node[1]] if isinstance(node[1], str) else [one for child in node[1] for one in words(child)]


def spelled(node):
    inside = node[1] if isinstance(node[1], str) else " ".join(map(spelled, node[1]))
    return f"({node[0]} {inside})"


LABELS = st.integers(0, 4)
TREES = st.recursive(
    st.tuples(LABELS, st.sampled_from(["a", "b\u00a0c", "d"])),
    lambda nodes: st.tuples(LABELS, st.lists(nodes, min_size=1, max_size=3)),
)


@given(TREES)
def test_any_tree_is_weighed_as_the_definition_says(node):
    tree = Tree(spelled(node))
    assert (tree.label, tree.words, tree.weights) == (node[0], words(node), by_definition(node))


@given(st.text("()0123 ab\u00a0\r\n\\-LRB", max_size=30))
def test_any_line_gives_a_tree_or_a_user_error(line):
    try:
        tree = Tree(line)
    except UserError:
        return
    assert len(tree.words) == len(tree.weights) > 0


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path):
    folder(tmp_path, POS.encode() + b"\n(3 caf\xe9)\n")
    assert "train.txt:2: not UTF-8 at byte 6" in mistake(tmp_path)


def test_every_split_must_be_there_once(tmp_path):
    folder(tmp_path, POS)
    (tmp_path / "dev.json").write_text("[]")
    assert "dev.txt and dev.json are both dev; keep one" in mistake(tmp_path)
    (tmp_path / "dev.json").unlink()
    (tmp_path / "dev.txt").unlink()
    assert "neither dev.txt (trees) nor dev.jsonl" in mistake(tmp_path)
    (tmp_path / "dev.txt").write_text("\n \n")
    assert "dev.txt: the file is empty" in mistake(tmp_path)


def record(text="so good", rationale=(0.0, 0.5), classification="pos"):
    return {"text": text, "rationale": list(rationale), "classification": classification}


def jsonl(*records):
    return "".join(json.dumps(one) + "\n" for one in records)


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_json_lines(tmp_path, suffix):
    text = jsonl(record(), record("a\u00a0b c d", [1, 0.49, 0.5], "neg"))
    folder(tmp_path, text, dev=text, test=text, suffix=suffix)
    first, second = sst.load(tmp_path)["train"]
    assert (first.id, first.label, marked(first)) == ("sst-train-1", "pos", ["good"])
    assert (second.id, second.label, marked(second)) == ("sst-train-2", "neg", ["a\u00a0b", "d"])


def test_a_json_list(tmp_path):
    text = json.dumps([record(), record(classification="neg")], indent=1)
    folder(tmp_path, text, dev=text, test=text, suffix=".json")
    assert [one.id for one in sst.load(tmp_path)["test"]] == ["sst-test-1", "sst-test-2"]


def test_trees_and_json_may_stand_side_by_side(tmp_path):
    folder(tmp_path, POS)
    (tmp_path / "test.txt").unlink()
    (tmp_path / "test.jsonl").write_text(jsonl(record()))
    assert [len(part) for part in sst.load(tmp_path).values()] == [1, 1, 1]


def test_a_rationale_one_short_is_padded_and_remarked(tmp_path):
    text = jsonl(record("so very good", [0.5, 1]))
    folder(tmp_path, text, dev=text, test=text, suffix=".jsonl")
    with collecting() as problems:
        (example,) = sst.load(tmp_path)["train"]
    assert marked(example) == ["so very"]
    assert problems[0].startswith(f"{tmp_path / 'train.jsonl'}:1: rationale has 2 numbers for 3 words")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{", "malformed JSON"),
        ("7", "must be a JSON object"),
        (jsonl(record(rationale=[])), "rationale has 0 numbers, but the text has 2 words"),
        (jsonl(record(rationale=[0, 1, 0])), "rationale has 3 numbers, but the text has 2 words"),
        (jsonl(record(rationale=[True, 1])), "must be a list of numbers"),
        (jsonl(record(rationale=[0, float("nan")])), "must be a list of numbers"),
        (jsonl({"text": "so good", "classification": "pos"}), "'rationale' must be a list"),
        (jsonl(record(classification="neutral")), "unknown classification 'neutral'"),
        (jsonl(record(classification=["pos"])), "unknown classification"),
        (jsonl(record(text="")), "'text' is empty"),
        (jsonl(record(text=None)), "'text' must be a string"),
        (jsonl(record(text="\ud800 x")), "half a surrogate pair"),
    ],
)
def test_a_bad_record_is_told_with_its_line(tmp_path, bad, told):
    folder(tmp_path, jsonl(record()) + bad, dev=jsonl(record()), test=jsonl(record()), suffix=".jsonl")
    found = mistake(tmp_path)
    assert found.startswith(f"{tmp_path / 'train.jsonl'}:2: ") and told in found


@pytest.mark.parametrize(("bad", "told"), [("[{]", "malformed JSON"), ("[3]", "record 1: a record must be")])
def test_a_bad_json_list_is_told_with_its_file(tmp_path, bad, told):
    folder(tmp_path, bad, dev=jsonl(record()), test=jsonl(record()), suffix=".json")
    found = mistake(tmp_path)
    assert found.startswith(f"{tmp_path / 'train.json'}: ") and told in found
