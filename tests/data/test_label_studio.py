"""Label Studio's JSON export comes in, tasks go out, and the one is what the other was."""

import json
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

import pytest
from data_files import records_or_user_error
from hypothesis import given
from hypothesis import strategies as st

from unirex.data.example import Example
from unirex.data.formats.label_studio import labeling_config, read, tasks
from unirex.data.formats.table import Columns
from unirex.data.validate import collecting
from unirex.errors import UserError

TEXT = "so 😀 good"


def mark(start, end, text=None, to_name="text", control="rationale", **more):
    value = {"start": start, "end": end, "labels": ["rationale"]}
    value |= {} if text is None else {"text": text}
    return {"id": "a", "type": "labels", "from_name": control, "to_name": to_name, "value": value, **more}


def choice(*chosen, control="label", **value):
    value = {"choices": list(chosen), **value}
    return {"id": "b", "type": "choices", "from_name": control, "to_name": "text", "value": value}


def annotation(*result, by=1, **more):
    return {"id": 7, "completed_by": by, "was_cancelled": False, "result": list(result), **more}


def task(*annotations, number=12, **data):
    return {"id": number, "data": {"text": TEXT, **data}, "annotations": list(annotations), "predictions": []}


def saved(folder, found):
    path = folder / "project.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found), "utf-8")
    return path


def examples(folder, found, *, how="union", offsets="auto", **columns):
    path = saved(folder, found)
    records = read(path, columns=Columns(**columns), annotators=how, offsets=offsets)
    return [record.example for record in records]


def only(folder, *annotations, **options):
    (example,) = examples(folder, [task(*annotations)], **options)
    return example


def test_an_export_as_label_studio_writes_it(tmp_path):
    """The shape of a task in Label Studio's documentation, with a text in it."""
    export = [
        {
            "id": 1,
            "created_at": "2021-03-09T21:52:49.513742Z",
            "project": 83,
            "data": {"text": "A fine film.", "split": "validation"},
            "annotations": [
                {
                    "id": "1001",
                    "result": [
                        {
                            "value": {"start": 2, "end": 6, "text": "fine", "labels": ["Reason"]},
                            "id": "Dx_aB91ISN",
                            "from_name": "why",
                            "to_name": "review",
                            "type": "labels",
                            "origin": "manual",
                        },
                        {
                            "value": {"choices": ["Positive"]},
                            "id": "bc_7Sn2",
                            "from_name": "sentiment",
                            "to_name": "review",
                            "type": "choices",
                        },
                    ],
                    "was_cancelled": False,
                    "ground_truth": False,
                    "lead_time": 4.288,
                    "task": 1,
                    "completed_by": {"id": 10, "email": "ann@example.org"},
                }
            ],
            "drafts": [],
            "predictions": [{"model_version": "m", "result": [choice("Negative", control="sentiment")]}],
        }
    ]
    path = saved(tmp_path, export)
    with collecting() as problems:
        (record,) = read(path, columns=Columns())
    assert (record.place, record.split) == (f"{path}: task 1", "dev")
    assert record.example == Example("1", ("A fine film.",), "Positive", (((2, 6),),))
    assert problems == []


def test_several_annotators(tmp_path):
    ann = annotation(choice("good"), mark(0, 2), by=1)
    bob = annotation(choice("good"), mark(0, 4), by=2)
    cy = annotation(choice("bad"), mark(5, 9), by=3)
    with collecting() as problems:
        found = only(tmp_path, ann, bob, cy)
    assert (found.label, found.rationale) == ("good", (((0, 4),),))
    assert found.groups == ((((0, 2),),), (((0, 4),),))
    assert problems == [
        f"{tmp_path / 'project.json'}: task 12: annotator 3 chose 'bad', most chose 'good': "
        "the marks are left out"
    ]
    assert only(tmp_path, ann, bob, cy, how="intersection").rationale == (((0, 2),),)


def test_a_tie_is_decided_by_ground_truth(tmp_path):
    ann, bob = annotation(choice("good"), by=1), annotation(choice("bad"), by=2)
    with pytest.raises(UserError, match=r"project\.json: task 12: the annotators do not agree on a label"):
        only(tmp_path, ann, bob)
    assert only(tmp_path, ann, bob | {"ground_truth": True}).label == "bad"


def test_skipped_annotations_are_left_out_with_a_remark(tmp_path):
    skipped = annotation(choice("bad"), by=2, was_cancelled=True)
    with collecting() as problems:
        found = examples(tmp_path, [task(annotation(choice("good")), skipped), task(skipped, number=13)])
    assert [one.label for one in found] == ["good"]
    assert [problem.split(": ", 1)[1] for problem in problems] == [
        "task 12: annotator 2 skipped the task; this annotation is left out",
        "task 13: annotator 2 skipped the task; this annotation is left out",
    ]


def test_unmarked_tasks_have_no_rationale_but_an_unmarked_annotation_counts(tmp_path):
    assert only(tmp_path, annotation(choice("good"))).rationale is None
    two = annotation(choice("good")), annotation(choice("good"), mark(0, 2))
    assert only(tmp_path, *two).rationale == (((0, 2),),)
    assert only(tmp_path, *two).groups == (((),), (((0, 2),),))
    assert only(tmp_path, *two, how="intersection").rationale == ((),)


def test_marks_stay_where_they_are_and_are_merged(tmp_path):
    found = only(tmp_path, annotation(choice("good"), mark(6, 8), mark(0, 1), mark(1, 2)))
    assert found.rationale == (((0, 2), (6, 8)),)  # "so", and "oo" inside of a word


@pytest.mark.parametrize(
    ("pair", "said", "expected"),
    [
        ((5, 9), "good", (5, 9)),
        ((6, 10), "good", (5, 9)),  # an old Label Studio
        ((3, 5), "😀 ", (3, 5)),  # fits both ways: characters
        ((5, 9), None, (5, 9)),
    ],
)
def test_offsets_are_characters_unless_the_text_says_utf_16(tmp_path, pair, said, expected):
    assert only(tmp_path, annotation(choice("good"), mark(*pair, said))).rationale == ((expected,),)


def test_offsets_may_be_said(tmp_path):
    marked = annotation(choice("good"), mark(6, 10))
    assert only(tmp_path, marked, offsets="utf-16").rationale == (((5, 9),),)
    with pytest.raises(UserError, match=r"task 12: rationale span \[6, 10\] is outside its text of 9 char"):
        only(tmp_path, marked)
    with pytest.raises(UserError, match="unknown way to count offsets 'bytes'"):
        only(tmp_path, marked, offsets="bytes")


def test_a_mark_that_is_not_its_text_is_remarked_upon(tmp_path):
    with collecting() as problems:
        found = only(tmp_path, annotation(choice("good"), mark(0, 2, "good")))
    assert found.rationale == (((0, 2),),)
    assert problems == [
        f"{tmp_path / 'project.json'}: task 12: the mark at 0 to 2 is 'so' there, but 'good' in the export"
    ]


def test_blanks_in_the_text_of_a_mark_do_not_matter(tmp_path):
    """Label Studio squeezes blanks and spells out line breaks in the text, but not in the offsets."""
    marked = annotation(choice("good"), mark(0, 9, r"a  b\nc d"), mark(0, 9, "a b c d"))
    with collecting() as problems:
        (found,) = examples(tmp_path, [task(marked, text="a  b\r\nc d")])
    assert (found.rationale, problems) == ((((0, 9),),), [])


def test_several_texts(tmp_path):
    data = {"premise": "A man sleeps.", "hypothesis": "He is awake."}
    marks = [
        mark(2, 5, "man", to_name="premise", control="rationale-premise"),
        mark(6, 11, "awake", to_name="h", source="$hypothesis", control="rationale-hypothesis"),
    ]
    export = [{"id": 1, "data": data, "annotations": [annotation(choice("contradiction"), *marks)]}]
    (found,) = examples(tmp_path, export, text="premise,hypothesis")
    assert found.segments == tuple(data.values())
    assert found.rationale == (((2, 5),), ((6, 11),))
    del marks[1]["source"]
    with pytest.raises(UserError, match=r"task 1: unknown text 'h'.* Give each <Text> the name of its"):
        examples(tmp_path, export, text="premise,hypothesis")


def test_the_class_may_be_a_column(tmp_path):
    export = [task(annotation(mark(0, 2)), label="fine"), task(annotation(), number=13, label="poor")]
    assert [one.label for one in examples(tmp_path, export)] == ["fine", "poor"]
    export = [task(annotation(choice("good")), stars=5)]
    assert [one.label for one in examples(tmp_path, export, label="stars")] == [5]


def test_several_controls_must_be_named(tmp_path):
    marked = annotation(choice("good", control="mood"), choice("long", control="length"), mark(0, 2))
    with pytest.raises(UserError, match=r"project\.json: there are several <Choices> \(mood, length\)"):
        only(tmp_path, marked)
    with collecting() as problems:
        assert only(tmp_path, marked, label="mood").label == "good"
    assert [problem.split(": ", 2)[2] for problem in problems] == [
        "a result of type 'choices' from 'length' is not read"
    ]
    marked = annotation(choice("good"), mark(0, 2, control="why"), mark(5, 9, control="names"))
    with pytest.raises(UserError, match=r"there are several <Labels> \(why, names\)"):
        only(tmp_path, marked)
    assert only(tmp_path, marked, rationale="names").rationale == (((5, 9),),)
    assert only(tmp_path, marked, rationale="why,names").rationale == (((0, 2), (5, 9)),)
    assert only(tmp_path, marked, rationale="").rationale is None
    with pytest.raises(UserError, match=r"unknown <Labels> 'whi'; did you mean 'why'"):
        only(tmp_path, marked, rationale="whi")


def test_a_choice_about_a_part_is_not_the_class(tmp_path):
    part = choice("sure", control="certainty", start=0, end=2)
    assert only(tmp_path, annotation(choice("good", control="mood"), mark(0, 2), part)).label == "good"


def test_ids(tmp_path):
    good = annotation(choice("good"))
    bare = task(good)
    del bare["id"]
    export = [task(good, id="mine"), task(good, number=3), bare]
    assert [one.id for one in examples(tmp_path, export)] == ["mine", "3", "project-3"]
    with pytest.raises(UserError, match=r"task 12: duplicate id 'mine', first at .*task 11"):
        examples(tmp_path, [task(good, number=11, id="mine"), task(good, id="mine")])


GOOD = annotation(choice("good"))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("[", r"project\.json:1: malformed JSON at column 2"),
        ('[\n{"id": }]', r"project\.json:2: malformed JSON at column 8"),
        ("[" * 100_000, r"project\.json: unreadable JSON"),
        ("[" + "9" * 5000 + "]", r"project\.json: unreadable JSON"),
        ("", r"project\.json:1: malformed JSON"),
        ("{}", r"project\.json: not a list of tasks; export the project from Label Studio as JSON"),
        ("[]", r"project\.json: there are no tasks in it"),
        ("[1]", r"project\.json: task 1: a task must be a JSON object, not int"),
        ([{"id": 5, "text": TEXT}], r"task 5: no 'annotations' .*JSON-MIN.* as JSON instead"),
        ([{"id": 5, "annotations": [GOOD]}], r"task 5: 'data' must be a JSON object, not NoneType"),
        ([{"data": {"body": TEXT}, "annotations": [GOOD]}], r"task 1: unknown column 'text'.* Known: body"),
        ([task()], r"task 12: the task has no annotations; annotate it, or export annotated tasks only"),
        ([task(GOOD, text=" ")], r"task 12: 'text' is empty"),
        ([task(GOOD, text=3)], r"task 12: 'text' must be a string"),
        ([task(GOOD, text="\ud800")], r"task 12: 'text' holds half a surrogate pair"),
        ([task(GOOD, split="trian")], r"task 12: unknown split 'trian'"),
        ([task(annotation())], r"task 12: no class: no <Choices> was answered.*\(there are text\)"),
        ([task(GOOD), task(annotation(), number=13)], r"task 13: no class is chosen"),
        ([task(annotation(choice("A", "B")), choices=["x", "y"])], r"annotator 1 chose 2 classes \(A, B\)"),
        ([task(annotation(choice("C")), choices=["x", "y"])], r"task 12: 'choices' 'C' is none of the cho"),
        ([task(annotation(choice("A")), choices="x")], r"task 12: 'choices' must be a JSON list"),
        ([task(annotation(choice(None)))], r"task 12: 'choices' is missing"),
        ([task(annotation(choice(["a"])))], r"task 12: 'choices' must be text"),
        ([task(GOOD | {"result": None})], r"task 12: 'result' must be a list, not NoneType"),
        ([task(GOOD | {"result": [[]]})], r"task 12: an item of 'result' must be a JSON object, not list"),
        ([task(3)], r"task 12: an item of 'annotations' must be a JSON object, not int"),
        ([task(annotation(choice("a") | {"value": {"choices": "a"}}))], r"'choices' must be a list, not str"),
        ([task(annotation(choice("a") | {"value": None}))], r"'value' of a result must be a JSON object"),
        ([task(annotation(choice("a"), mark(0, 99)))], r"task 12: rationale span \[0, 99\] is outside its"),
        ([task(annotation(choice("a"), mark(2, 2)))], r"task 12: rationale span \[2, 2\] is empty"),
        ([task(annotation(choice("a"), mark("/p[1]", "/p[1]")))], r"task 12: .* two whole numbers"),
        ([task(annotation(mark(0, 1, type="hypertextlabels")))], r"task 12: marks of type 'hypertextl"),
    ],
)
def test_mistakes_name_the_task(tmp_path, found, message):
    with pytest.raises(UserError, match=message):
        examples(tmp_path, found)


def test_all_problems_are_collected(tmp_path):
    with collecting() as problems:
        found = examples(tmp_path, [task(), task(GOOD, number=13), task(GOOD, number=14, text="")])
    assert len(found) == 1
    assert [problem.split(": ")[1] for problem in problems] == ["task 12", "task 14"]


def test_not_utf_8_and_not_there(tmp_path):
    path = tmp_path / "project.json"
    path.write_bytes(b'[{"data": "\xff"}]')
    with pytest.raises(UserError, match=r"project\.json:1: not UTF-8"):
        read(path, columns=Columns())
    with pytest.raises(UserError, match="did you mean"):
        read(tmp_path / "projekt.json", columns=Columns())
    with pytest.raises(UserError, match="unknown way to combine"):
        read(path, columns=Columns(), annotators="all")


KEYS = [
    "id", "data", "text", "label", "annotations", "result", "type", "value", "start", "choices", "to_name"
]  # fmt: skip
WORDS = st.sampled_from([TEXT, "labels", "text", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=2), JSON, JSON)
def test_any_json_gives_records_or_a_user_error(tmp_path_factory, wild, value, result):
    shaped = task(annotation(choice("good"), {**mark(0, 1), "value": value}, result), number=1)
    for found in (wild, [shaped], [{"data": value, "annotations": result}]):
        records_or_user_error(read, saved(tmp_path_factory.mktemp("wild"), found), columns=Columns())


# Out


@dataclass
class Mark:
    start: int
    end: int
    segment: int = 0


@dataclass
class Explained:
    label: str
    spans: tuple[Mark, ...] = ()
    probabilities: dict = field(default_factory=lambda: {"good": 0.75, "bad": 0.25})

    @property
    def explained(self):
        return self.label


def round_trip(folder, given, **columns):
    names = tuple(columns.get("text", "text").split(","))
    return examples(folder, tasks(given, segments=names), **columns)


WILD = [
    "😀😀 so\u00a0good 👩‍👩‍👧",
    "a\u2028b\r\nc\td  e",
    "日本語 𝒜𝓑 مرحبا",
    'quote " \\n <b>&amp;</b>',
    "e\u0301",
]


@pytest.mark.parametrize("text", WILD)
def test_what_was_written_is_read(tmp_path, text):
    given = [
        Example("first", (text,), "good", (((0, 1), (2, len(text))) if len(text) > 2 else ((1, 2),),)),
        Example("second", (text,), "bad", None),
        Example("third", (text,), "bad", (((0, 2),),), groups=((((0, 1),),), (((1, 2),),))),
    ]
    # Each group is written as an annotation with the label, which is read as a vote.
    back = [*given[:2], replace(given[2], votes=("bad", "bad"))]
    with collecting() as problems:
        assert round_trip(tmp_path, given) == back
    assert problems == []


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=2).filter(str.strip), min_size=2, max_size=2),
    st.data(),
)
def test_any_marks_survive(tmp_path_factory, texts, data):
    rationale = tuple(
        ((start := data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(start + 1, len(text)))),)
        for text in texts
    )
    given = [Example("x", tuple(texts), "good", rationale)]
    with collecting() as problems:
        assert round_trip(tmp_path_factory.mktemp("trip"), given, text="a,b") == given
    assert problems == []


def test_sets_of_labels_survive_none_one_and_several(tmp_path):
    """Label Studio writes no result where nothing is chosen, so the task's data says that labels are sets."""
    given = [
        Example("none", (TEXT,), (), (((0, 2),),)),
        Example("one", (TEXT,), ("loud",), None),
        Example("two", (TEXT,), ("dull", "loud"), (((5, 9),),)),
    ]
    found = tasks(given)
    chosen = [[one["value"]["choices"] for one in results_of(task, "choices")] for task in found]
    assert chosen == [[], [["loud"]], [["dull", "loud"]]]
    assert all(task["data"]["multi_label"] is True for task in found)
    assert round_trip(tmp_path, given) == given
    assert round_trip(tmp_path, given[:2]) == given[:2]
    assert round_trip(tmp_path, given[:1]) == given[:1]


def test_several_chosen_labels_make_sets_of_all(tmp_path):
    both, none = annotation(choice("loud", "dull")), annotation(mark(0, 2))
    found = examples(tmp_path, [task(both, both, none), task(none, number=13)])
    assert [one.label for one in found] == [("dull", "loud"), ()]
    assert found[0].votes == (("dull", "loud"), ("dull", "loud"), ())


def test_choices_of_each_task_survive(tmp_path):
    given = [
        Example(
            "x", ("where do fish live ?",), "B", (((9, 13),),), choices=("the <b>sky</b>", "$id & sea", "A")
        ),
        Example("y", ("why ?",), "A", None, choices=("so", "so", "so")),
    ]
    found = tasks(given)
    assert found[0]["data"]["options"] == [
        {"value": "A", "html": "A. the &lt;b&gt;sky&lt;/b&gt;"},
        {"value": "B", "html": "B. $id &amp; sea"},
        {"value": "C", "html": "C. A"},
    ]
    assert [results_of(task, "choices")[0]["value"] for task in found] == [
        {"choices": ["B"]},
        {"choices": ["A"]},
    ]
    assert round_trip(tmp_path, given) == given


def test_options_of_other_projects_are_known_by_their_text(tmp_path):
    options = [{"value": "the sky"}, {"value": "the sea", "hint": "wet"}]
    (found,) = examples(tmp_path, [task(annotation(choice("the sea")), choices=options)])
    assert (found.label, found.choices) == ("B", ("the sky", "the sea"))
    (found,) = examples(tmp_path, [task(annotation(choice("the sea")), choices=options)], choices="")
    assert (found.label, found.choices) == ("the sea", None)


def results_of(task, kind):
    return [one for given in task["annotations"] for one in given["result"] if one["type"] == kind]


def test_nothing_marked_cannot_be_told_from_not_marked(tmp_path):
    assert round_trip(tmp_path, [Example("x", (TEXT,), "good", ((),))])[0].rationale is None


def test_tasks_to_do_have_predictions_only():
    (found,) = tasks(
        [Example("x", (TEXT,))],
        explanations=[Explained("good", (Mark(5, 9),))],
        split="train",
        model_version="run 7",
    )
    assert json.loads(json.dumps(found)) == {
        "data": {"id": "x", "text": TEXT, "split": "train"},
        "annotations": [],
        "predictions": [
            {
                "model_version": "run 7",
                "score": 0.75,
                "result": [choice("good") | {"id": "t1-p-1"}, mark(5, 9, "good") | {"id": "t1-p-2"}],
            }
        ],
    }


def test_gold_and_predictions_side_by_side(tmp_path):
    given = Example("x", ("a b", "c d"), "bad", (((0, 1),), ()))
    found = tasks([given], explanations=[Explained("good", (Mark(2, 3, 1),))], segments=("left", "right"))
    (predicted,) = found[0]["predictions"]
    assert predicted["result"][1]["to_name"] == "right"
    answers = found[0]["annotations"] + found[0]["predictions"]
    ids = [result["id"] for answer in answers for result in answer["result"]]
    assert len(set(ids)) == len(ids) == 4
    assert examples(tmp_path, found, text="left,right") == [given]


def test_what_cannot_be_a_task():
    plain = Example("x", (TEXT,), "good")
    with pytest.raises(UserError, match="one explanation for each example"):
        tasks([plain], explanations=[])
    with pytest.raises(UserError, match="example x has 1 segments, but 2 names"):
        tasks([plain], segments=("a", "b"))
    for names in ((), ("a", "a"), ("a b",), ("id",), ('"/><x',)):
        with pytest.raises(UserError, match="segment"):
            tasks([plain], segments=names)
        with pytest.raises(UserError, match="segment"):
            labeling_config(["good", "bad"], names)


def test_the_interface_is_xml_and_escaped():
    labels = ['<script>"&', "naïve 😀", "two\nlines", 3]
    view = ElementTree.fromstring(labeling_config(labels))
    assert [one.get("value") for one in view.iter("Choice")] == [str(label) for label in labels]
    with pytest.raises(UserError, match="cannot; rename it"):
        labeling_config(["a\x00"])


def test_the_interface_of_sets_and_of_choices():
    (several,) = ElementTree.fromstring(labeling_config(["loud", "dull"], multi_label=True)).iter("Choices")
    assert several.get("choice") == "multiple" and several.get("required") is None
    assert [one.get("value") for one in several] == ["loud", "dull"]
    (own,) = ElementTree.fromstring(labeling_config(["A", "B"], choices=True)).iter("Choices")
    assert (own.get("value"), own.get("choice"), own.get("required")) == ("$options", "single", "true")
    assert not list(own)


@pytest.mark.parametrize("segments", [("text",), ("premise", "hypothesis")])
def test_the_interface_has_the_names_tasks_use(segments):
    """Every result refers to a control that labels the text it is about."""
    view = ElementTree.fromstring(labeling_config(["good", "bad"], segments))
    assert {one.get("name"): one.get("value") for one in view.iter("Text")} == {s: f"${s}" for s in segments}
    given = Example("x", ("a b",) * len(segments), "good", (((0, 1),),) * len(segments))
    (found,) = tasks([given], segments=segments)
    for result in found["annotations"][0]["result"]:
        (control,) = [one for one in view if one.get("name") == result["from_name"]]
        assert control.tag.lower() == result["type"]
        assert control.get("toName") == result["to_name"]
        assert set(result["value"][result["type"]]) <= {one.get("value") for one in control}
