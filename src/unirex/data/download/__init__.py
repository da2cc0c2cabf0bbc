"""Public datasets, fetched into the data root: `unirex data download NAME`.

While it works, everything stands in `ROOT/NAME.part`: what has come, and what is being unpacked. The folder
of the dataset appears (or, with `force`, is replaced) in one move at the end, when all is complete and
checked. Whatever breaks off leaves only what the next run can go on from.

`download.json` in the dataset's folder records where each file came from, when, and its SHA-256. Where nobody
has published a checksum, that record is what a later download of the same address is held against.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from unirex.data.download.addresses import ADDRESSES, Address, RemoteFile
from unirex.data.download.archives import pick, unpack
from unirex.data.download.http import Fetched, fetch
from unirex.data.download.progress import Progress, shown
from unirex.errors import UserError, unknown
from unirex.files import write_file

__all__ = ["ADDRESSES", "RECORD", "Address", "RemoteFile", "download"]

RECORD = "download.json"


def download(name: str, root: str | Path, *, progress: bool = True, force: bool = False) -> Path:
    """Fetches a dataset of ADDRESSES; returns its folder, which is where `load_dataset` looks below `root`.

    What is there already is left alone, unless `force` says to replace it.
    """
    address, root = _address(name), Path(root)
    target = root / address.folder
    _check_free(target, force)
    with _work_folder(root, name) as work, shown(progress) as news:
        _settle(work / "replaced", target)
        _check_free(target, force)
        news.say(f"{name}: {address.licence}")
        fetched = [fetch(file, work, news) for file in address.files]
        _check_first_use(fetched, target, news)
        with _unpacked(fetched, address, work / "unpacked") as ready:
            write_file(ready / RECORD, _record(name, address, fetched))
            _move(ready, target, work / "replaced")
        shutil.rmtree(work)
    return target


def _address(name: str) -> Address:
    if name == "demo":
        raise UserError("the dataset 'demo' is part of unirex: there is nothing to download")
    if name not in ADDRESSES:
        raise unknown("dataset", name, ADDRESSES)
    return ADDRESSES[name]


def _check_free(target: Path, force: bool) -> None:
    if os.path.lexists(target) and not force:
        raise UserError(f"{target}: already there; it was left alone (--force replaces it)")


@contextmanager
def _work_folder(root: Path, name: str) -> Iterator[Path]:
    """A folder for one download at a time, kept afterwards only if something in it can be gone on from."""
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: is a file; give the folder that holds the datasets")
    work = root / f"{name}.part"
    work.mkdir(parents=True, exist_ok=True)
    lock = work / "lock"
    with _locked(lock):
        try:
            yield work
        finally:
            lock.unlink(missing_ok=True)
            if work.exists() and not any(work.iterdir()):
                work.rmdir()


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: nobody keeps two downloads of one dataset apart
        yield
        return
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{lock.parent}: this dataset is being downloaded already; wait for it") from None
        except OSError:  # a file system that has no locks
            pass
        yield


def _check_first_use(fetched: Sequence[Fetched], target: Path, news: Progress) -> None:
    """A file nobody published a checksum of must be the one that was fetched the first time."""
    known = _recorded(target / RECORD)
    published = [one.file.name for one in fetched if one.file.sha256]
    if published:
        news.say(f"sha256 as published: {', '.join(published)}")
    for one in fetched:
        if one.file.sha256:
            continue
        if known.get(one.file.url, one.sha256) != one.sha256:
            raise UserError(
                f"{one.file.url}: its sha256 is {one.sha256}, but was {known[one.file.url]} the first time "
                f"({target / RECORD}): it was changed at its source. The dataset was left as it is. To "
                f"accept the change, remove that {RECORD} and run the command again; nothing is fetched twice"
            )
        news.say(
            f"{one.file.name}: sha256 {one.sha256}; none is published, so this one is trusted and recorded"
        )


def _recorded(record: Path) -> dict[str, str]:
    try:
        return {file["url"]: file["sha256"] for file in json.loads(record.read_text("utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):  # no record, or not one of ours
        return {}


def _record(name: str, address: Address, fetched: Sequence[Fetched]) -> str:
    files = [
        {
            "url": one.file.url,
            "size": one.size,
            "sha256": one.sha256,
            "checksum": "published" if one.file.sha256 else "first use",
        }
        for one in fetched
    ]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"dataset": name, "date": date, "licence": address.licence, "files": files}
    return json.dumps(record, indent=2) + "\n"


@contextmanager
def _unpacked(fetched: Sequence[Fetched], address: Address, folder: Path) -> Iterator[Path]:
    """The dataset's folder among what was unpacked; archives that cannot be used are not kept."""
    with suppress(FileNotFoundError):  # of a run that was killed
        shutil.rmtree(folder)
    try:
        try:
            links = [link for one in fetched for link in unpack(one.path, folder)]
            ready = pick(folder, address.holds, named=Path(address.folder).name, links=links)
        except UserError as error:
            for one in fetched:
                one.path.unlink()
            urls = ", ".join(address.urls)
            raise UserError(f"{urls}: {error}. The download was removed and nothing was kept of it") from None
        yield ready
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(ready: Path, target: Path, aside: Path) -> None:
    """Puts the folder in its place; what it replaces comes back if that fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if os.path.lexists(target):
            target.rename(aside)
        ready.rename(target)
    except BaseException:
        _settle(aside, target)
        raise


def _settle(aside: Path, target: Path) -> None:
    """A dataset that was moved aside comes back if nothing came in its place, and else goes."""
    if not os.path.lexists(aside):
        return
    if not os.path.lexists(target):
        aside.rename(target)
    elif aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    else:
        aside.unlink()
