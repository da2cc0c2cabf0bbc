"""What people answer, kept in SQLite: one transaction an answer, on disk before it is acknowledged.

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

PATIENCE = 30.0  # seconds to wait for others to finish writing
CODE_SIGNS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that look alike
CODE_LENGTH = 12  # 59 bits


class StoreError(UserError):
    """The file of the answers cannot be read or written, whoever asks for what."""


class Database:
    """A database in one file, safe to use from several threads and processes at once.

    Args:
        path: of the file.
        schema: statements that make its tables.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self.path, self.schema = path, schema
        self._local = threading.local()

    def create(self) -> None:
        """Make the tables."""
        connection = self._connect()
        connection.execute("PRAGMA journal_mode = WAL")  # stays with the file
        connection.executescript(f"BEGIN IMMEDIATE; {self.schema} COMMIT;")

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
                raise StoreError(f"{self.path}: there is no such file.")
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
