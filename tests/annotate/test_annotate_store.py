"""Who gets which text, what is kept, and that nothing acknowledged is ever lost."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from annotating import annotate_all, examples, project, reply

from unirex.annotate.answers import agreement, read_answers
from unirex.annotate.create import Suggested
from unirex.annotate.definition import Definition, Source
from unirex.annotate.project import Project
from unirex.annotate.status import status_of
from unirex.data.example import Example
from unirex.errors import UserError

SLM = Source("runs/slm", "slm-fp", "shared-lm", 20.0)


def test_two_people_at_once_get_different_texts(tmp_path):
    made = project(tmp_path / "g.sqlite")
    first, second = made.annotator(0), made.annotator(1)
    one, other = made.next(first), made.next(second)
    assert (one.text, other.text) == (0, 1)
    assert made.next(first) == one  # it stays theirs until they answer
    made.save(first, one.text, reply(1, (2, 10)), version=0)
    assert made.next(first).text == 2 and made.next(second).text == 1
    with ThreadPoolExecutor(2) as threads:
        texts = list(threads.map(lambda number: annotate_all(made, number), (0, 1)))
    assert sorted(texts[0] + texts[1]) == [1, 2, 3, 4]


def test_each_text_goes_to_as_many_people_as_wanted(tmp_path):
    made = project(tmp_path / "g.sqlite", people=3, per_text=2)
    assert [made.next(made.annotator(number)).text for number in range(3)] == [0, 0, 1]
    for number in range(3):
        annotate_all(made, number)
    assert [len(text.answers) for text in read_answers(made)] == [2] * 5
    assert made.next(made.annotator(0)) is None and made.waiting(made.annotator(0)) == 0


def test_a_text_is_free_again_when_its_person_does_not_come_back(tmp_path):
    moment = [1000.0]
    project(tmp_path / "g.sqlite", examples()[:1])
    made = Project(tmp_path / "g.sqlite", clock=lambda: moment[0])
    gone, other = made.annotator(0), made.annotator(1)
    assert made.next(gone).text == 0
    assert made.next(other) is None and made.waiting(other) == 1
    moment[0] += 29 * 60
    made.renew(gone, 0)
    moment[0] += 29 * 60
    assert made.next(other) is None  # the page of the first was still open
    moment[0] += 2 * 60
    assert made.next(other).text == 0
    made.save(gone, 0, reply(1), version=0)  # work that is done is not thrown away
    made.save(other, 0, reply(0), version=0)
    assert len(next(read_answers(made)).answers) == 2


def test_skipped_texts_go_to_others(tmp_path):
    made = project(tmp_path / "g.sqlite", examples()[:1])
    me, other = made.annotator(0), made.annotator(1)
    made.skip(me, made.next(me).text, "not English")
    assert made.next(me) is None and made.annotator(0).skipped == 1
    assert made.next(other).text == 0


def test_an_answer_is_checked_versioned_and_never_overwritten(tmp_path):
    made = project(tmp_path / "g.sqlite")
    me, other = made.annotator(0), made.annotator(1)
    item = made.next(me)
    for wrong in (reply(7), reply(1, (0, 99)), reply(1, (5, 2)), reply(1, (-1, 2)), reply(1, (1, 2, 3))):
        with pytest.raises(UserError):
            made.save(me, 0, wrong, version=0)
    with pytest.raises(UserError, match="not yours"):
        made.save(other, 0, reply(1), version=0)
    assert made.save(me, item.text, reply(1, (2, 10), (9, 12)), version=0) == 1
    assert made.save(me, item.text, reply(1, (2, 10), (9, 12)), version=0) == 1  # sent twice
    with pytest.raises(UserError, match="another window"):
        made.save(me, item.text, reply(0), version=0)
    assert made.item(me, 0).marks == (((2, 12),),)
    assert made.save(me, item.text, reply(0), version=1) == 2
    (text,) = read_answers(made)
    assert (text.answers[0].label, text.answers[0].marking) == ("neg", ((),))
    for change in ("UPDATE annotations SET label = '1'", "DELETE FROM annotations"):
        with pytest.raises(sqlite3.IntegrityError, match="never"), made.store.writing() as connection:
            connection.execute(change)


def test_what_is_not_started_from_is_not_shown(tmp_path):
    given = [Example("g", ("so dull",), "neg", (((3, 7),),))]
    says = [Suggested({"label": "pos", "probability": 0.6, "marks": [[[0, 2]]]})]

    def shown(start):
        made = project(tmp_path / start, given, start=start, suggested=says, systems=(SLM,))
        return made.next(made.annotator(0))

    blank, suggestion, gold = map(shown, ("blank", "suggestion", "gold"))
    assert (blank.label, blank.marks, blank.origin) == ((), ((),), "")
    assert (suggestion.label, suggestion.marks) == ((1,), (((0, 2),),))
    assert (gold.label, gold.marks) == ((0,), (((3, 7),),))


def test_the_order_goes_by_uncertainty_or_by_what_people_dispute(tmp_path):
    says = [Suggested(priority=value) for value in (0.1, 0.9, 0.5, 0.2, 0.3)]
    unsure = project(tmp_path / "u", order="uncertainty", systems=(SLM,), suggested=says)
    assert annotate_all(unsure, 0) == [1, 2, 4, 3, 0]
    disputed = project(tmp_path / "d", people=3, per_text=3, order="disagreement")
    annotate_all(disputed, 0, label=1, spans=[(0, 2)])
    me = disputed.annotator(1)
    for _ in range(5):
        item = disputed.next(me)
        other = item.text == 3  # here the second person says something else
        disputed.save(me, item.text, reply(0 if other else 1, (3, 6) if other else (0, 2)), version=0)
    assert disputed.next(disputed.annotator(2)).text == 3


def test_agreement_is_that_of_the_metrics_and_ties_are_left_out_of_the_gold(tmp_path):
    made = project(tmp_path / "g.sqlite", examples()[:2], per_text=2)
    annotate_all(made, 0, label=1, spans=[(0, 4)])
    me = made.annotator(1)
    made.save(me, made.next(me).text, reply(1, (0, 4)), version=0)
    made.save(me, made.next(me).text, reply(0, (0, 4)), version=0)
    found = agreement(list(read_answers(made)))
    assert (found.words.texts, found.words.alpha, found.labels.texts, found.labels.same) == (1, 1.0, 2, 0.5)
    status = status_of(made)
    assert (status.begun, status.complete, status.people[0].annotated) == (2, 2, 2)


def test_impossible_wishes_are_refused():
    for settings, said in (
        ({"start": "suggestion"}, "--run"),
        ({"order": "uncertainty"}, "--run"),
        ({"order": "disagreement"}, "--per_text 3"),
        ({"order": "disagreement", "per_text": 2}, "--per_text 3"),
        ({"order": "alphabet"}, "as-is"),
        ({"per_text": 0}, "1 to"),
    ):
        with pytest.raises(UserError, match=said):
            Definition("t", ("a", "b"), ("text",), **settings)
    with pytest.raises(UserError, match="--labels"):
        Definition("t", ("a",), ("text",))


def test_a_file_that_is_no_annotation_is_refused(tmp_path):
    (tmp_path / "x.sqlite").write_text("not a database, but long enough to be looked at" * 30)
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    for name in ("x.sqlite", "empty.sqlite", "none.sqlite"):
        with pytest.raises(UserError, match=name):
            Project(tmp_path / name)


def test_codes_names_and_the_file_are_for_the_owner(tmp_path):
    made = project(tmp_path / "g.sqlite")
    code = made.codes()[1]
    assert made.join(code.lower().replace("-", " ")).name == "a02"
    with pytest.raises(UserError, match="not known"):
        made.join("AAAA-BBBB-CCCC")
    assert made.join_by_name("Ann ").number == made.join_by_name("ann").number == 2
    assert (tmp_path / "g.sqlite").stat().st_mode & 0o077 == 0


WRITER = """
import sys
from unirex.annotate.items import Reply
from unirex.annotate.project import Project
made = Project(sys.argv[1]); me = made.annotator(int(sys.argv[2]))
while (item := made.next(me)) is not None:
    made.save(me, item.text, Reply((1,), [[(0, 2)]]), version=0)
    print(item.text, flush=True)
"""


def test_every_acknowledged_annotation_survives_a_kill(tmp_path):
    many = [Example(f"t{number}", ("so good",)) for number in range(3000)]
    project(tmp_path / "g.sqlite", many)
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "g.sqlite")]
    acknowledged = []
    children = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True, env=environment)
        for n in (0, 1)
    ]
    for child in children:
        acknowledged += [int(child.stdout.readline()) for _ in range(20)]
    for child in children:
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().splitlines() if line.strip()]
        child.wait()
    made = Project(tmp_path / "g.sqlite")
    kept = {int(text.example.id[1:]) for text in read_answers(made)}
    assert len(acknowledged) >= 40 and set(acknowledged) <= kept
    assert len(set(acknowledged)) == len(acknowledged)  # no text went to both
    assert made.next(made.annotator(0)) is not None


def test_suggestions_of_choices_sets_and_several_systems(encoders, tmp_path):
    from transformers import PreTrainedTokenizerFast

    import tiny
    from unirex.annotate.create import suggestions
    from unirex.config import Config
    from unirex.data.example import Layout
    from unirex.modeling import RationaleModel
    from unirex.system import System

    folder = encoders("bert")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)

    def system(seed, **options):
        config = Config(encoder=str(folder), extractor="shared-lm")
        model = RationaleModel.from_encoder(config, ("A", "B"), **options)
        tiny.shaken(model.task.head, seed=seed)
        tiny.shaken(model.extractor.head, seed=seed + 1)
        return System(model.eval(), tokenizer)

    question = [Example("q", ("what is a good film ?",), choices=("dull", "fun to watch"))]
    settings = Definition("t", ("A", "B"), ("text",), systems=(SLM,), start="suggestion")
    (said,) = suggestions(question, [system(3, layout=Layout(choice=True))], settings, progress=False)
    made = project(
        tmp_path / "c", question, labels=("A", "B"), start="suggestion", systems=(SLM,), suggested=[said]
    )
    item = made.next(made.annotator(0))
    assert len(item.label) == 1 and len(item.marks) == 1 and item.marks[0]  # the chosen answer is no segment
    several = Definition("t", ("A", "B"), ("text",), systems=(SLM,), multi_label=True, order="uncertainty")
    (said,) = suggestions(examples()[:1], [system(3, multi_label=True)], several, progress=False)
    assert isinstance(said.suggestion["label"], tuple) and 0 <= said.priority <= 1
    two = Definition("t", ("A", "B"), ("text",), systems=(SLM, SLM), order="disagreement")
    apart = [one.priority for one in suggestions(examples(), [system(3), system(9)], two, progress=False)]
    same = [one.priority for one in suggestions(examples(), [system(3), system(3)], two, progress=False)]
    assert max(apart) > 0 and max(same) == 0
