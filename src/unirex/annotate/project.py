"""An annotation as a web page, a script or a test uses it: join, next text, save, skip, look again."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unirex.annotate.definition import Definition
from unirex.annotate.items import (
    Item,
    Reply,
    answer_json,
    checked_reply,
    example_of,
    item_of,
    rationale_of,
    shown_at_first,
)
from unirex.annotate.store import Store
from unirex.data.example import Example
from unirex.database import new_code, now, plain_code
from unirex.errors import UserError
from unirex.metrics.agreement import agreement_of

LONGEST = 24 * 3600.0  # seconds; a page that was left open longer says nothing about the text
LONGEST_REASON = 500  # characters
LONGEST_NAME = 60
MOST_PEOPLE = 10_000
SHOWN_BEFORE = 500  # texts that a person can look at again


@dataclass(frozen=True, slots=True)
class Annotator:
    """One person, known by a number only."""

    number: int
    annotated: int  # texts
    skipped: int

    @property
    def name(self) -> str:
        """The anonymous name in tables and exports."""
        return f"a{self.number + 1:02d}"


class Project:
    """An annotation in its file. Safe to use from several threads and processes at once."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = Store(Path(path)), clock
        self.definition: Definition = self.store.definition()

    def close(self) -> None:
        """Close this thread's connection."""
        self.store.close()

    def define(self, definition: Definition) -> None:
        """Change what is shown beside the texts; what was answered stays."""
        content = json.dumps(definition.to_dict(), ensure_ascii=False)
        with self.store.writing() as connection:
            connection.execute("UPDATE definition SET content = ?", (content,))
        self.definition = definition

    # ---- People -------------------------------------------------------------------------------------------

    def add_annotators(self, count: int) -> list[str]:
        """Invite more people; returns their codes."""
        if count < 1:
            raise UserError(f"people {count}: give how many, at least 1.")
        with self.store.writing() as connection:
            return [_add_annotator(connection) for _ in range(count)]

    def annotators(self) -> list[Annotator]:
        """All people, with what they did."""
        return [_annotator(row) for row in self.store.rows(f"{_PEOPLE} ORDER BY number")]

    def annotator(self, number: int) -> Annotator:
        """One person as they stand now."""
        rows = self.store.rows(f"{_PEOPLE} WHERE number = ?", (number,))
        if not rows:
            raise UserError(f"there is no annotator {number}.")
        return _annotator(rows[0])

    def codes(self) -> dict[int, str]:
        """The code of every person, by number."""
        rows = self.store.rows("SELECT number, code FROM annotators ORDER BY number")
        return {row["number"]: row["code"] for row in rows}

    def join(self, code: str) -> Annotator:
        """The person with this code, who begins or comes back."""
        found = self.store.rows("SELECT number FROM annotators WHERE code = ?", (plain_code(code),))
        if not found:
            raise UserError("this code is not known; check it, or ask who gave it to you.")
        return self._joined(found[0]["number"])

    def join_by_name(self, name: str) -> Annotator:
        """The person of this name, who begins or comes back: for people on the owner's own machine."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise UserError(f"give a name of 1 to {LONGEST_NAME} characters.")
        with self.store.writing() as connection:
            query = "SELECT number FROM annotators WHERE name = ?"
            row = connection.execute(query, (name.casefold(),)).fetchone()
            if row is None:
                _add_annotator(connection, name.casefold())
                row = connection.execute(query, (name.casefold(),)).fetchone()
        return self._joined(row["number"])

    def _joined(self, number: int) -> Annotator:
        with self.store.writing() as connection:
            query = "UPDATE annotators SET joined = COALESCE(joined, ?) WHERE number = ?"
            connection.execute(query, (now(), number))
        return self.annotator(number)

    # ---- Texts --------------------------------------------------------------------------------------------

    def next(self, annotator: Annotator) -> Item | None:
        """The text the person has already, else the next one, then kept for them; None if all is done.

        A text goes to no more people than the definition says, those who have it on their screens included.
        """
        moment, who = self.clock(), annotator.number
        with self.store.writing() as connection:
            held = connection.execute("SELECT text FROM leases WHERE annotator = ?", (who,)).fetchone()
            text = None if held is None else self._free(connection, who, moment, only=held["text"])
            text = self._free(connection, who, moment) if text is None else text
            connection.execute("DELETE FROM leases WHERE annotator = ?", (who,))
            if text is not None:
                until = moment + 60 * self.definition.lease
                connection.execute("INSERT INTO leases VALUES (?, ?, ?)", (text, who, until))
        return None if text is None else self.item(annotator, text)

    def _free(
        self, connection: sqlite3.Connection, who: int, moment: float, only: int | None = None
    ) -> int | None:
        """The first text, or the one that is named, that this person can annotate now."""
        order = "dispute DESC, number" if self.definition.between_people else "priority DESC, number"
        found = connection.execute(
            "SELECT number FROM texts WHERE done < :most AND (:only IS NULL OR number = :only) "
            "AND NOT EXISTS (SELECT 1 FROM annotations WHERE text = texts.number AND annotator = :who) "
            "AND done + (SELECT COUNT(*) FROM leases WHERE text = texts.number AND annotator <> :who "
            f"AND until > :moment) < :most ORDER BY {order} LIMIT 1",
            {"most": self.definition.per_text, "only": only, "who": who, "moment": moment},
        ).fetchone()
        return None if found is None else found["number"]

    def waiting(self, annotator: Annotator) -> int:
        """Texts this person could annotate, were they not on the screens of others now."""
        query = (
            "SELECT COUNT(*) FROM texts WHERE done < ? AND NOT EXISTS "
            "(SELECT 1 FROM annotations WHERE text = texts.number AND annotator = ?)"
        )
        ((count,),) = self.store.rows(query, (self.definition.per_text, annotator.number))
        return count

    def renew(self, annotator: Annotator, text: int) -> None:
        """Keep a text longer for the person who has it on the screen."""
        until = self.clock() + 60 * self.definition.lease
        with self.store.writing() as connection:
            query = "UPDATE leases SET until = ? WHERE annotator = ? AND text = ?"
            connection.execute(query, (until, annotator.number, text))

    def before(self, annotator: Annotator) -> list[int]:
        """The texts that the person annotated or skipped, the first one first."""
        query = (
            "SELECT text FROM annotations WHERE annotator = ? AND version = 1 ORDER BY number DESC LIMIT ?"
        )
        rows = self.store.rows(query, (annotator.number, SHOWN_BEFORE))
        return [row["text"] for row in reversed(rows)]

    def item(self, annotator: Annotator, text: int) -> Item:
        """A text that the person has now, or has annotated before, as it stands."""
        return item_of(self.definition, *self._row(annotator, text))

    def _row(self, annotator: Annotator, text: int) -> tuple[sqlite3.Row, sqlite3.Row | None]:
        """A text and this person's last answer; refused if the text was never theirs."""
        key = (text, annotator.number)
        answers = self.store.rows("SELECT * FROM latest WHERE text = ? AND annotator = ?", key)
        if not answers and not self.store.rows("SELECT 1 FROM leases WHERE text = ? AND annotator = ?", key):
            raise UserError("this text is not yours; ask for the next one.")
        (row,) = self.store.rows("SELECT * FROM texts WHERE number = ?", (text,))
        return row, answers[0] if answers else None

    # ---- Answers ------------------------------------------------------------------------------------------

    def save(
        self, annotator: Annotator, text: int, reply: Reply, *, version: int, seconds: float = 0.0
    ) -> int:
        """Store an annotation for good; returns its version. On return it is on disk.

        Args:
            annotator: who gives it.
            text: its number.
            reply: label and marks.
            version: answers of this person that the page has seen, 0 for a new text. The same answer sent
                twice is stored once; one that would hide an answer the page has not seen is refused.
            seconds: that it took.
        """
        row, _ = self._row(annotator, text)
        label, marks = checked_reply(self.definition, example_of(row), reply)
        content = {"skipped": 0, "reason": None, "label": answer_json(label), "marks": json.dumps(marks)}
        return self._add(annotator, row, content, version=version, seconds=seconds)

    def skip(self, annotator: Annotator, text: int, reason: str = "", *, version: int = 0) -> int:
        """Leave a text to others, with a reason if the person gives one."""
        if len(reason) > LONGEST_REASON:
            raise UserError(f"a reason may have {LONGEST_REASON} characters.")
        row, _ = self._row(annotator, text)
        content = {"skipped": 1, "reason": reason.strip() or None, "label": None, "marks": None}
        return self._add(annotator, row, content, version=version, seconds=0.0)

    def _add(
        self,
        annotator: Annotator,
        row: sqlite3.Row,
        content: dict[str, Any],
        *,
        version: int,
        seconds: float,
    ) -> int:
        if not math.isfinite(seconds) or seconds < 0:
            raise UserError(f"seconds {seconds}: give the time it took, 0 or more.")
        start, shown = shown_at_first(self.definition, row)
        key, text = (row["number"], annotator.number), row["number"]
        values = (*content.values(), start, None if shown is None else json.dumps(shown))
        with self.store.writing() as connection:
            last = connection.execute("SELECT * FROM latest WHERE text = ? AND annotator = ?", key).fetchone()
            current = 0 if last is None else last["version"]
            same = last is not None and all(last[name] == value for name, value in content.items())
            if current == version + 1 and same:
                return current  # a page that was sent twice
            if current != version:
                raise UserError("you have annotated this text in another window meanwhile; load it again.")
            connection.execute(
                "INSERT INTO annotations (text, annotator, version, skipped, reason, label, marks, start, "
                "shown, seconds, saved) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, version + 1, *values, min(seconds, LONGEST), now()),
            )
            connection.execute("DELETE FROM leases WHERE text = ? AND annotator = ?", key)
            self._recount(connection, row, text)
        return version + 1

    def _recount(self, connection: sqlite3.Connection, row: sqlite3.Row, text: int) -> None:
        """Note how many people annotated a text and, if the order goes by it, how far they disagree."""
        query = "SELECT label, marks FROM latest WHERE text = ? AND NOT skipped"
        answers = connection.execute(query, (text,)).fetchall()
        dispute = _dispute(example_of(row), answers) if self.definition.between_people else 0.0
        connection.execute(
            "UPDATE texts SET done = ?, dispute = ? WHERE number = ?", (len(answers), dispute, text)
        )

    def progress(self, annotator: Annotator) -> dict[str, int]:
        """Counts for the page: texts of this person, and of all."""
        me = self.annotator(annotator.number)
        query = "SELECT COUNT(*) AS texts, SUM(done >= ?) AS complete FROM texts"
        (row,) = self.store.rows(query, (self.definition.per_text,))
        return {
            "annotated": me.annotated,
            "skipped": me.skipped,
            "texts": row["texts"],
            "complete": row["complete"] or 0,
        }


_PEOPLE = """
SELECT number, (SELECT COUNT(*) FROM latest WHERE annotator = annotators.number AND NOT skipped) AS annotated,
    (SELECT COUNT(*) FROM latest WHERE annotator = annotators.number AND skipped) AS skipped FROM annotators
"""


def _annotator(row: sqlite3.Row) -> Annotator:
    return Annotator(row["number"], row["annotated"], row["skipped"])


def _add_annotator(connection: sqlite3.Connection, name: str | None = None) -> str:
    code = new_code()
    (count,) = connection.execute("SELECT COUNT(*) FROM annotators").fetchone()
    if count >= MOST_PEOPLE:
        raise UserError(f"there are {MOST_PEOPLE:,} people already, which is the most.")
    query = "INSERT INTO annotators (number, code, name) VALUES (?, ?, ?)"
    connection.execute(query, (count, code, name))
    return code


def _dispute(example: Example, answers: Sequence[sqlite3.Row]) -> float:
    """How far people disagree on a text: on its label (0 or 1) and its words (1 - pairwise F1)."""
    if len(answers) < 2:
        return 0.0
    groups = tuple(rationale_of(json.loads(row["marks"])) for row in answers)
    agreed = agreement_of([Example(example.id, example.segments, groups=groups)]).pairwise_f1
    labels = float(len({row["label"] for row in answers}) > 1)
    return labels + (0.0 if math.isnan(agreed) else 1.0 - agreed)
