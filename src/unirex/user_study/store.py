"""The answers of a study in SQLite: one transaction an answer, rules that no caller can get around.

The database is in write-ahead mode and waits for the disk at every commit, so what was acknowledged survives
a kill and a power cut. Every thread of every process has a connection of its own.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unirex.errors import UserError, one_line
from unirex.user_study.assignment import Planned

FILE = "answers.sqlite"
PATIENCE = 30.0  # seconds to wait for others to finish writing
CODE_SIGNS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that look alike
CODE_LENGTH = 12  # 59 bits

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


class StoreError(UserError):
    """The file of the answers cannot be read or written, whoever asks for what."""


class Store:
    """The database in a study's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._local = threading.local()

    def create(self) -> None:
        """Make the tables."""
        connection = self._connect()
        connection.execute("PRAGMA journal_mode = WAL")  # stays with the file
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk when the block ends, or none after an error."""
        connection = self._connection()
        with self._naming_faults():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """The rows of a query."""
        with self._naming_faults():
            return self._connection().execute(query, values).fetchall()

    def forget(self) -> None:
        """Remove what was deleted from the write-ahead log too."""
        with self._naming_faults():
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the connection of this thread; others are closed with their threads."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and self._local.process == os.getpid():
            connection.close()
        self._local.connection = None

    @contextmanager
    def _naming_faults(self) -> Iterator[None]:
        """Errors of the file, such as a full disk or a damaged page, name the file."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: {one_line(error)}.") from error

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread; a process that was forked opens its own."""
        if getattr(self._local, "connection", None) is None or self._local.process != os.getpid():
            if not self.path.is_file():
                raise StoreError(f"{self.path}: the answers of this study are missing.")
            self._connect()
        connection: sqlite3.Connection = self._local.connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        connection.row_factory = sqlite3.Row
        for setting in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        self._local.connection, self._local.process = connection, os.getpid()
        return connection


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


def new_code() -> str:
    """A code that cannot be guessed, in groups of four signs."""
    signs = "".join(secrets.choice(CODE_SIGNS) for _ in range(CODE_LENGTH))
    return "-".join(signs[at : at + 4] for at in range(0, CODE_LENGTH, 4))


def plain_code(typed: str) -> str:
    """A code as it is stored, however it was typed.

    >>> plain_code(" abcd efgh-jkmn ")
    'ABCD-EFGH-JKMN'
    """
    signs = "".join(sign for sign in typed.upper() if sign.isalnum())
    return "-".join(signs[at : at + 4] for at in range(0, len(signs), 4))


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
