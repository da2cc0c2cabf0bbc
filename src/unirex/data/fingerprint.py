"""Digests: of the examples of a dataset, of files, and of the code that made them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from unirex.data.example import Example, Splits

BLOCK = 1 << 18  # bytes read at a time
_STARTED = time.time()


def fingerprint(data: Splits) -> str:
    """The same for the same examples in the same splits, wherever they were read from.

    It covers all that a training can depend on: the examples and their order, and of `info` the labels, task,
    metric (it chooses the checkpoint), markers and rationale segments. It leaves out the dataset's name and
    the examples' `groups`: models learn from the merged `rationale` alone.
    """
    if data.digest is not None:
        return data.digest
    info, digest = data.info, hashlib.sha256()
    digest.update(_literal(info.labels, info.task, info.metric, info.rationale_segments, info.markers))
    for split in sorted(data):
        digest.update(_literal(split, len(data[split])))
        for example in data[split]:
            digest.update(_row(example))
    return digest.hexdigest()


def content_digest(source: Path, *, suffix: str = "") -> str:
    """The same for the same bytes under the same names: a file, or all files below a folder.

    Everything is read: dates and sizes do not tell whether a file was changed. Below a folder only files
    whose names end in `suffix` count, and names count as seen from the folder.
    """
    if not source.is_dir():
        return _file_digest(str(source)).hex()
    digest = hashlib.sha256()
    for name, path in _files(str(source)):
        if name.endswith(suffix):
            digest.update(len(os.fsencode(name)).to_bytes(8, "big") + os.fsencode(name) + _file_digest(path))
    return digest.hexdigest()


@cache
def code_digest(*names: str) -> str:
    """Digest of the source of modules and packages, taken when first asked for.

    A file edited since this process started is not the code that runs: its digest is one that no other
    process gets, so nothing that is kept under it is ever found again.
    """
    digest = hashlib.sha256()
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module '{name}'", name=name)
        origin = Path(spec.origin)
        for path in sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]:
            digest.update(path.relative_to(origin.parent).as_posix().encode() + _file_digest(str(path)))
            if path.stat().st_mtime > _STARTED:
                digest.update(os.urandom(16))
    return digest.hexdigest()


def _literal(*values: object) -> bytes:
    # A Python literal ends where it ends and shows types: 1, 1.0, True and "1" all differ. ASCII, as what
    # `repr` escapes depends on the Unicode tables of the Python at hand.
    return ascii(values).encode()


def _row(one: Example) -> bytes:
    """An example in bytes: everything short as a literal, then the texts, whose lengths it tells."""
    choices = None if one.choices is None else len(one.choices)
    texts = (one.id, *one.segments, *(one.choices or ()))
    shape = _literal(one.label, one.rationale, len(one.segments), choices, *map(len, texts))
    return shape + "".join(texts).encode("utf-8", "surrogatepass")


def _file_digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - ten thousand small files must be quick
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.digest()


def _files(folder: str, prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each file below a folder as its name from there and its path; links are followed, not in circles."""
    here = os.path.realpath(folder)
    if here in above:
        return
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir():
            yield from _files(entry.path, f"{name}/", (*above, here))
        elif entry.is_file():
            yield name, entry.path
