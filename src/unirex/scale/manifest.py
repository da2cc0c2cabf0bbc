"""The manifest of what is written shard by shard: what it is of, what is done, and that it adds up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import unirex
from unirex.errors import UserError, one_line
from unirex.files import say
from unirex.scale.places import Folder
from unirex.scale.shards import Shard, Source

FILE = "manifest.json"
DONE = "_done"  # folder of one file for each finished shard, until all are in the manifest
SUMMED = ("texts", "rows", "bytes", "skipped", "seconds", "cpu_seconds")


@dataclass
class Manifest:
    """What a folder of shards holds.

    `manifest.json` is there from the start, so that another corpus or other settings are refused. A worker
    notes a finished shard in a file of its own, which needs no lock and no appending, on any file system; at
    the end all of them are in the manifest.

    Args:
        folder: of the parts.
        settings: what the parts depend on, as plain values by name.
        sources: the files of the corpus; none if the shards hold their examples.
        verify: compare finished parts by their digests, not by their sizes alone.
    """

    folder: Folder
    settings: Mapping[str, Any]
    sources: Sequence[Source] = ()
    verify: bool = False  # compare the digests of finished parts, too, which reads all of them
    _finished: dict[str, dict[str, Any]] = field(default_factory=dict)  # of a manifest that is complete
    _there: dict[str, int] = field(default_factory=dict)  # bytes of the files in the folder
    _notes: set[str] = field(default_factory=set)  # names of the files in `DONE`

    def open(self) -> None:
        """Begin, or go on with what was begun with the same settings on the same files."""
        found = self._read(FILE)
        self._look()
        if found is None:
            self._save(FILE, {**self._content(), "complete": False})
            return
        self._check(found)
        if found.get("complete"):
            self._finished = {shard["part"]: shard for shard in found["shards"]}

    def _check(self, found: Mapping[str, Any]) -> None:
        content = self._content()
        settings, before = content["settings"], found.get("settings", {})
        changed = [name for name in {**settings, **before} if settings.get(name) != before.get(name)]
        if found.get("inputs") != content["inputs"]:
            changed.append("input")
        if changed:
            raise UserError(
                f"{self.folder.address}: holds the parts of another run (other {', '.join(changed)}); choose "
                "another --out, or remove it."
            )

    def _content(self) -> dict[str, Any]:
        inputs = [
            {key: value for key, value in asdict(source).items() if key != "place"} for source in self.sources
        ]
        plain = json.loads(json.dumps({"settings": dict(self.settings), "inputs": inputs}, default=str))
        return {"unirex": unirex.__version__, **plain}

    def finished(self, shard: Shard) -> dict[str, Any] | None:
        """The facts of a shard that is done; None if it is to be run, or run again for what became of it."""
        facts = self._noted(shard)
        fault = facts and self._fault(facts["files"], verify=self.verify)
        if fault:
            say(f"note: {self.folder.at(fault)}; {shard.part} is done again")
        return None if fault else facts

    def _noted(self, shard: Shard) -> dict[str, Any] | None:
        """What was noted of a shard when it was done, the last time."""
        name = f"{shard.part}.json"
        facts = self._read(f"{DONE}/{name}") if name in self._notes else self._finished.get(shard.part)
        if facts is None:
            return None
        if facts.get("key") != shard.key:
            raise UserError(
                f"{self.folder.address}: {shard.part} was made from another input; choose another --out, or "
                "remove it."
            )
        if not all(isinstance(file, dict) for file in facts.get("files", [None])):
            raise UserError(
                f"{self.folder.address}: {shard.part} was noted by another version; choose another --out."
            )
        return facts

    def _fault(self, files: Sequence[Mapping[str, Any]], *, verify: bool) -> str | None:
        """The first file that is not as it was written, and how it differs."""
        for file in files:
            name, size = file["name"], self._there.get(file["name"])
            if size is None:
                return f"{name} is missing"
            if size != file["bytes"]:
                return f"{name} has {size:,} bytes, and {file['bytes']:,} were written"
            if verify and self.folder.sha256(name) != file["sha256"]:
                return f"{name} does not hold what was written (another SHA-256)"
        return None

    def _look(self) -> None:
        """See which files and notes there are, in two listings."""
        self._there, self._notes = self.folder.sizes(), set(self.folder.below(DONE).sizes())

    def complete(self, shards: Iterable[Shard]) -> dict[str, Any]:
        """Write the facts of all shards, which must be done, into the manifest; its totals."""
        self._look()
        found: list[dict[str, Any]] = []
        for shard in shards:
            facts = self._noted(shard)
            fault = self._fault(facts["files"], verify=False) if facts else f"{shard.part} is not done"
            if facts is None or fault:
                raise UserError(
                    f"{self.folder.at(str(fault))}: the folder was changed meanwhile; give the command again."
                )
            found.append(facts)
        totals = {name: _total(facts.get(name, 0) for facts in found) for name in SUMMED}
        content = {**self._content(), "shards": found, "totals": {"shards": len(found), **totals}}
        skipped = [line for facts in found for line in facts.get("skipped_rows", ())]
        if skipped:
            _write_text(self.folder, "skipped.txt", "".join(f"{row}\n" for row in skipped))
        self._save(FILE, {**content, "complete": True})
        self.folder.remove(DONE)
        return content["totals"]

    def _read(self, name: str) -> dict[str, Any] | None:
        raw = self.folder.read(name)
        if raw is None:
            return None
        try:
            found = json.loads(raw)
            if not isinstance(found, dict):
                raise TypeError("not an object")
            return found
        except (ValueError, TypeError) as error:
            place = self.folder.at(name)
            raise UserError(f"{place}: damaged ({one_line(error)}); remove {self.folder.address}.") from error

    def _save(self, name: str, content: Mapping[str, Any]) -> None:
        _write_text(self.folder, name, json.dumps(content, indent=1) + "\n")


def note_finished(folder: Folder, shard: Shard, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Note that a shard is done; its parts must be in their places. What was noted."""
    known: dict[str, Any] = {"part": shard.part, "key": shard.key}
    if shard.source is not None:
        known |= {"source": shard.source.name, "start": shard.start, "end": shard.end, "first": shard.first}
    content = {**known, **facts}
    _write_text(folder, f"{DONE}/{shard.part}.json", json.dumps(content) + "\n")
    return content


def _write_text(folder: Folder, name: str, text: str) -> None:
    data = text.encode("utf-8", errors="backslashreplace")  # names of files may be no UTF-8
    folder.write(name, lambda draft: draft.write_bytes(data))


def _total(values: Iterable[float]) -> float:
    total = sum(values)
    return total if isinstance(total, int) else round(total, 3)
