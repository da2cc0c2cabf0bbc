"""The cache folder: results that are computed once and reused by later runs.

```
<cache>/<kind>/<key>     an entry; its key, 64 hexadecimal digits, is a digest of what it was computed from
```
Entries are added atomically, however many processes write at once, and may be deleted at any time: a missing
entry is computed again.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

from unirex.errors import UserError

VARIABLE = "UNIREX_CACHE"
OFF = ("", "0", "off")
ENTRY = re.compile(r"[0-9a-f]{64}(\.|$)")  # with a suffix while it is being written


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


def add_entry(entry: Path, write: Callable[[Path], object], *, intact: Callable[[Path], bool]) -> bool:
    """Let `write` fill a new folder and make it the entry, unless another process was faster.

    An existing entry that is not `intact` is replaced. If nothing can be written, this warns once and returns
    False: the caller can continue without a cache.
    """
    draft = entry.with_name(f"{entry.name}.{secrets.token_hex(8)}")
    try:
        draft.mkdir(parents=True)
        write(draft)
        _publish(draft, entry, intact)
    except OSError as error:
        _warn(f"nothing can be kept in {entry.parent} ({error.strerror or error})")
        return False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True


def _publish(draft: Path, entry: Path, intact: Callable[[Path], bool]) -> None:
    try:
        draft.rename(entry)
    except OSError:
        if intact(entry):
            return
        damaged = draft.with_name(f"{draft.name}.damaged")
        entry.rename(damaged)
        _publish(draft, entry, intact)
        _remove(damaged)


@cache
def _warn(message: str) -> None:
    warnings.warn(f"{message}; set {VARIABLE} to another folder, or to 'off'", stacklevel=3)


def cache_size() -> int:
    """Total size of the entries in bytes."""
    return sum(map(_bytes, _entries()))


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


def _bytes(entry: Path) -> int:
    size = 0
    for path in (entry, *entry.rglob("*")):
        try:
            size += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # removed by another process meanwhile
            continue
    return size


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
