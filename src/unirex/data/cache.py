"""The cache folder, whose entries later runs reuse, and the digests that name what they were computed from.

```
<cache>/<kind>/<key>     an entry; its key, 64 hexadecimal digits, is a digest of what it was computed from
```
Entries are added atomically, however many processes write at once, and may be deleted at any time: a missing
or damaged entry is computed again. Digests are SHA-256, of datasets, of files and of source code.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.data.example import Splits
from unirex.errors import UserError
from unirex.files import new_draft

if TYPE_CHECKING:
    from hashlib import _Hash

VARIABLE = "UNIREX_CACHE"
OFF = ("", "0", "off")
SEAL = "sha256"  # file of an entry with the digest of all its other files
ENTRY = re.compile(r"\.?[0-9a-f]{64}(\.|$)")  # as a draft while it is being written

_STARTED = time.time()  # when this process imported its code


def cache_folder() -> Path | None:
    """The folder that UNIREX_CACHE names, else `~/.cache/unirex`; None if UNIREX_CACHE is `off`."""
    given = os.environ.get(VARIABLE)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if given is not None:
            return None if given.strip().lower() in OFF else Path(given).expanduser().absolute()
        # The XDG standard requires relative paths to be ignored.
        return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "unirex"
    except RuntimeError:  # a user without a home
        return None


def add_entry(entry: Path, write: Callable[[Path], object]) -> bool:
    """Let `write` fill a new folder and make it the entry, unless another process was faster.

    An existing entry that is damaged is replaced. If nothing can be written, this warns once and returns
    False: the caller can continue without a cache.
    """
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with new_draft(entry, folder=True) as draft:
            write(draft)
            (draft / SEAL).write_text(_unsealed_digest(draft))
            _publish(draft, entry)
    except (OSError, UserError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError):
            raise
        _warn(f"nothing can be kept in {entry.parent} ({cause.strerror or cause})")
        return False
    return True


def is_intact(entry: Path) -> bool:
    """Whether an entry is there, complete and unchanged since it was written; all of it is read."""
    try:
        return (entry / SEAL).read_text("ascii") == _unsealed_digest(entry)
    except (OSError, ValueError):
        return False


def _unsealed_digest(folder: Path) -> str:
    return _folder_digest((name, path) for name, path in _files(str(folder)) if name != SEAL)


def _publish(draft: Path, entry: Path) -> None:
    # A folder cannot be replaced in one step, so a damaged entry is moved aside first. Another process may
    # publish its own in between: the renaming is tried again, and an intact entry of the other is kept.
    try:
        draft.rename(entry)
    except OSError:
        if is_intact(entry):
            return
        damaged = draft.with_name(f"{draft.name}.damaged")
        entry.rename(damaged)
        _publish(draft, entry)
        with suppress(FileNotFoundError):  # another process may have swept it
            _remove(damaged)


@cache  # each warning once
def _warn(message: str) -> None:
    warnings.warn(f"{message}; set {VARIABLE} to another folder, or to 'off'", stacklevel=3)


def cache_size() -> int:
    """Total size of the entries in bytes."""
    size = 0
    for entry in _entries():
        for path in (entry, *entry.rglob("*")):
            try:
                size += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:  # removed by another process meanwhile
                continue
    return size


def clear_cache() -> int:
    """Remove all entries, and nothing else in the folder; returns their size in bytes."""
    size = cache_size()
    for entry in _entries():
        try:
            _remove(entry)
        except FileNotFoundError:  # another process removed it, or finished writing it
            continue
        except OSError as error:
            raise UserError(f"{entry}: cannot be removed: {error.strerror or error}") from None
    return size


def _entries() -> list[Path]:
    folder = cache_folder()
    return [] if folder is None else [path for path in folder.glob("*/*") if ENTRY.match(path.name)]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def fingerprint(data: Splits) -> str:
    """Digest of the examples by split; it does not depend on where they were read from.

    It covers everything training depends on: the examples and their order, and from `info` the labels, task,
    metric (it selects the checkpoint), markers and rationale segments. The dataset's name and the
    examples' `groups` and `votes` are left out, as models learn only from what is made of them.
    """
    if data.digest is not None:
        return data.digest
    info, digest = data.info, hashlib.sha256()
    digest.update(_literal(info.labels, info.task, info.metric, info.rationale_segments, info.markers))
    for split in sorted(data):
        digest.update(_literal(split, len(data[split])))
        for example in data[split]:
            # Unambiguous: the short fields and the lengths of the texts as a literal, then the texts.
            choices = None if example.choices is None else len(example.choices)
            texts = (example.id, *example.segments, *(example.choices or ()))
            lengths = (len(example.segments), choices, *map(len, texts))
            digest.update(_literal(example.label, example.rationale, *lengths))
            digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _literal(*values: object) -> bytes:
    # Python literals are self-delimiting and typed: 1, 1.0, True and "1" all differ. `ascii`, because what
    # `repr` escapes depends on the Unicode tables of the Python version.
    return ascii(values).encode()


def json_digest(content: object, default: Callable[[Any], object] | None = None) -> _Hash:
    """Digest of content as JSON, to which more can be added; `default` replaces what JSON does not know."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=default).encode())


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


def content_digest(source: Path) -> str:
    """Digest of a file, or of all files below a folder and their names relative to it.

    All content is read, as dates and sizes do not show whether a file was changed.
    """
    if not source.is_dir():
        return _file_digest(str(source)).hex()
    return _folder_digest(_files(str(source)))


def _folder_digest(files: Iterable[tuple[str, str]]) -> str:
    """Digest of files by their names in the folder."""
    digest = hashlib.sha256()
    for name, path in files:
        encoded = os.fsencode(name)
        digest.update(len(encoded).to_bytes(8, "big") + encoded + _file_digest(path))
    return digest.hexdigest()


def _file_digest(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  faster, for folders of many files
        return hashlib.file_digest(file, "sha256").digest()


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
