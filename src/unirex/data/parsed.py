"""Datasets that were parsed before: read from the cache, nearly for free.

```
<cache>/examples/<key>/info.json     what is known of the dataset, its fingerprint, the size of each file
                       train.arrow   the examples of a split (`unirex.data.store`)
```
The key covers every byte the reader reads, the settings, and the code of the readers: a changed file or a
changed reader has another key, so what is found is never out of date.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from unirex.data.cache import cache_folder, keep
from unirex.data.example import DatasetInfo, Splits
from unirex.data.fingerprint import content_digest, fingerprint
from unirex.data.store import read_examples, write_examples
from unirex.data.validate import is_collecting
from unirex.files import write_file

SCHEMA = 1  # to be raised when the files of an entry change their meaning
SMALLEST = 1000  # examples: fewer are parsed as fast as they are found


def cached(build: Callable[[], Splits], *, sources: Sequence[Path], settings: Mapping[str, object]) -> Splits:
    """What `build` gives, from the cache if it was built before; small datasets are built every time.

    `sources` are all files and folders that `build` reads, `settings` all else that it depends on.
    """
    folder = _usable_folder(sources)
    key = folder and _key(sources, settings)
    if not folder or not key:
        return build()
    entry = folder / "examples" / key
    return _open(entry) or _built(build, entry, lambda: key == _key(sources, settings) and _code() == CODE)


def _built(build: Callable[[], Splits], entry: Path, unchanged: Callable[[], bool]) -> Splits:
    """What `build` gives, by now from its entry, so that the memory it took is free again."""
    splits = build()
    # Files written to while they were read, or code while it ran, would go under a wrong name.
    if sum(map(len, splits.values())) < SMALLEST or not unchanged():
        return splits
    kept = keep(entry, lambda draft: _write(draft, splits), intact=lambda there: _open(there) is not None)
    return (_open(entry) if kept else None) or splits


def _usable_folder(sources: Sequence[Path]) -> Path | None:
    """The cache folder, unless what is built may lack something or its sources cannot be read twice."""
    folder = cache_folder()
    if folder is None or is_collecting():  # whoever collects problems gets no bad rows
        return None
    try:
        for source in sources:
            if not (source.is_file() or source.is_dir()):  # a pipe, or a mistake that `build` will tell
                return None
            if folder.is_relative_to(source.resolve()):  # each entry would change the key of the next
                return None
    except OSError:
        return None
    return folder


def _key(sources: Sequence[Path], settings: Mapping[str, object]) -> str | None:
    """The name for what is built from these; None where something cannot be read, which `build` will tell."""
    from unirex import __version__

    try:
        # Names count too: ids and datasets are called after their files.
        content = [(source.resolve().name, content_digest(source)) for source in sources]
    except OSError:
        return None
    about = [SCHEMA, __version__, sys.version_info[:2], CODE, settings, content]
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, asdict(value)]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} cannot be part of a key: it has no lasting name")


def _code() -> str:
    """The source text of all of `unirex.data`."""
    try:
        return content_digest(Path(__file__).parent, suffix=".py")
    except OSError:  # installed without it
        return ""


CODE = _code()  # taken now: the code that runs, whatever is done to its files later


def _write(folder: Path, splits: Splits) -> None:
    sizes = {}
    for split, examples in splits.items():
        path = folder / f"{split}.arrow"
        write_examples(path, examples)
        sizes[split] = path.stat().st_size
    about = {"info": asdict(splits.info), "digest": fingerprint(splits), "sizes": sizes}
    write_file(folder / "info.json", json.dumps(about, indent=2) + "\n")


def _open(entry: Path) -> Splits | None:
    """The examples of an entry; None where there is none, or none in good order."""
    try:
        saved = json.loads((entry / "info.json").read_text("utf-8"))
        info = DatasetInfo(**{name: _frozen(value) for name, value in saved["info"].items()})
        for split, size in saved["sizes"].items():
            if (entry / f"{split}.arrow").stat().st_size != size:
                return None
        parts = {split: read_examples(entry / f"{split}.arrow") for split in saved["sizes"]}
        return Splits(info, parts, digest=saved["digest"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
