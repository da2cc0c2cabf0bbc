"""Download of public datasets into the data root: `unirex data download NAME`.

All work happens in `ROOT/NAME.part`: files as they arrive, then what is unpacked. The dataset's folder
appears (or, with `force`, is replaced) in one move at the end, when everything is complete and verified. An
interrupted run leaves only what the next one can resume from.

`download.json` in the dataset's folder records the source, date and SHA-256 of each file. If no checksum is
published, a later download of the same address is compared with that record.
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
from unirex.errors import UserError, unknown
from unirex.files import say, write_file

__all__ = ["ADDRESSES", "RECORD", "Address", "RemoteFile", "download"]

RECORD = "download.json"


def download(name: str, root: str | Path, *, progress: bool = True, force: bool = False) -> Path:
    """Fetch a dataset of ADDRESSES; returns its folder, which is where `load_dataset` looks below `root`.

    A dataset that exists is left alone unless `force` is set. `progress` reports on standard error.
    """
    if name == "demo":
        raise UserError("the dataset 'demo' is part of unirex: there is nothing to download")
    if name not in ADDRESSES:
        raise unknown("dataset", name, ADDRESSES)
    address, root = ADDRESSES[name], Path(root)
    target = root / address.folder
    _check_free(target, force)
    with _work_folder(root, name) as work:
        _settle(work / "replaced", target)  # of a run that was killed between the two moves at its end
        _check_free(target, force)
        if progress:
            say(f"{name}: {address.licence}")
        fetched = [fetch(file, work, shown=progress) for file in address.files]
        _check_first_use(fetched, target)
        if progress:
            _report_checksums(fetched)
        with _unpacked(fetched, address, work / "unpacked") as ready:
            write_file(ready / RECORD, _record(name, address, fetched))
            _move(ready, target, work / "replaced")
        shutil.rmtree(work)
    return target


def _check_free(target: Path, force: bool) -> None:
    if os.path.lexists(target) and not force:
        raise UserError(f"{target}: already there; it was left alone (--force replaces it)")


@contextmanager
def _work_folder(root: Path, name: str) -> Iterator[Path]:
    """A folder for one download at a time; removed at the end unless it holds something to resume from."""
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
    except ImportError:  # Windows: two downloads of one dataset are not kept apart
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


def _check_first_use(fetched: Sequence[Fetched], target: Path) -> None:
    """Compare files without a published checksum with those of the first download, if one is recorded."""
    try:
        record = json.loads((target / RECORD).read_text("utf-8"))
        known = {file["url"]: file["sha256"] for file in record["files"]}
    except (OSError, ValueError, KeyError, TypeError):  # no record, or not one of ours
        return
    for result in fetched:
        url, sha256 = result.file.url, result.sha256
        if not result.file.sha256 and known.get(url, sha256) != sha256:
            raise UserError(
                f"{url}: its sha256 is {sha256}, but was {known[url]} the first time "
                f"({target / RECORD}): it was changed at its source. The dataset was left as it is. To "
                f"accept the change, remove that {RECORD} and run the command again; nothing is fetched twice"
            )


def _report_checksums(fetched: Sequence[Fetched]) -> None:
    published = [result.file.name for result in fetched if result.file.sha256]
    if published:
        say(f"sha256 as published: {', '.join(published)}")
    for result in fetched:
        if not result.file.sha256:
            trusted = "none is published, so this one is trusted and recorded"
            say(f"{result.file.name}: sha256 {result.sha256}; {trusted}")


def _record(name: str, address: Address, fetched: Sequence[Fetched]) -> str:
    files = [
        {
            "url": result.file.url,
            "size": result.size,
            "sha256": result.sha256,
            "checksum": "published" if result.file.sha256 else "first use",
        }
        for result in fetched
    ]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"dataset": name, "date": date, "licence": address.licence, "files": files}
    return json.dumps(record, indent=2) + "\n"


@contextmanager
def _unpacked(fetched: Sequence[Fetched], address: Address, folder: Path) -> Iterator[Path]:
    """Unpack everything and find the dataset's folder in it; archives that cannot be used are deleted."""
    with suppress(FileNotFoundError):  # left by a run that was killed
        shutil.rmtree(folder)
    try:
        try:
            links = [link for result in fetched for link in unpack(result.path, folder)]
            ready = pick(folder, address.holds, named=Path(address.folder).name, links=links)
        except UserError as error:
            for result in fetched:
                result.path.unlink()
            urls = ", ".join(address.urls)
            raise UserError(f"{urls}: {error}. The download was removed and nothing was kept of it") from None
        yield ready
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(ready: Path, target: Path, aside: Path) -> None:
    """Move the folder into place; on failure, the one it replaces is put back."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if os.path.lexists(target):  # a dangling link, too, would be in the way
            target.rename(aside)
        ready.rename(target)
    except BaseException:
        _settle(aside, target)
        raise


def _settle(aside: Path, target: Path) -> None:
    """Put a dataset that was moved aside back if nothing replaced it; delete it otherwise."""
    if not os.path.lexists(aside):
        return
    if not os.path.lexists(target):
        aside.rename(target)
    elif aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    else:
        aside.unlink()
