"""A user study as a web page, a script or a test uses it: join, next question, answer, withdraw."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unirex.data.example import Rationale
from unirex.errors import UserError
from unirex.files import new_draft
from unirex.user_study.assignment import plan_questions
from unirex.user_study.definition import (
    ALIGNMENT,
    CONFIDENCE,
    Definition,
    Task,
    read_definition,
    write_definition,
)
from unirex.user_study.store import Store, add_annotator, now, plain_code

CHECK = "To show that you read this text, please "
LONGEST = 24 * 3600.0  # seconds; a page that was left open longer says nothing about reading


@dataclass(frozen=True, slots=True)
class Annotator:
    """One person, known by a number only."""

    number: int
    consented: bool
    withdrawn: bool
    simulated: bool
    answered: int
    questions: int

    @property
    def name(self) -> str:
        """The anonymous name in tables and exports."""
        return f"a{self.number + 1:02d}"

    @property
    def finished(self) -> bool:
        """Whether all questions are answered."""
        return self.answered == self.questions


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is shown. It holds neither the method nor, in forward simulation, the label."""

    position: int  # among the person's questions, from 0
    questions: int  # how many there are in all
    task: Task
    practice: bool
    segments: tuple[str, ...]
    marks: Rationale  # character spans of each segment
    choices: tuple[str, ...] | None
    labels: tuple[str, ...]  # to choose from
    label: str | None  # shown with the text, in rating and reading


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person answers: label and confidence in forward simulation, alignment in rating."""

    label: str | None = None
    confidence: int | None = None  # 1 to 4
    alignment: int | None = None  # 1 to 5


class UserStudy:
    """A study in its folder. Safe to use from several threads and processes at once."""

    def __init__(self, folder: Path, definition: Definition) -> None:
        self.folder, self.definition, self.store = folder, definition, Store(folder)

    @classmethod
    def create(cls, folder: str | Path, definition: Definition, *, annotators: int) -> UserStudy:
        """Make a study's folder, whole or not at all."""
        folder = Path(folder)
        if folder.exists():
            raise UserError(f"{folder} exists already; a study needs a new folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with new_draft(folder, folder=True) as draft:
            made = cls(draft, definition)
            write_definition(draft, definition)
            made.store.create()
            made.add_annotators(annotators)
            made.store.forget()
            made.close()
            draft.chmod(0o700)  # codes and answers are for the owner alone
            draft.rename(folder)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> UserStudy:
        """The study in a folder."""
        return cls(Path(folder), read_definition(Path(folder)))

    def close(self) -> None:
        """Close this thread's connection."""
        self.store.close()

    def add_annotators(self, count: int) -> list[str]:
        """Invite more people; returns their codes. The plan goes on where the last one ended."""
        if count < 1:
            raise UserError(f"annotators {count}: give how many, at least 1.")
        with self.store.writing() as connection:
            (first,) = connection.execute("SELECT COUNT(*) FROM annotators").fetchone()
            return [
                add_annotator(connection, plan_questions(self.definition, number), number=number)
                for number in range(first, first + count)
            ]

    def annotators(self) -> list[Annotator]:
        """All people, with how far they are."""
        return [_annotator(row) for row in self.store.rows(f"{_PEOPLE} ORDER BY number")]

    def codes(self) -> dict[int, str]:
        """The codes of those who have not withdrawn, by number."""
        rows = self.store.rows("SELECT number, code FROM annotators WHERE code IS NOT NULL ORDER BY number")
        return {row["number"]: row["code"] for row in rows}

    def join(self, code: str) -> Annotator:
        """The person with this code, who begins or comes back."""
        found = self.store.rows("SELECT number FROM annotators WHERE code = ?", (plain_code(code),))
        if not found:
            raise UserError("this code is not one of the study's; check it, or ask who gave it to you.")
        number = found[0]["number"]
        with self.store.writing() as connection:
            joined = "UPDATE annotators SET joined = ? WHERE number = ? AND joined IS NULL"
            connection.execute(joined, (now(), number))
        return self.annotator(number)

    def annotator(self, number: int) -> Annotator:
        """One person as they stand now."""
        rows = self.store.rows(f"{_PEOPLE} WHERE number = ?", (number,))
        if not rows:
            raise UserError(f"this study has no annotator {number}.")
        return _annotator(rows[0])

    def consent(self, annotator: Annotator, *, simulated: bool = False) -> Annotator:
        """Note that the person agreed to take part; nothing can be answered before.

        Who is simulated is decided with the first consent, and stays.
        """
        with self.store.writing() as connection:
            connection.execute(
                "UPDATE annotators SET consented = ?, simulated = ? "
                "WHERE number = ? AND consented IS NULL AND withdrawn IS NULL",
                (now(), simulated, annotator.number),
            )
        return self.annotator(annotator.number)

    def next(self, annotator: Annotator) -> Question | None:
        """The first question the person has not answered; None when all are."""
        current = self.annotator(annotator.number)
        if current.withdrawn:
            raise UserError(f"annotator {current.name} has withdrawn.")
        if current.finished:
            return None
        return self.question(current, current.answered)

    def question(self, annotator: Annotator, position: int) -> Question:
        """One of a person's questions by its place; pages show only the `next` one."""
        query = "SELECT * FROM questions WHERE annotator = ? AND position = ?"
        rows = self.store.rows(query, (annotator.number, position))
        if not rows:
            raise UserError(f"annotator {annotator.name} has no question {position}.")
        row = rows[0]
        item = self.definition.items[row["item"]]
        showing = item.showings[row["arm"]]
        segments = item.segments
        if row["part"] == "check":
            segments = (
                *segments[:-1],
                f"{segments[-1]} {instruction(row['task'], row['right'], row['score'])}",
            )
        return Question(
            position=position,
            questions=annotator.questions,
            task=row["task"],
            practice=row["part"] == "practice",
            segments=segments,
            marks=showing.marks if row["marked"] else tuple(() for _ in segments),
            choices=item.choices,
            labels=self.definition.labels_of(item) if row["task"] == "simulation" else (),
            label=None if row["task"] == "simulation" else showing.label,
        )

    def answer(self, annotator: Annotator, question: Question, reply: Reply, *, seconds: float) -> str | None:
        """Store an answer for good; returns the right label of a practice question, else None.

        On return the answer is on disk. The same answer to the same question again, as from a page that was
        sent twice, changes nothing; another answer to it is refused, and so is any but the next question.
        """
        self._check(question, reply)
        if not math.isfinite(seconds) or seconds < 0:
            raise UserError(f"seconds {seconds}: give the time the answer took, 0 or more.")
        key = (annotator.number, question.position)
        given = (reply.label, reply.confidence, reply.alignment)
        try:
            with self.store.writing() as connection:
                query = (
                    "SELECT label, confidence, alignment FROM answers WHERE annotator = ? AND position = ?"
                )
                before = connection.execute(query, key).fetchone()
                if before is None:
                    row = (*key, question.task, *given, min(seconds, LONGEST), now())
                    connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
                elif tuple(before) != given:
                    raise UserError("this question is answered already; an answer cannot be changed.")
        except sqlite3.IntegrityError as error:
            raise UserError(f"the answer was not stored: {error}.") from error
        return self._feedback(key) if question.practice else None

    def withdraw(self, annotator: Annotator, *, keep_answers: bool = False) -> int:
        """End a person's part and delete their answers; returns how many were deleted."""
        with self.store.writing() as connection:
            gone = "UPDATE annotators SET withdrawn = COALESCE(withdrawn, ?), code = NULL WHERE number = ?"
            connection.execute(gone, (now(), annotator.number))
            if keep_answers:
                return 0
            done = connection.execute("DELETE FROM answers WHERE annotator = ?", (annotator.number,))
        self.store.forget()
        return done.rowcount

    def _check(self, question: Question, reply: Reply) -> None:
        """Refuse what does not answer the question, in words for the person who sent it."""
        wanted: dict[str, Sequence[object]] = {"label": (None,), "confidence": (None,), "alignment": (None,)}
        if question.task == "simulation":
            wanted |= {"label": question.labels, "confidence": tuple(CONFIDENCE)}
        elif question.task == "rating":
            wanted["alignment"] = tuple(ALIGNMENT)
        for name, values in wanted.items():
            value = getattr(reply, name)
            if isinstance(value, bool) or value not in values:
                allowed = "nothing" if values == (None,) else "one of " + ", ".join(map(str, values))
                raise UserError(f"{name} {value!r}: this question takes {allowed}.")

    def _feedback(self, key: tuple[int, int]) -> str | None:
        rows = self.store.rows("SELECT right FROM questions WHERE annotator = ? AND position = ?", key)
        return None if not rows else rows[0]["right"]


def instruction(task: Task, label: str | None, score: int) -> str:
    """The sentence of an attention check.

    >>> instruction("rating", None, 2)
    'To show that you read this text, please choose alignment 2 (slightly).'
    """
    if task == "simulation":
        return f"{CHECK}choose the label “{label}” and confidence {score} ({CONFIDENCE[score]})."
    return f"{CHECK}choose alignment {score} ({ALIGNMENT[score]})."


_PEOPLE = """
SELECT *, (SELECT COUNT(*) FROM answers WHERE annotator = number) AS answered,
    (SELECT COUNT(*) FROM questions WHERE annotator = number) AS questions FROM annotators
"""


def _annotator(row: sqlite3.Row) -> Annotator:
    return Annotator(
        number=row["number"],
        consented=row["consented"] is not None,
        withdrawn=row["withdrawn"] is not None,
        simulated=bool(row["simulated"]),
        answered=row["answered"],
        questions=row["questions"],
    )
