"""The folder for what is worked out once and kept between runs.

```
<cache>/<kind>/<key>     an entry; its key, 64 hexadecimal digits, says what it was worked out from
```
Each kind of thing has a folder of its own. An entry appears there whole or not at all, however many
processes are at it, and may vanish at any time: whoever misses one works it out again.
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
    """Where things may be kept: what UNIREX_CACHE names, else `~/.cache/unirex`; None if it says `off`."""
    given = os.environ.get(VARIABLE)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if given is not None:
            return None if given.strip().lower() in OFF else Path(given).expanduser().absolute()
        # The standard wants relative paths ignored.
        return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "unirex"
    except RuntimeError:  # a user without a home
        return None


def keep(entry: Path, write: Callable[[Path], object], *, intact: Callable[[Path], bool]) -> bool:
    """Let `write` fill a new folder and make it the entry, unless another process was faster.

    An entry that is there and not `intact` is replaced. Where nothing can be written there is a warning,
    once, and False: the work can go on without.
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
    """How many bytes are kept."""
    return sum(map(_bytes, _entries()))


def clear_cache() -> int:
    """Remove every entry, and nothing else that lies in the folder; how many bytes they were."""
    size = cache_size()
    for entry in _entries():
        try:
            _remove(entry)
        except FileNotFoundError:  # somebody else cleared it, or finished writing it
            continue
        except OSError as error:
            raise UserError(f"{entry}: cannot be removed: {error.strerror or error}") from None
    return size


def _entries() -> list[Path]:
    folder = cache_folder()
    return [] if folder is None else [path for path in folder.glob("*/*") if ENTRY.match(path.name)]


def _bytes(entry: Path) -> int:
    sizes = 0
    for path in (entry, *entry.rglob("*")):
        try:
            sizes += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # just now removed
            continue
    return sizes


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
