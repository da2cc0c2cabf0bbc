"""The answers of a study in SQLite: one transaction an answer, rules that no caller can get around."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from unirex.database import Database, StoreError, new_code, now, plain_code
from unirex.user_study.assignment import Planned

__all__ = ["FILE", "Store", "StoreError", "add_annotator", "new_code", "now", "plain_code"]

FILE = "answers.sqlite"

SCHEMA = """
CREATE TABLE annotators (
    number INTEGER PRIMARY KEY,
    code TEXT UNIQUE,                    -- NULL once withdrawn, so that nobody can come back with it
    joined TEXT, consented TEXT, withdrawn TEXT,
    simulated INTEGER NOT NULL DEFAULT 0 CHECK (simulated IN (0, 1))
);
CREATE TABLE questions (
    annotator INTEGER NOT NULL REFERENCES annotators (number),
    position INTEGER NOT NULL CHECK (position >= 0),
    task TEXT NOT NULL CHECK (task IN ('simulation', 'rating', 'reading')),
    part TEXT NOT NULL CHECK (part IN ('practice', 'check', 'main', 'learning', 'pre', 'post')),
    item INTEGER NOT NULL CHECK (item >= 0),
    arm TEXT NOT NULL,
    marked INTEGER NOT NULL CHECK (marked IN (0, 1)),
    right TEXT, score INTEGER,
    PRIMARY KEY (annotator, position),
    UNIQUE (annotator, position, task)
) WITHOUT ROWID;
CREATE TABLE answers (
    annotator INTEGER NOT NULL,
    position INTEGER NOT NULL,
    task TEXT NOT NULL,
    label TEXT,
    confidence INTEGER CHECK (confidence BETWEEN 1 AND 4),
    alignment INTEGER CHECK (alignment BETWEEN 1 AND 5),
    seconds REAL NOT NULL CHECK (seconds >= 0),
    answered TEXT NOT NULL,
    PRIMARY KEY (annotator, position),
    FOREIGN KEY (annotator, position, task) REFERENCES questions (annotator, position, task),
    CHECK (CASE task
        WHEN 'simulation' THEN label IS NOT NULL AND confidence IS NOT NULL AND alignment IS NULL
        WHEN 'rating' THEN label IS NULL AND confidence IS NULL AND alignment IS NOT NULL
        ELSE label IS NULL AND confidence IS NULL AND alignment IS NULL END)
) WITHOUT ROWID;
CREATE TRIGGER answers_stay BEFORE UPDATE ON answers
    BEGIN SELECT RAISE(ABORT, 'an answer cannot be changed'); END;
CREATE TRIGGER answers_in_order BEFORE INSERT ON answers
    WHEN NEW.position <> (SELECT COUNT(*) FROM answers WHERE annotator = NEW.annotator)
    BEGIN SELECT RAISE(ABORT, 'not the next question'); END;
CREATE TRIGGER answers_of_willing BEFORE INSERT ON answers
    WHEN NOT EXISTS (SELECT 1 FROM annotators
        WHERE number = NEW.annotator AND consented IS NOT NULL AND withdrawn IS NULL)
    BEGIN SELECT RAISE(ABORT, 'the annotator has not consented, or has withdrawn'); END;
CREATE TRIGGER answers_kept BEFORE DELETE ON answers
    WHEN NOT EXISTS (SELECT 1 FROM annotators WHERE number = OLD.annotator AND withdrawn IS NOT NULL)
    BEGIN SELECT RAISE(ABORT, 'only the answers of people who withdraw are deleted'); END;
PRAGMA user_version = 1;
"""


class Store(Database):
    """The database in a study's folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, SCHEMA)


def add_annotator(connection: sqlite3.Connection, plan: Sequence[Planned], *, number: int) -> str:
    """Invite one more person: the code they join with."""
    code = new_code()
    connection.execute("INSERT INTO annotators (number, code) VALUES (?, ?)", (number, code))
    connection.executemany(
        "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, at, row.task, row.part, row.item, row.arm, row.marked, row.right, row.score)
            for at, row in enumerate(plan)
        ],
    )
    return code
