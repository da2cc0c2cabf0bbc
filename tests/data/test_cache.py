"""A dataset parsed before is found again, and never when anything it was made from has changed."""

import errno
import hashlib
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from unirex.data import store
from unirex.data.cache import add_entry, cache_folder, cache_size, clear_cache, code_digest, fingerprint
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.store import SMALLEST, StoredExamples, cached
from unirex.data.validate import collecting

INFO = DatasetInfo("numbers", (1, 2.5), "segments", "macro_f1", (0, 1), ("Q:", "A:"))
TWO_WRITERS = """
import sys, time
from pathlib import Path
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.store import cached

def build():
    Path(sys.argv[2]).touch()
    while not Path(sys.argv[3]).exists():  # until the other is building too
        time.sleep(0.01)
    return Splits(DatasetInfo("x", (0, 1)), {"train": [Example(str(n), ("é",), n % 2) for n in range(3000)]})

data = cached(build, sources=[Path(sys.argv[1])], settings={})
print(type(data["train"]).__name__, len(data["train"]), data["train"][2999].id, data.digest)
"""


class Reader:
    """Builds a dataset from a file, and counts how often."""

    def __init__(self, path, size=SMALLEST):
        self.path, self.size, self.times = path, size, 0

    def __call__(self):
        self.times += 1
        text = self.path.read_text("utf-8") if self.path.is_file() else "folder"
        train = [Example(f"{n}", (text, "é"), 1, (((0, 1),), ())) for n in range(self.size - 1)]
        return Splits(INFO, {"train": train, "dev": [], "test": [Example("t", (text, ""), 2.5)]})

    def load(self, **settings):
        return cached(self, sources=[self.path], settings=settings)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def reader(tmp_path):
    (tmp_path / "data.txt").write_text("so good")
    return Reader(tmp_path / "data.txt")


def entries(folder):
    return sorted(path for path in (folder / "examples").iterdir())


def contents(splits):
    return splits.info, {name: list(part) for name, part in splits.items()}


def test_the_second_time_it_is_not_built(reader):
    first, second = reader.load(), reader.load()
    assert reader.times == 1
    plain = Reader(reader.path)()
    for found in (first, second):
        assert all(isinstance(part, StoredExamples) for part in found.values())
        assert contents(found) == contents(plain)
        assert repr(found.info) == repr(plain.info)
        assert found.digest == fingerprint(plain) == fingerprint(replace(found, digest=None))


def test_small_datasets_are_not_kept(reader, folder):
    reader.size = SMALLEST - 1
    assert isinstance(reader.load()["train"], list)
    assert not folder.exists()


def test_changed_content_is_built_again_and_so_is_a_renamed_file(reader):
    assert reader.load()["train"][0].segments[0] == "so good"
    reader.path.write_text("so food")
    assert reader.load()["train"][0].segments[0] == "so food"
    assert reader.times == 2
    reader.path = reader.path.rename(reader.path.with_name("other.txt"))
    reader.load()
    assert reader.times == 3


def test_a_changed_file_deep_in_a_folder_is_seen(tmp_path):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    reader = Reader(tmp_path / "docs")
    for number in range(2):
        (tmp_path / "docs" / "deep" / "a").write_text(str(number))
        reader.load(), reader.load()
        assert reader.times == number + 1


def test_changed_settings_are_another(reader):
    for settings in ({}, {"seed": 0}, {"seed": 1}, {"seed": "1"}, {"seed": True}, {"columns": {"text": "a"}}):
        reader.load(**settings), reader.load(**settings)
    assert reader.times == 6


def test_settings_may_be_objects_that_say_what_they_are(reader):
    @dataclass
    class Columns:
        text: str

    for columns in (Columns("a"), Columns("b"), Columns("a"), reader.path):
        reader.load(columns=columns)
    assert reader.times == 3
    with pytest.raises(TypeError, match="no lasting name"):
        reader.load(columns=object())


@pytest.mark.parametrize("what, value", [("CODE", "unirex.errors"), ("SCHEMA", "changed")])
def test_changed_readers_are_another(reader, monkeypatch, what, value):
    reader.load()
    monkeypatch.setattr(store, what, value)
    reader.load(), reader.load()
    assert reader.times == 2


def test_the_code_of_a_whole_package_counts(tmp_path, monkeypatch):
    (tmp_path / "someone" / "deep").mkdir(parents=True)
    (tmp_path / "someone" / "__init__.py").touch()
    os.utime(tmp_path / "someone" / "__init__.py", (0, 0))
    reader = tmp_path / "someone" / "deep" / "reader.py"
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for text in ("1", "2", "2"):
        reader.write_text(text)
        os.utime(reader, (0, 0))
        code_digest.cache_clear()
        digests.append(code_digest("someone"))
    assert digests[0] != digests[1] == digests[2]
    os.utime(reader, (time.time() + 9, time.time() + 9))  # edited while this process runs
    code_digest.cache_clear()
    assert code_digest("someone") != digests[2]


def test_a_file_written_to_while_it_is_read_names_nothing(reader, folder):
    def build():
        reader.path.write_text("so long")
        return reader()

    assert isinstance(cached(build, sources=[reader.path], settings={})["train"], list)
    assert not folder.exists()


def damage(name, change):
    def apply(entry):
        content = (entry / name).read_bytes()
        (entry / name).write_bytes(change(content))

    return apply


@pytest.mark.parametrize(
    "harm",
    [
        damage("info.json", lambda content: content[:-20]),
        damage("info.json", lambda content: b""),
        damage("info.json", lambda content: b"[1]"),
        damage("info.json", lambda content: b'{"info": 1}'),
        damage("info.json", lambda content: b"\xff\xfe"),
        damage("info.json", lambda content: content.replace(b'"name"', b'"nome"')),
        damage("train.arrow", lambda content: content[:-1]),
        damage("train.arrow", lambda content: content[: len(content) // 2]),
        damage("train.arrow", lambda content: b""),
        damage("train.arrow", lambda content: content + b"\0"),
        damage("dev.arrow", lambda content: bytes(len(content))),
        lambda entry: (entry / "test.arrow").unlink(),
        lambda entry: (entry / "info.json").unlink(),
        lambda entry: [path.unlink() for path in entry.iterdir()],
        lambda entry: (entry.rename(entry.with_name("gone")), entry.touch()),
    ],
)
def test_a_damaged_entry_is_written_anew(reader, folder, harm):
    reader.load()
    (entry,) = entries(folder)
    harm(entry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [reader.load(), reader.load()]
    assert reader.times == 2
    assert all(contents(one) == contents(Reader(reader.path)()) for one in found)
    assert [path for path in entries(folder) if path.name != "gone"] == [entry]


def test_two_writers_at_once(tmp_path, folder, reader):
    """Both are building when neither has written; both end with the one entry."""
    marks = [str(tmp_path / name) for name in ("a", "b")]
    commands = [
        [sys.executable, "-c", TWO_WRITERS, str(reader.path), *order] for order in (marks, marks[::-1])
    ]
    processes = [
        subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for one in commands
    ]
    first, second = (process.communicate(timeout=60)[0] for process in processes)
    assert first == second
    assert first.startswith("StoredExamples 3000 2999 ")
    assert len(entries(folder)) == 1


def test_the_slower_writer_drops_its_copy(tmp_path):
    entry = tmp_path / "cache" / "kind" / ("0" * 64)

    def slow(draft):
        assert add_entry(entry, lambda other: (other / "x").write_text("fast"))
        (draft / "x").write_text("slow")

    assert add_entry(entry, slow)
    assert (entry / "x").read_text() == "fast"
    assert list(entry.parent.iterdir()) == [entry]


def test_a_folder_that_cannot_be_made(reader, folder):
    folder.write_text("a file is in the way")
    with pytest.warns(UserWarning, match=r"nothing can be kept in .*cache.* set UNIREX_CACHE to another"):
        found = reader.load()
    assert contents(found) == contents(Reader(reader.path)())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said
        reader.load()
    assert reader.times == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError(errno.ENOSPC, "No space left"), pytest.warns(UserWarning, match="No space left")),
        (KeyboardInterrupt(), pytest.raises(KeyboardInterrupt)),
    ],
)
def test_a_failed_writing_leaves_nothing(reader, folder, monkeypatch, error, outcome):
    def fail(path, examples):
        path.write_bytes(b"begun")
        raise error

    monkeypatch.setattr(store, "write_examples", fail)
    with outcome:
        assert isinstance(reader.load()["train"], list)
    assert entries(folder) == []


@pytest.mark.parametrize("value", ["off", "OFF", "0", "", " "])
def test_the_off_switch(reader, monkeypatch, tmp_path, value):
    monkeypatch.setenv("UNIREX_CACHE", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() is None
    assert isinstance(reader.load()["train"], list)
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]
    assert (cache_size(), clear_cache()) == (0, 0)


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("UNIREX_CACHE", "here")
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv("UNIREX_CACHE", "~/there")
    assert cache_folder() == Path("/home/somebody/there")
    monkeypatch.delenv("UNIREX_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/big")
    assert cache_folder() == Path("/big/unirex")
    for ignored in ("relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache_folder() == Path("/home/somebody/.cache/unirex")


def test_where_problems_are_collected_the_files_are_read(reader, folder):
    with collecting():
        reader.load()  # rows may be missing from it
    assert not folder.exists()
    reader.load()
    with collecting():
        reader.load()
    assert reader.times == 3


def test_a_mistake_is_reported_by_the_reader(tmp_path, reader):
    with pytest.raises(FileNotFoundError):
        cached((tmp_path / "none").read_bytes, sources=[tmp_path / "none"], settings={})
    long = Path("x" * 5000)
    assert cached(reader, sources=[long], settings={})["train"]


def test_a_cache_inside_the_data_would_never_be_found_again(tmp_path, folder):
    reader = Reader(tmp_path)
    reader.load()
    assert not folder.exists()


def test_size_and_clearing(reader, folder):
    assert (cache_size(), clear_cache()) == (0, 0)
    found = reader.load()
    (folder / "examples" / "notes").mkdir()
    (folder / "examples" / "notes" / ("a" * 64)).touch()
    (folder / "mine.txt").write_text("not an entry")
    other = folder / "encodings" / f"{hashlib.sha256().hexdigest()}.safetensors"
    other.parent.mkdir()
    other.write_bytes(b"12345")
    files = [*(entries(folder)[0]).iterdir()]
    assert cache_size() == sum(path.stat().st_size for path in files) + 5
    assert clear_cache() > 5
    assert cache_size() == 0
    assert len(list(found["train"])) == SMALLEST - 1  # what is open outlives its entry
    assert sorted(path.name for path in folder.rglob("*")) == [
        "a" * 64, "encodings", "examples", "mine.txt", "notes"
    ]  # fmt: skip
