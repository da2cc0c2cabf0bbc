"""What comes out of an archive stays in its folder, or nothing comes out at all."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import PurePosixPath

import pytest

from unirex.data.download.archives import UnpackLimits, pick, unpack
from unirex.errors import UserError

FILES = {"data/train.txt": b"one", "data/docs/a.txt": "é😀".encode(), "data/empty.txt": b""}


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(path, files, *extra):
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)
    return path


def special(name, kind, target=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zip_special(path, name, kind, content="/etc/passwd"):
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo(name)
        member.create_system, member.external_attr = 3, (kind | 0o777) << 16
        archive.writestr(member, content)
    return path


def content_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def assert_contained(tmp_path, archive):
    """Nothing but the archive and its folder, and no link anywhere."""
    assert {path.name for path in tmp_path.iterdir()} <= {archive.name, "out"}
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


PACKERS = {"a.zip": zipped, "a.tar": tarred, "a.tar.gz": tarred, "a.tgz": tarred, "A.ZIP": zipped}


@pytest.mark.parametrize("name", PACKERS)
def test_what_was_packed_comes_out(tmp_path, name):
    archive = PACKERS[name](tmp_path / name, FILES)
    assert unpack(archive, tmp_path / "out") == []
    assert content_of(tmp_path / "out") == FILES


def test_any_other_file_is_copied(tmp_path):
    (tmp_path / "train.txt").write_bytes(b"words")
    unpack(tmp_path / "train.txt", tmp_path / "out")
    assert content_of(tmp_path / "out") == {"train.txt": b"words"}
    assert (tmp_path / "train.txt").exists()


def test_folders_may_be_named_and_named_again(tmp_path):
    folders = [special(name, tarfile.DIRTYPE) for name in ("./", "docs", "docs/")]
    archive = tarred(tmp_path / "a.tar", {"./docs/a.txt": b"a"}, *folders)
    unpack(archive, tmp_path / "out")
    assert content_of(tmp_path / "out") == {"docs/a.txt": b"a"}


def test_modes_and_owners_are_not_taken_over(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("run.sh")
        member.mode, member.uid = 0o6777, 0
        archive.addfile(member)
    unpack(tmp_path / "a.tar", tmp_path / "out")
    assert not (tmp_path / "out/run.sh").stat().st_mode & (stat.S_ISUID | stat.S_ISGID | 0o111)


ESCAPES = {
    "../evil.txt": "leads out",
    "data/../../evil.txt": "leads out",
    "/tmp/evil.txt": "absolute",
    "C:\\evil.txt": "Windows",
    "C:evil.txt": "Windows",
    "data/C:/evil.txt": "Windows",
    "..\\evil.txt": "Windows",
    "\\\\server\\share\\evil.txt": "Windows",
    "data/ev\nil.txt": "control",
    "data/" + "e" * 256: "too long",
}


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("packer", ["a.zip", "a.tar.gz"])
def test_no_name_leads_out(tmp_path, packer, name):
    archive = PACKERS[packer](tmp_path / packer, {"data/good.txt": b"x", name: b"x"})
    with pytest.raises(UserError, match=ESCAPES[name]) as caught:
        unpack(archive, tmp_path / "out")
    assert repr(name)[:50] in str(caught.value)
    assert str(caught.value).startswith(f"{packer}: refused")
    assert_contained(tmp_path, archive)
    assert set(content_of(tmp_path / "out")) <= {"data/good.txt"}


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_refused(tmp_path, kind):
    archive = tarred(tmp_path / "a.tar.gz", FILES, special("data/null", kind))
    with pytest.raises(UserError, match="'data/null' is neither a file nor a folder"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out/data/null").exists()


def test_devices_in_a_zip_are_refused(tmp_path):
    archive = zip_special(tmp_path / "a.zip", "null", stat.S_IFCHR)
    with pytest.raises(UserError, match="'null' is neither a file nor a folder"):
        unpack(archive, tmp_path / "out")


LINKS = {
    "symlink out": (tarfile.SYMTYPE, "/etc/passwd"),
    "symlink in": (tarfile.SYMTYPE, "train.txt"),
    "hardlink out": (tarfile.LNKTYPE, "/etc/passwd"),
    "hardlink in": (tarfile.LNKTYPE, "data/train.txt"),
}


@pytest.mark.parametrize("link", LINKS)
def test_links_are_never_made(tmp_path, link):
    archive = tarred(tmp_path / "a.tar.gz", FILES, special("data/link", *LINKS[link]))
    links = unpack(archive, tmp_path / "out")
    assert links == [PurePosixPath("data/link")]
    assert content_of(tmp_path / "out") == FILES
    assert_contained(tmp_path, archive)
    with pytest.raises(UserError, match="'data/link' is a link"):
        pick(tmp_path / "out", ["train.txt"], named="data", links=links)


def test_links_in_a_zip_are_never_made(tmp_path):
    archive = zip_special(tmp_path / "a.zip", "link", stat.S_IFLNK)
    assert unpack(archive, tmp_path / "out") == [PurePosixPath("link")]
    assert not any((tmp_path / "out").iterdir())


def test_a_link_away_from_the_data_does_no_harm(tmp_path):
    archive = tarred(tmp_path / "a.tar", FILES, special("other/link", tarfile.SYMTYPE, "/etc"))
    links = unpack(archive, tmp_path / "out")
    assert pick(tmp_path / "out", ["train.txt"], named="data", links=links) == tmp_path / "out/data"


def test_nothing_is_written_through_a_link(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(special("way", tarfile.SYMTYPE, str(tmp_path)))
        archive.addfile(special("way/evil.txt", tarfile.REGTYPE))
    with pytest.raises(UserError, match=r"'way/evil.txt' lies below a member that is no folder"):
        unpack(tmp_path / "a.tar", tmp_path / "out")
    assert not (tmp_path / "evil.txt").exists()


@pytest.mark.parametrize("second", ["a.txt", "./a.txt", "A.TXT"])
@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_no_name_comes_twice(tmp_path, name, second):
    if second == "a.txt" and name == "a.zip":
        archive = zipped(tmp_path / name, {"a.txt": b"1"})
        with zipfile.ZipFile(archive, "a") as more, pytest.warns(UserWarning, match="Duplicate"):
            more.writestr("a.txt", b"2")
    elif second == "a.txt":
        archive = tarred(tmp_path / name, {"a.txt": b"1"}, special("a.txt", tarfile.REGTYPE))
    else:
        archive = PACKERS[name](tmp_path / name, {"a.txt": b"1", second: b"2"})
    with pytest.raises(UserError, match=f"{second}' is there twice"):
        unpack(archive, tmp_path / "out")


def test_a_file_is_no_folder(tmp_path):
    with pytest.raises(UserError, match="'a/b' lies below a member that is no folder"):
        unpack(tarred(tmp_path / "a.tar", {"a": b"1", "a/b": b"2"}), tmp_path / "out")
    with pytest.raises(UserError, match="'a' is there twice"):
        unpack(tarred(tmp_path / "b.tar", {"a/b": b"1", "a": b"2"}), tmp_path / "out2")


TIGHT = UnpackLimits(total=10_000_000, largest=5_000_000, ratio=10, allowance=100_000, members=50)
BOMBS = {
    "by ratio": {"zeros.txt": bytes(4_000_000)},
    "by total": {f"{number}.txt": os.urandom(1_000_000) for number in range(11)},
    "one file": {"big.txt": os.urandom(5_000_001)},
    "by number": {f"{number}.txt": b"" for number in range(51)},
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_bombs_are_stopped(tmp_path, name, bomb):
    archive = PACKERS[name](tmp_path / name, BOMBS[bomb])
    with pytest.raises(UserError, match=r"refused, for its member '\w+.txt' (is larger|is one|unpacks|is f)"):
        unpack(archive, tmp_path / "out", limits=TIGHT)
    assert sum(map(len, content_of(tmp_path / "out").values())) <= TIGHT.total


def test_a_zip_may_not_lie_about_sizes(tmp_path):
    archive = zipped(tmp_path / "a.zip", {"zeros.txt": bytes(4_000_000)})
    honest, lie = (4_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")
    archive.write_bytes(archive.read_bytes().replace(honest, lie))
    with pytest.raises(UserError, match=r"a.zip: not a readable archive"):
        unpack(archive, tmp_path / "out", limits=TIGHT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_tar_header_cannot_fill_the_memory(tmp_path, kind):
    header = special("pax", kind)
    header.size = 40_000_000
    with gzip.open(tmp_path / "a.tar.gz", "wb") as archive:
        archive.write(header.tobuf() + bytes(header.size))
    with pytest.raises(UserError, match="is followed by far more"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out")


def test_a_sparse_tar_cannot_fill_the_disk(tmp_path):
    member = special("holes.txt", tarfile.REGTYPE)
    member.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(2**50), "GNU.sparse.map": "0,0"}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member)
    with pytest.raises(UserError, match=r"'holes.txt' is larger than 4.3 GB"):
        unpack(tmp_path / "a.tar", tmp_path / "out")


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:25_000] + bytes([data[25_000] ^ 255]) + data[25_001:],
    "page": lambda data: b"<!DOCTYPE html><title>Sign in</title>" * 50,
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_damage_is_told_as_such(tmp_path, name, damage):
    archive = PACKERS[name](tmp_path / name, {"data/train.txt": os.urandom(50_000)})
    archive.write_bytes(DAMAGES[damage](archive.read_bytes()))
    with pytest.raises(UserError, match=f"^{name}: not a readable archive \\("):
        unpack(tmp_path / name, tmp_path / "out")


def test_a_password_is_told_as_such(tmp_path):
    archive = zipped(tmp_path / "a.zip", {"a.txt": b"secret"})
    data = bytearray(archive.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(UserError, match="password"):
        unpack(archive, tmp_path / "out")


def test_a_full_disk_is_no_fault_of_the_archive(tmp_path, monkeypatch):
    def full(self, *arguments, **options):
        raise OSError(28, "No space left on device")

    archive = tarred(tmp_path / "a.tar.gz", FILES)
    monkeypatch.setattr(tarfile.TarFile, "makefile", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(archive, tmp_path / "out")


def test_a_python_without_extraction_filters_unpacks_no_tar(tmp_path, monkeypatch):
    archive = tarred(tmp_path / "a.tar.gz", FILES)
    monkeypatch.delattr(tarfile, "data_filter")
    with pytest.raises(UserError, match=r"a\.tar\.gz: .* use Python 3\.11\.4 or newer"):
        unpack(archive, tmp_path / "out")
    assert content_of(tmp_path / "out") == {}


@pytest.mark.parametrize(
    ("names", "holds", "picked"),
    [
        (["top/README", "top/trees/train.txt", "top/trees/more/train.txt"], ["train.txt"], "top/trees"),
        (["a/b/train.txt", "c/train.txt", "d/train.txt"], ["train.txt"], "c"),  # the outermost
        (["data/a_cut/t.jsonl", "data/cose/t.jsonl", "data/cose/all/t.jsonl"], ["t.jsonl"], "data/cose"),
        (["a/train.txt", "b/c/train.txt", "b/c/dev.txt"], ["train.txt", "dev.txt"], "b/c"),  # all of them
        (["master/notes.csv", "master/all_files/1.txt"], ["notes.csv", "all_files"], "master"),
        (["top/training.txt"], ["train.txt", "dev.txt"], None),
    ],
)
def test_the_dataset_is_the_folder_that_holds_its_files(tmp_path, names, holds, picked):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    if picked:
        assert pick(tmp_path, holds, named="cose") == tmp_path / picked
    else:
        with pytest.raises(UserError, match=r"no folder in it holds train.txt, dev.txt; there is top"):
            pick(tmp_path, holds, named="cose")
