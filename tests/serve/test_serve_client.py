"""The client and the command."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from commands import fails
from unirex.cli.serve import names
from unirex.errors import UserError
from unirex.serve import Client
from unirex.serve.client import ServerError
from unirex.serve.errors import overloaded
from unirex.serve.running import listener
from unirex.serve.settings import Settings

KEY = "a-key-of-some-length"
TEXTS = ["a good film", "dull", ("a film", "not good")]


@pytest.fixture(scope="module")
def server(served_systems, listening):
    with listening(served_systems, Settings(api_key=KEY)) as (url, _, service):
        yield url, service


def test_the_client_answers_as_a_system_does(server, served_systems):
    client, system = Client(server[0], api_key=KEY), served_systems["slm"]
    assert client.ready() and client.info()["models"][0]["name"] == "slm"
    assert client.predict("dull") == system.predict("dull")
    assert client.predict(TEXTS) == system.predict(TEXTS)
    offline = system.explain(TEXTS, budget=50)
    for explanation, wanted in zip(client.explain(TEXTS, budget=50), offline, strict=True):
        assert explanation.label == wanted.label and explanation.spans == wanted.spans
    one = client.explain("a good film")
    assert one.spans == system.explain("a good film").spans
    assert len(client.explain(["dull"], budgets=[10, 50])) == 2
    assert client.answers("dull", faithfulness=True)[0]["faithfulness"][0]["budget"] == 20
    question = {"text": "a film", "choices": ["good", "bad"]}
    assert Client(server[0], api_key=KEY, model="choices").predict(question) in ("A", "B")
    sets = Client(server[0], api_key=KEY, model="sets").predict(["dull"])
    assert isinstance(sets[0], tuple)


def test_the_client_says_what_is_wrong(server):
    url = server[0]
    for client, status in ((Client(url), 401), (Client(url, api_key=KEY, model="other"), 404)):
        with pytest.raises(ServerError, match=str(status)) as failure:
            client.predict("dull")
        assert failure.value.status == status
    with pytest.raises(UserError, match="address of a server"):
        Client("ftp://localhost")
    with pytest.raises(UserError, match="no answer"):
        Client("http://127.0.0.1:9", timeout=1).predict("dull")
    assert not Client("http://127.0.0.1:9", timeout=1).ready()


@pytest.mark.parametrize(("status", "message"), [(200, "no answer from a server"), (500, "answered 500")])
def test_an_answer_that_breaks_off_is_an_error_in_a_line(status, message):
    with listener("127.0.0.1", 0) as broken, ThreadPoolExecutor(1) as pool:

        def answer():
            connection, _ = broken.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 %d -\r\nContent-Length: 100\r\n\r\n{" % status)

        pool.submit(answer)
        with pytest.raises(UserError, match=message):
            Client(f"http://127.0.0.1:{broken.getsockname()[1]}", timeout=30).info()


def test_the_client_asks_an_overloaded_server_again(server, monkeypatch):
    url, service = server
    submit, refusals, waits = service.batcher.submit, [1, 2], []

    def full(*given):
        if refusals:
            raise overloaded(refusals.pop())
        return submit(*given)

    monkeypatch.setattr(service.batcher, "submit", full)
    monkeypatch.setattr("unirex.serve.client.time.sleep", waits.append)
    assert Client(url, api_key=KEY).predict("dull") in ("neg", "pos") and waits == [2, 1]
    refusals[:] = [1, 1, 1]
    with pytest.raises(ServerError) as failure:
        Client(url, api_key=KEY, attempts=2).predict("dull")
    assert failure.value.status == 429 and failure.value.kind == "overloaded"


def test_the_command_refuses_what_is_unsafe_or_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("UNIREX_API_KEY", raising=False)
    assert "api_key" in fails(capsys, "serve", tmp_path, "--host", "0.0.0.0")
    assert "needs a system" in fails(capsys, "serve")
    assert "--port 70000" in fails(capsys, "serve", tmp_path, "--port", "70000")
    assert "limits.tokens" in fails(capsys, "serve", tmp_path, "--limits.tokens", "0")
    missing = fails(capsys, "serve", tmp_path / "nothing")
    assert "nothing" in missing
    secret = fails(capsys, "serve", tmp_path, "--host", "0.0.0.0", "--api_key", "too-short-key")
    assert "API key" in secret and "too-short-key" not in secret
    assert names(["runs/slm", "other/slm/"]) == {"slm": "runs/slm", "slm-2": "other/slm/"}


def test_a_port_that_is_taken_is_an_error_in_a_line():
    with listener("127.0.0.1", 0) as taken, pytest.raises(UserError, match="cannot listen"):
        listener("127.0.0.1", taken.getsockname()[1])


def test_without_the_extra_one_line_says_what_to_install(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert fails(capsys, "serve", tmp_path).endswith("pip install 'unirex[serve]'")


def test_the_command_serves_saved_systems(served_systems, tmp_path, monkeypatch):
    import uvicorn

    from unirex.cli import main

    served_systems["slm"].save_pretrained(tmp_path / "slm")
    started = []

    def run(self, sockets):
        self.started, self.address = True, sockets[0].getsockname()
        started.append(self)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    limits = ["--limits.inputs", "7", "--batching.texts", "9"]
    examples = ["--data", "demo", "--split", "dev", "--number", "3"]
    code = main(["serve", str(tmp_path / "slm"), "--port", "0", *limits, *examples])
    (server,) = started
    service = server.config.app.state.service
    assert list(service.systems) == ["slm"] and server.address[0] == "127.0.0.1" and server.address[1]
    assert service.settings.limits.inputs == 7 and service.settings.batching.texts == 9
    assert code == 0 and not server.config.access_log
    assert server.config.limit_concurrency is None  # its refusals are no JSON; the guard's are
    shown = server.config.app.state.examples
    assert shown.name == "demo, dev" and len(shown.items) == 3
    assert main(["serve", str(tmp_path / "slm"), "--number", "3"]) == 2  # of no data
