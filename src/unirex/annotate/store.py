"""An annotation in one SQLite file: texts, people, who has which text now, and every answer for good."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from unirex.annotate.definition import Definition
from unirex.database import Database
from unirex.errors import UserError, one_line

VERSION = 1
SCHEMA = f"""
CREATE TABLE definition (content TEXT NOT NULL, secret BLOB NOT NULL);   -- one row: JSON; signs sessions
CREATE TABLE texts (
    number INTEGER PRIMARY KEY,          -- in the order of the data
    id TEXT NOT NULL UNIQUE,
    split TEXT,
    segments TEXT NOT NULL,              -- JSON, as all below
    choices TEXT, label TEXT, gold TEXT, suggestion TEXT,
    priority REAL NOT NULL DEFAULT 0,    -- the highest comes first
    dispute REAL NOT NULL DEFAULT 0,     -- how far people disagree on it so far
    done INTEGER NOT NULL DEFAULT 0      -- people who annotated it
);
CREATE INDEX texts_in_order ON texts (priority DESC, number);
CREATE TABLE annotators (
    number INTEGER PRIMARY KEY,
    code TEXT NOT NULL UNIQUE,
    name TEXT UNIQUE,                    -- only of people who joined by name, on the owner's machine
    joined TEXT
);
CREATE TABLE leases (
    text INTEGER NOT NULL REFERENCES texts (number),
    annotator INTEGER NOT NULL UNIQUE REFERENCES annotators (number),  -- one text at a time
    until REAL NOT NULL,                 -- seconds since 1970
    PRIMARY KEY (text, annotator)
) WITHOUT ROWID;
CREATE TABLE annotations (
    number INTEGER PRIMARY KEY,          -- in the order in which they were saved
    text INTEGER NOT NULL REFERENCES texts (number),
    annotator INTEGER NOT NULL REFERENCES annotators (number),
    version INTEGER NOT NULL CHECK (version >= 1),
    skipped INTEGER NOT NULL CHECK (skipped IN (0, 1)),
    reason TEXT,                         -- why it was skipped, if the person said so
    label TEXT, marks TEXT,              -- JSON
    start TEXT NOT NULL CHECK (start IN ('blank', 'suggestion', 'gold')),
    shown TEXT,                          -- JSON: what was marked when the text came, and by whom
    seconds REAL NOT NULL CHECK (seconds >= 0),
    saved TEXT NOT NULL,
    UNIQUE (text, annotator, version),
    CHECK (skipped = (marks IS NULL) AND skipped = (label IS NULL))
);
CREATE INDEX annotations_of ON annotations (annotator);
CREATE TRIGGER annotations_stay BEFORE UPDATE ON annotations
    BEGIN SELECT RAISE(ABORT, 'an annotation is never overwritten; a new version is added'); END;
CREATE TRIGGER annotations_kept BEFORE DELETE ON annotations
    BEGIN SELECT RAISE(ABORT, 'annotations are never deleted'); END;
CREATE TRIGGER annotations_in_order BEFORE INSERT ON annotations
    WHEN NEW.version <> 1 + (SELECT COUNT(*) FROM annotations
        WHERE text = NEW.text AND annotator = NEW.annotator)
    BEGIN SELECT RAISE(ABORT, 'not the next version'); END;
CREATE VIEW latest AS SELECT * FROM annotations AS one
    WHERE version = (SELECT MAX(version) FROM annotations
        WHERE text = one.text AND annotator = one.annotator);
PRAGMA user_version = {VERSION};
"""


class Store(Database):
    """The database of an annotation."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SCHEMA)

    def secret(self) -> bytes:
        """What the sessions of people's browsers are signed with."""
        ((secret,),) = self.rows("SELECT secret FROM definition")
        return bytes(secret)

    def definition(self) -> Definition:
        """What people are asked; refuses a file that is no annotation, or one of another version."""
        if not self.path.is_file():
            raise UserError(
                f"{self.path}: no such file; `unirex annotate data.jsonl --out {self.path}` makes it."
            )
        try:
            ((version,),) = self.rows("PRAGMA user_version")
            if version != VERSION:
                raise UserError(f"of version {version}; this program reads version {VERSION}.")
            ((content,),) = self.rows("SELECT content FROM definition")
            return Definition.from_dict(json.loads(content))
        except UserError as error:
            if not isinstance(error.__cause__, sqlite3.DatabaseError):
                raise UserError(f"{self.path}: {error}") from error
            raise UserError(f"{self.path}: not an annotation ({one_line(error.__cause__)}).") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{self.path}: not an annotation ({one_line(error)}).") from error
        finally:
            self.close()
