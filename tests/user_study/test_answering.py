"""Answering a study: resumed where it stopped, never changed, never lost, for several people at once."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest
from studies import joined, study

from unirex.errors import UserError
from unirex.user_study import Question, Reply, UserStudy
from unirex.user_study.answers import read_answers


def reply(question):
    if question.task == "simulation":
        return Reply(question.labels[0], 3)
    return Reply(alignment=4) if question.task == "rating" else Reply()


def answer_all(made, person, limit=10_000):
    given = 0
    while given < limit and (question := made.next(person)) is not None:
        made.answer(person, question, reply(question), seconds=2.5)
        given += 1
    return given


def test_a_person_comes_back_where_they_stopped(tmp_path):
    made = study(tmp_path / "s")
    person = joined(made)
    assert answer_all(made, person, 7) == 7
    again = UserStudy.open(tmp_path / "s")
    person = again.join(again.codes()[0].lower().replace("-", " "))
    assert (person.answered, person.finished) == (7, False)
    question = again.next(person)
    assert question.position == 7 and question == again.next(person)
    answer_all(again, person)
    assert again.next(person) is None and again.annotator(0).finished
    assert len(read_answers(made)) == person.questions


def test_an_answer_is_given_once_and_in_order(tmp_path):
    made = study(tmp_path / "s")
    person = joined(made)
    first = made.next(person)
    made.answer(person, first, Reply("pos", 2), seconds=1)
    made.answer(person, first, Reply("pos", 2), seconds=9)  # a page that was sent twice
    (row,) = read_answers(made)
    assert row.seconds == 1 and row.label == "pos"
    with pytest.raises(UserError, match="cannot be changed"):
        made.answer(person, first, Reply("neg", 2), seconds=1)
    second = made.next(person)
    later = Question(
        **{field.name: getattr(second, field.name) for field in fields(second)} | {"position": 5}
    )
    with pytest.raises(UserError, match="not the next question"):
        made.answer(person, later, Reply("pos", 2), seconds=1)
    with made.store.writing() as connection, pytest.raises(sqlite3.IntegrityError, match="cannot be changed"):
        connection.execute("UPDATE answers SET label = 'neg'")
    with made.store.writing() as connection, pytest.raises(sqlite3.IntegrityError, match="who withdraw"):
        connection.execute("DELETE FROM answers")


def test_only_answers_to_the_question_are_taken(tmp_path):
    made = study(tmp_path / "s")
    person = joined(made)
    question = made.next(person)
    wrong = [
        Reply("so-so", 2),
        Reply("pos"),
        Reply("pos", 5),
        Reply("pos", True),
        Reply("pos", 2, 3),
        Reply(),
    ]
    for given in wrong:
        with pytest.raises(UserError, match="this question takes"):
            made.answer(person, question, given, seconds=1)
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(UserError, match="seconds"):
            made.answer(person, question, Reply("pos", 2), seconds=seconds)
    assert not read_answers(made)
    stranger = made.join(made.codes()[1])
    with pytest.raises(UserError, match="has not consented"):
        made.answer(stranger, made.next(stranger), Reply("pos", 2), seconds=1)
    with pytest.raises(UserError, match="not one of the study's"):
        made.join("AAAA-AAAA-AAAA")


def test_questions_do_not_give_away_what_is_asked(tmp_path):
    made = study(tmp_path / "s")
    person = joined(made)
    shown = []
    while (question := made.next(person)) is not None:
        shown.append(question)
        feedback = made.answer(person, question, reply(question), seconds=1)
        assert (feedback is not None) == (question.practice and question.task == "simulation")
    simulated = [question for question in shown if question.task == "simulation"]
    assert all(question.label is None for question in simulated)
    assert all(question.label in ("neg", "pos") for question in shown if question.task == "rating")
    last = max(question.position for question in simulated)
    assert last < min(question.position for question in shown if question.task == "rating")
    assert not {field.name for field in fields(Question)} & {"arm", "method", "right", "part", "item"}
    checks = [question for question in shown if "please choose" in question.segments[-1]]
    assert len(checks) == 2  # one in each task


def test_who_withdraws_leaves_nothing_behind(tmp_path):
    made = study(tmp_path / "s")
    person, other, code = joined(made), joined(made, 1), made.codes()[0]
    answer_all(made, person, 5)
    answer_all(made, other, 3)
    assert made.withdraw(person) == 5
    assert {row.annotator for row in read_answers(made)} == {"a02"}
    assert made.annotator(0).withdrawn and 0 not in made.codes()
    with pytest.raises(UserError, match="not one of"):
        made.join(code)
    with pytest.raises(UserError, match="withdrawn"):
        made.next(person)
    assert made.withdraw(other, keep_answers=True) == 0 and len(read_answers(made)) == 3
    assert code.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "s").iterdir())


def test_several_people_answer_at_once(tmp_path):
    made = study(tmp_path / "s", annotators=4)
    people = [joined(made, number) for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(lambda person: answer_all(made, person), people))
    assert given == [person.questions for person in people]
    assert len(read_answers(made)) == sum(given)


def test_one_person_in_two_windows_answers_each_question_once(tmp_path):
    made = study(tmp_path / "s", annotators=1)
    person = joined(made)

    def window(_):
        while (question := made.next(person)) is not None:
            made.answer(person, question, reply(question), seconds=1)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(window, range(2)))
    assert len(read_answers(made)) == person.questions


ANSWERING = """
import sys, time
from unirex.user_study import Reply, UserStudy
study = UserStudy.open(sys.argv[1])
person = study.consent(study.join(study.codes()[int(sys.argv[2])]))
while (question := study.next(person)) is not None:
    reply = Reply(question.labels[0], 3) if question.task == "simulation" else Reply(alignment=4)
    study.answer(person, question, reply, seconds=1)
    print(question.position, flush=True)  # acknowledged
    time.sleep(0.05)  # so that no process is done before the other has begun
"""


def test_every_acknowledged_answer_survives_a_kill(tmp_path):
    """Two processes answer at once and are killed in the middle."""
    made = study(tmp_path / "s", sizes={"main": 60, "practice": 1, "check": 1})
    made.close()
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ANSWERING, tmp_path / "s", str(number)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(2)
    ]
    acknowledged = []
    begun = [[process.stdout.readline() for _ in range(5)] for process in processes]
    for process, lines in zip(processes, begun, strict=True):
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
        process.wait()
        acknowledged.append([int(line) for line in lines if line.endswith("\n")])
    again = UserStudy.open(tmp_path / "s")
    for number, positions in enumerate(acknowledged):
        person = again.join(again.codes()[number])
        assert len(positions) >= 5 and not person.finished
        assert person.answered in (
            len(positions),
            len(positions) + 1,
        )  # stored, and killed before it was said
        assert again.next(person).position == person.answered
    assert again.store.rows("PRAGMA integrity_check")[0][0] == "ok"


def test_a_study_is_made_whole_or_not_at_all(tmp_path):
    made = study(tmp_path / "s")
    assert made.definition == UserStudy.open(tmp_path / "s").definition
    assert made.store.rows("PRAGMA journal_mode")[0][0] == "wal"
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0
    with pytest.raises(UserError, match="exists already"):
        study(tmp_path / "s")
    with pytest.raises(UserError, match="at least 1"):
        study(tmp_path / "t", annotators=0)
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    with pytest.raises(UserError, match="no user study here"):
        UserStudy.open(tmp_path)
    (tmp_path / "s" / "answers.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(UserError, match=r"answers\.sqlite"):
        UserStudy.open(tmp_path / "s").annotators()
