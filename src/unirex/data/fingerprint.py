"""SHA-256 digests of datasets, of files and of source code; cache keys are made of them."""

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
_STARTED = time.time()  # when this process imported its code


def fingerprint(data: Splits) -> str:
    """Digest of the examples by split; it does not depend on where they were read from.

    It covers everything training depends on: the examples and their order, and from `info` the labels, task,
    metric (it selects the checkpoint), markers and rationale segments. The dataset's name and the examples'
    `groups` are left out, as models learn only from the merged `rationale`.
    """
    if data.digest is not None:
        return data.digest
    info, digest = data.info, hashlib.sha256()
    digest.update(_literal(info.labels, info.task, info.metric, info.rationale_segments, info.markers))
    for split in sorted(data):
        digest.update(_literal(split, len(data[split])))
        for example in data[split]:
            digest.update(_example_bytes(example))
    return digest.hexdigest()


def content_digest(source: Path) -> str:
    """Digest of a file, or of all files below a folder and their names relative to it.

    All content is read, as dates and sizes do not show whether a file was changed.
    """
    if not source.is_dir():
        return _file_digest(str(source)).hex()
    digest = hashlib.sha256()
    for name, path in _files(str(source)):
        encoded = os.fsencode(name)
        digest.update(len(encoded).to_bytes(8, "big") + encoded + _file_digest(path))
    return digest.hexdigest()


@cache
def code_digest(*names: str) -> str:
    """Digest of the source of modules and packages, computed on first use.

    A file edited after this process started is not the code that runs: its digest is random, so that nothing
    cached under it is ever found again.
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
    # Python literals are self-delimiting and typed: 1, 1.0, True and "1" all differ. `ascii`, because what
    # `repr` escapes depends on the Unicode tables of the Python version.
    return ascii(values).encode()


def _example_bytes(example: Example) -> bytes:
    """An unambiguous encoding: the short fields and the lengths of the texts as a literal, then the texts."""
    choices = None if example.choices is None else len(example.choices)
    texts = (example.id, *example.segments, *(example.choices or ()))
    shape = _literal(example.label, example.rationale, len(example.segments), choices, *map(len, texts))
    return shape + "".join(texts).encode("utf-8", "surrogatepass")


def _file_digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  faster, for folders of many files
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.digest()


def _files(folder: str, prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Name relative to the folder and path of each file below it; links are followed, but not in circles."""
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
