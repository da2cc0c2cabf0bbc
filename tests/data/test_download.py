"""A dataset comes whole and checked, or not at all; only what a next run goes on from is left behind."""

import hashlib
import json
import os
import socket
import sys
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from test_archives import special, tarred, zipped

from unirex.data import download as module
from unirex.data.download import ADDRESSES, RECORD, Address, RemoteFile, download
from unirex.data.download import http as fetching
from unirex.errors import UserError
from unirex.files import Progress

CONTENT = {"trees/train.txt": os.urandom(300_000), "trees/dev.txt": b"dev", "README": b"not data"}
DATA = {"train.txt": CONTENT["trees/train.txt"], "dev.txt": b"dev"}


@dataclass
class Site:
    """What a server offers, how it misbehaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    if_range: bool = True  # whether a changed version is noticed
    tag: str | None = '"v1"'
    date: str | None = None
    cut_after: int | None = None  # bytes of a body before the connection breaks
    length: bool = True
    chunked: bool = False
    stall: bool = False
    redirects: dict[str, str] = field(default_factory=dict)
    status: int | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        site = self.server.site
        site.asked.append({"path": self.path, **self.headers})
        self.close_connection = True
        if self.path in site.redirects:
            return self.answer(302, {"Location": site.redirects[self.path], "Content-Length": "0"})
        if site.status or self.path not in site.files:
            return self.answer(site.status or 404, {"Content-Length": "0"})
        return self.offer(site, site.files[self.path])

    def offer(self, site, body):
        version = {"ETag": site.tag, "Last-Modified": site.date}
        headers = {name: value for name, value in version.items() if value}
        status, start = 200, 0
        same = self.headers.get("If-Range") in (site.tag, site.date)
        if site.ranges and "Range" in self.headers and (same or not site.if_range):
            status, start = 206, int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            if start >= len(body):
                return self.answer(416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": "0"})
        if site.chunked:
            headers["Transfer-Encoding"] = "chunked"
        elif site.length:
            headers["Content-Length"] = str(len(body) - start)
        self.answer(status, headers)
        return self.send(site, body[start:])

    def send(self, site, body):
        sent = body if site.cut_after is None else body[: site.cut_after]
        if site.chunked:
            self.wfile.write(b"%x\r\n%s" % (len(body), sent))
            if sent == body:
                self.wfile.write(b"\r\n0\r\n\r\n")
        else:
            self.wfile.write(sent)
        if site.stall:
            self.wfile.flush()
            site.patience.wait(10)

    def answer(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def site(monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.site = Site(url=f"http://127.0.0.1:{server.server_port}")
    server.site.patience = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.site
    server.site.patience.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def publish(monkeypatch, *files, folder="toy"):
    address = Address(folder, files, ("train.txt", "dev.txt"), "free to use")
    monkeypatch.setitem(ADDRESSES, "toy", address)


def offer(site, monkeypatch, archive, *, known=True, folder="toy"):
    """Publishes an archive (or several files) as the dataset `toy`."""
    files = []
    for path in archive if isinstance(archive, list) else [archive]:
        data = path.read_bytes()
        site.files[f"/{path.name}"] = data
        sha256 = hashlib.sha256(data).hexdigest()
        url = f"{site.url}/{path.name}"
        files.append(RemoteFile(url, sha256, len(data)) if known else RemoteFile(url))
    publish(monkeypatch, *files, folder=folder)


@pytest.fixture
def toy(site, monkeypatch, tmp_path):
    """A tar.gz whose checksum is known."""
    offer(site, monkeypatch, tarred(tmp_path / "toy.tar.gz", CONTENT))
    return site


@pytest.fixture
def unknown_toy(site, monkeypatch, tmp_path):
    """A tar.gz nobody published a checksum of."""
    offer(site, monkeypatch, tarred(tmp_path / "toy.tar.gz", CONTENT), known=False)
    return site


def tree(folder):
    """All there is, folders with a slash."""
    return sorted(
        path.relative_to(folder).as_posix() + "/" * (path.is_dir() and not path.is_symlink())
        for path in folder.rglob("*")
    )


COMPLETE = ["toy/", "toy/dev.txt", f"toy/{RECORD}", "toy/train.txt"]
RESUMABLE = ["toy.part/", "toy.part/toy.tar.gz.part", "toy.part/toy.tar.gz.part.json"]
FETCHED = ["toy.part/", "toy.part/toy.tar.gz"]


def assert_complete(root, data=DATA):
    assert tree(root) == COMPLETE
    assert {name: (root / "toy" / name).read_bytes() for name in data} == data


def completes(root, data=DATA, **options):
    """The download succeeds and leaves the dataset and nothing else."""
    download("toy", root, progress=False, **options)
    assert_complete(root, data)


def refuses(root, *words, left=(), name="toy", **options):
    """The download fails with a message of these words and leaves only what is told."""
    with pytest.raises(UserError) as caught:
        download(name, root, progress=False, **options)
    for word in words:
        assert word in str(caught.value)
    assert tree(root) == list(left)


# What arrives


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", ["toy.zip", "toy.tar.gz", "toy.tgz", "toy.tar"])
def test_an_archive_arrives(site, monkeypatch, tmp_path, root, name, known):
    pack = zipped if name.endswith("zip") else tarred
    offer(site, monkeypatch, pack(tmp_path / name, CONTENT), known=known)
    assert download("toy", root, progress=False) == root / "toy"
    assert_complete(root)
    assert len(site.asked) == 1
    assert site.asked[0]["User-Agent"].startswith("unirex/")


@pytest.mark.parametrize("known", [True, False])
def test_the_record_says_what_came_from_where(site, monkeypatch, tmp_path, root, known):
    archive = zipped(tmp_path / "toy.zip", CONTENT)
    offer(site, monkeypatch, archive, known=known)
    download("toy", root, progress=False)
    record = json.loads((root / "toy" / RECORD).read_text("utf-8"))
    assert record["files"] == [
        {
            "url": f"{site.url}/toy.zip",
            "size": archive.stat().st_size,
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
            "checksum": "published" if known else "first use",
        }
    ]
    assert (record["dataset"], record["licence"]) == ("toy", "free to use")
    assert record["date"].endswith("+00:00")


def plain_files(tmp_path):
    for name, data in DATA.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in DATA]


def test_several_files_arrive_together(site, monkeypatch, tmp_path, root):
    offer(site, monkeypatch, plain_files(tmp_path), folder="group/toy")
    assert download("toy", root, progress=False) == root / "group/toy"
    assert tree(root) == ["group/", *(f"group/{path}" for path in COMPLETE)]
    assert [one["path"] for one in site.asked] == ["/train.txt", "/dev.txt"]


def test_of_several_files_those_that_came_are_not_fetched_again(site, monkeypatch, tmp_path, root):
    offer(site, monkeypatch, plain_files(tmp_path))
    last = site.files.pop("/dev.txt")
    refuses(root, "HTTP 404", left=["toy.part/", "toy.part/train.txt"])
    site.files["/dev.txt"] = last
    completes(root)
    assert [one["path"] for one in site.asked] == ["/train.txt", "/dev.txt", "/dev.txt"]


def test_a_body_without_a_length_arrives(unknown_toy, root):
    unknown_toy.length = False
    completes(root)


def test_a_chunked_body_arrives(toy, root):
    toy.chunked = True
    completes(root)


def test_the_root_is_made(toy, root):
    completes(root / "new/data")


def test_redirects_are_followed(toy, root):
    toy.files["/moved"] = toy.files.pop("/toy.tar.gz")
    toy.redirects["/toy.tar.gz"] = "/moved"
    completes(root)


# What is cut off, and goes on


def cut_once(site, root):
    """One download that breaks off; then the server is well again."""
    site.cut_after = 100_000
    with pytest.raises(UserError, match=r"cut off after 100.0 kB of 30.*run the command again"):
        download("toy", root, progress=False)
    site.cut_after = None


@pytest.mark.parametrize("known", ["toy", "unknown_toy"])
def test_a_truncated_body_is_told_and_gone_on_from(request, root, known):
    site = request.getfixturevalue(known)
    cut_once(site, root)
    assert tree(root) == RESUMABLE
    assert (root / "toy.part/toy.tar.gz.part").read_bytes() == site.files["/toy.tar.gz"][:100_000]
    completes(root)
    assert site.asked[1]["Range"] == "bytes=100000-"
    assert site.asked[1]["If-Range"] == '"v1"'


def test_a_date_will_do_where_there_is_no_exact_tag(toy, root):
    toy.tag, toy.date = 'W/"weak"', "Tue, 01 Jan 2019 00:00:00 GMT"
    cut_once(toy, root)
    completes(root)
    assert toy.asked[1]["If-Range"] == toy.date


def test_without_a_version_nothing_is_kept_and_it_begins_again(toy, root):
    toy.tag = None
    cut_once(toy, root)
    assert tree(root) == []
    completes(root)
    assert "Range" not in toy.asked[1]


def test_a_server_without_ranges_begins_again(unknown_toy, root):
    unknown_toy.ranges = False
    cut_once(unknown_toy, root)
    completes(root)
    assert len(unknown_toy.asked) == 2


@pytest.mark.parametrize("if_range", [True, False], ids=["noticed", "not noticed"])
def test_parts_of_two_versions_are_not_mixed(unknown_toy, root, tmp_path, if_range):
    site = unknown_toy
    site.if_range = if_range
    cut_once(site, root)
    news = {**CONTENT, "trees/train.txt": os.urandom(300_000)}
    site.files["/toy.tar.gz"] = tarred(tmp_path / "new.tar.gz", news).read_bytes()
    site.tag = '"v2"'
    completes(root, {"train.txt": news["trees/train.txt"], "dev.txt": b"dev"})


ELSEWHERE = json.dumps({"url": "http://elsewhere/", "version": '"v1"'})


@pytest.mark.parametrize("note", ["", "[]", "{}", "\x00", ELSEWHERE])
def test_a_part_without_a_note_of_this_address_begins_again(toy, root, note):
    cut_once(toy, root)
    (root / "toy.part/toy.tar.gz.part.json").write_text(note)
    completes(root)
    assert "Range" not in toy.asked[1]


@pytest.mark.parametrize(("more", "asked"), [(b"", 2), (b"more", 3)])
def test_a_part_that_is_whole_is_taken_and_one_too_long_begins_again(unknown_toy, root, more, asked):
    cut_once(unknown_toy, root)
    (root / "toy.part/toy.tar.gz.part").write_bytes(unknown_toy.files["/toy.tar.gz"] + more)
    completes(root)
    assert len(unknown_toy.asked) == asked  # the second was answered with 416: nothing more to send


def test_a_chunked_body_that_breaks_off_is_told(unknown_toy, root):
    unknown_toy.chunked, unknown_toy.cut_after = True, 50_000
    refuses(root, "cut off after", left=RESUMABLE)
    unknown_toy.cut_after = None
    completes(root)


def test_a_server_that_falls_silent_is_left(toy, root, monkeypatch):
    monkeypatch.setattr("unirex.data.download.http.TIMEOUT", 0.2)
    toy.cut_after, toy.stall = 100_000, True
    refuses(root, "cut off after 100.0 kB of", "nothing came for 0.2 s", left=RESUMABLE)
    toy.cut_after, toy.stall = None, False
    toy.patience.set()
    completes(root)


@contextmanager
def interrupted(monkeypatch, place, name, *, calls):
    """Ctrl-C at the n-th call of a function."""
    real, count = getattr(place, name), iter(range(1, 10_000))

    def function(*arguments, **options):
        if next(count) == calls:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, function)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_ctrl_c_while_it_comes(toy, root, monkeypatch):
    monkeypatch.setattr(fetching, "CHUNK", 2**14)
    with interrupted(monkeypatch, fetching, "_read", calls=4):
        download("toy", root, progress=False)
    assert tree(root) == RESUMABLE
    there = (root / "toy.part/toy.tar.gz.part").stat().st_size
    assert 0 < there <= 3 * 2**14
    completes(root)
    assert toy.asked[1]["Range"] == f"bytes={there}-"


def test_ctrl_c_before_the_first_byte(toy, root, monkeypatch):
    with interrupted(monkeypatch, fetching, "_read", calls=1):
        download("toy", root, progress=False)
    assert tree(root) == []


@pytest.mark.parametrize("step", ["unpack", "pick", "write_file", "_move"])
def test_ctrl_c_after_it_came(toy, root, monkeypatch, step):
    with interrupted(monkeypatch, module, step, calls=1):
        download("toy", root, progress=False)
    assert tree(root) == FETCHED
    completes(root)
    assert len(toy.asked) == 1  # nothing is fetched twice


# What must not be used


def test_a_wrong_checksum_is_told(toy, root):
    data = bytearray(toy.files["/toy.tar.gz"])
    data[1000] ^= 1
    toy.files["/toy.tar.gz"] = bytes(data)
    refuses(root, "wrong checksum", ADDRESSES["toy"].files[0].sha256, "The file was removed; try again")


def test_bytes_spoilt_before_a_cut_are_found_out(toy, root):
    cut_once(toy, root)
    part = root / "toy.part/toy.tar.gz.part"
    part.write_bytes(b"?" + part.read_bytes()[1:])
    refuses(root, "wrong checksum")
    completes(root)


def test_a_wrong_length_is_told_before_anything_comes(toy, root):
    toy.files["/toy.tar.gz"] = b"<html>Sign in to use this network</html>"
    refuses(root, "the server offers 40 bytes", "a login page")


def test_a_file_that_does_not_end_is_left(unknown_toy, root, monkeypatch):
    monkeypatch.setattr(fetching, "LARGEST", 100_000)
    unknown_toy.length = False
    refuses(root, "goes on after 100.0 kB")


def test_without_a_checksum_a_page_is_no_archive(unknown_toy, root):
    unknown_toy.files["/toy.tar.gz"] = b"<html>Sign in to use this network</html>"
    refuses(root, "toy.tar.gz: not a readable archive", "The download was removed")


def test_an_archive_of_something_else_is_told(site, monkeypatch, tmp_path, root):
    offer(site, monkeypatch, zipped(tmp_path / "toy.zip", {"a/training.txt": b""}))
    refuses(root, "no folder in it holds train.txt, dev.txt; there is a", "The download was removed")


@pytest.mark.parametrize("hostile", ["a file outside", "a link in the data"])
def test_a_hostile_archive_is_refused(site, monkeypatch, tmp_path, root, hostile):
    """Found while it is unpacked, or when the data are picked; test_archives has all that can be wrong."""
    (tmp_path / "pack").mkdir()
    if hostile == "a file outside":
        member = "../evil.txt"
        archive = zipped(tmp_path / "pack/toy.zip", {**CONTENT, member: b"x"})
    else:
        member = "trees/link"
        link = special(member, tarfile.SYMTYPE, "/etc/passwd")
        archive = tarred(tmp_path / "pack/toy.tar.gz", CONTENT, link)
    offer(site, monkeypatch, archive, known=False)
    refuses(root, "refused", repr(member), "The download was removed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack", "root"]


@pytest.mark.parametrize(
    "place", ["file:///etc/passwd", "ftp://127.0.0.1/toy", "data:text/plain,toy", "gopher://127.0.0.1/"]
)
def test_redirects_lead_nowhere_else(toy, root, place):
    toy.redirects["/toy.tar.gz"] = place
    refuses(root, f"leads to '{place}'", "only http and https")


def test_redirects_do_not_lead_down_from_https():
    from unirex.data.download.http import _check_scheme

    _check_scheme("http://a.org/x", "https://a.org/x")
    with pytest.raises(UserError, match="https to http is not followed"):
        _check_scheme("https://a.org/x", "http://a.org/x")


def test_redirects_in_a_circle_are_left(toy, root):
    toy.redirects["/toy.tar.gz"] = "/toy.tar.gz"
    refuses(root, "HTTP 302")


def test_a_local_file_is_no_address(monkeypatch, root):
    publish(monkeypatch, RemoteFile("file:///etc/passwd"))
    refuses(root, "only http and https")


# What the network does


@pytest.mark.parametrize(
    ("status", "advice"),
    [(404, "moved or withdrawn"), (410, "by hand"), (403, "refuses it"), (500, "later"), (503, "later")],
)
def test_an_http_error_is_told(toy, root, status, advice):
    toy.status = status
    refuses(root, f"{toy.url}/toy.tar.gz: HTTP {status}", advice)


@pytest.mark.parametrize("status", [204, 206, 416])
def test_an_answer_that_makes_no_sense_is_told(toy, root, status):
    toy.status = status
    refuses(root, f"HTTP {status}")


def test_an_error_keeps_what_came_before(toy, root):
    cut_once(toy, root)
    toy.status = 503
    refuses(root, "HTTP 503", left=RESUMABLE)


def test_no_network_is_told(toy, root, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/toy.zip"
        publish(monkeypatch, RemoteFile(url))
        refuses(root, url, "cannot be reached", "check the network")


def test_a_server_that_never_answers_is_left(root, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("unirex.data.download.http.TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/toy.zip"
        publish(monkeypatch, RemoteFile(url))
        refuses(root, "cannot be reached (nothing came for 0.2 s)")


def test_a_full_disk_is_the_users_to_see(toy, root, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "unpack", full)
        with pytest.raises(OSError, match="No space left"):
            download("toy", root, progress=False)
    assert tree(root) == FETCHED


# What is there already


MINE = ["toy/", "toy/mine.txt"]


def put_mine(folder):
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")


def test_an_existing_folder_is_left_alone_unless_forced(toy, root):
    put_mine(root / "toy")
    refuses(root, str(root / "toy"), "already there", "--force", left=MINE)
    assert toy.asked == []
    completes(root, force=True)


@pytest.mark.parametrize("fault", ["status", "cut", "unpack", "move"])
def test_force_replaces_nothing_unless_it_succeeds(toy, root, monkeypatch, fault):
    put_mine(root / "toy")
    if fault == "status":
        toy.status = 500
        refuses(root, "HTTP 500", force=True, left=MINE)
    elif fault == "cut":
        toy.cut_after = 100_000
        refuses(root, "cut off", force=True, left=sorted([*MINE, *RESUMABLE]))
    else:  # "move": after the old folder was moved aside, before the new one is in its place
        step = (module, "unpack") if fault == "unpack" else (module.Path, "rename")
        with interrupted(monkeypatch, *step, calls=1 if fault == "unpack" else 2):
            download("toy", root, progress=False, force=True)
        assert tree(root) == sorted([*MINE, *FETCHED])
    assert (root / "toy/mine.txt").read_text() == "mine"


def test_force_replaces_a_link_and_not_what_it_points_to(toy, root, tmp_path):
    put_mine(tmp_path / "elsewhere")
    (root / "toy").symlink_to(tmp_path / "elsewhere")
    refuses(root, "already there", left=["toy"])
    completes(root, force=True)
    assert (tmp_path / "elsewhere/mine.txt").read_text() == "mine"


def test_a_run_killed_between_the_moves_is_put_right(toy, root):
    put_mine(root / "toy.part/replaced")
    refuses(root, "already there", left=MINE)
    put_mine(root / "toy.part/replaced")
    (root / "toy.part/unpacked").mkdir()
    completes(root, force=True)


def test_a_change_at_the_source_is_noticed(unknown_toy, root, tmp_path):
    download("toy", root, progress=False)
    download("toy", root, progress=False, force=True)  # the same again
    unknown_toy.files["/toy.tar.gz"] = tarred(tmp_path / "n.tar.gz", {**CONTENT, "README": b"2"}).read_bytes()
    left = sorted([*FETCHED, *COMPLETE])
    refuses(root, "was changed at its source", "remove that download.json", force=True, left=left)
    (root / "toy" / RECORD).unlink()
    asked = len(unknown_toy.asked)
    completes(root, force=True)
    assert len(unknown_toy.asked) == asked


@pytest.mark.parametrize("record", ["", "[]", '{"files": 3}', '{"files": [{}]}'])
def test_a_record_of_somebody_else_says_nothing(unknown_toy, root, record):
    download("toy", root, progress=False)
    (root / "toy" / RECORD).write_text(record)
    completes(root, force=True)


def test_one_download_at_a_time(toy, root):
    fcntl = pytest.importorskip("fcntl")
    (root / "toy.part").mkdir()
    with (root / "toy.part/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refuses(root, "being downloaded already", left=["toy.part/", "toy.part/lock"])
    completes(root)


def test_a_root_that_is_a_file_is_told(toy, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file: is a file; give the folder"):
        download("toy", tmp_path / "file", progress=False)


# What is said


def test_plain_lines_where_there_is_no_terminal(unknown_toy, root, capsys):
    cut_once(unknown_toy, root)
    download("toy", root)
    out, err = capsys.readouterr()
    assert out == ""
    sha256 = hashlib.sha256(unknown_toy.files["/toy.tar.gz"]).hexdigest()
    first, second, third = err.splitlines()
    assert first == "toy: free to use"
    assert second.startswith("toy.tar.gz: going on from 100.0 kB of 30")
    assert third.startswith(f"toy.tar.gz: sha256 {sha256}; none is published")


def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_a_bar_on_a_terminal(toy, root, capsys, monkeypatch):
    terminal(monkeypatch)
    advance, used = Progress.advance, []
    monkeypatch.setattr(Progress, "advance", lambda self, more: used.append(more) or advance(self, more))
    download("toy", root)
    out, err = capsys.readouterr()
    assert out == ""
    assert "free to use" in err and "toy.tar.gz" in err and "sha256 as published" in err
    assert sum(used) == len(toy.files["/toy.tar.gz"])
    assert_complete(root)


def test_a_bar_goes_away_when_it_fails(toy, root, capsys, monkeypatch):
    terminal(monkeypatch)
    toy.cut_after = 100_000
    with pytest.raises(UserError, match="cut off"):
        download("toy", root)
    hidden, _, shown = capsys.readouterr().err.rpartition("\x1b[?25l")
    assert hidden and "\x1b[?25h" in shown  # the cursor is back


def test_nothing_is_said_if_nobody_wants_to_hear(toy, root, capsys):
    download("toy", root, progress=False)
    assert capsys.readouterr() == ("", "")


# The addresses


def test_unknown_names_are_told(root):
    refuses(root, "unknown dataset 'mvoies'", "did you mean 'movies'", name="mvoies")
    refuses(root, "part of unirex", name="demo")


def test_every_address_is_complete():
    names = ("sst", "movies", "cose", "multirc", "esnli", "hatexplain", "yelp", "amazon", "stormfront")
    folders = {name: name for name in names}
    folders |= {"toxic-spans": "toxic-spans", "offenseval": "tweeteval/offensive", "irony": "tweeteval/irony"}
    assert {name: address.folder for name, address in ADDRESSES.items()} == folders
    for address in ADDRESSES.values():
        assert address.licence and address.holds and address.urls
        assert len({file.name for file in address.files}) == len(address.files)
        for file in address.files:
            assert file.url.startswith("https://")
            assert file.sha256 is None or (len(file.sha256) == 64 and int(file.sha256, 16))
            assert (file.sha256 is None) == (file.size is None)
