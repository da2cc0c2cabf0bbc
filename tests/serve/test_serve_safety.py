"""Strangers' requests: refused in the same form, without harm, and without a trace of their texts."""

import json
import logging
import sys

import pytest

from unirex.errors import UserError
from unirex.serve.settings import Batching, Limits, Settings, is_loopback

KEY = "a-key-of-some-length"
SECRET = "my-secret-diagnosis"
JSON = {"content-type": "application/json"}


def refused(response, status, kind):
    assert response.status_code == status, response.text
    assert response.json().keys() == {"error", "error_type"} and response.json()["error_type"] == kind
    return response.json()["error"]


@pytest.fixture(scope="module")
def locked(served_systems, make_client):
    settings = Settings(
        host="0.0.0.0", api_key=KEY, limits=Limits(inputs=3, bytes=2000, tokens=60, budgets=2)
    )
    with make_client(served_systems, settings) as asking:
        yield asking


@pytest.fixture
def keyed(locked):
    locked.headers["authorization"] = f"Bearer {KEY}"
    yield locked
    del locked.headers["authorization"]


def test_other_machines_need_a_key():
    for host in ("0.0.0.0", "::", "192.168.0.7", "example.org", ""):
        with pytest.raises(UserError, match="api_key"):
            Settings(host=host)
        assert KEY not in repr(Settings(host=host, api_key=KEY))
    assert (
        Settings().host == "127.0.0.1" and is_loopback("[::1]") and not is_loopback("localhost.example.org")
    )
    for key in ("", "short", "with a blank in between", "schlüssel-der-lang-ist"):
        with pytest.raises(UserError, match="API key"):
            Settings(api_key=key)
    for kind in (Limits, Batching):
        with pytest.raises(UserError, match="above 0"):
            kind(tokens=0)


def test_the_key(locked):
    for given in (
        None,
        "",
        KEY,
        f"Basic {KEY}",
        "Bearer ",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        "Bearer ü",
    ):
        headers = {} if given is None else {"authorization": given.encode()}
        for path in ("/info", "/metrics", "/v1/models", "/nowhere"):
            refused(locked.get(path, headers=headers), 401, "unauthorized")
        response = locked.post("/predict", json={"inputs": "dull"}, headers=headers)
        refused(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
    assert locked.get("/info", headers={"authorization": f"bearer {KEY}"}).status_code == 200
    for path in ("/health", "/health/live", "/health/ready", "/v2/health/ready", "/docs", "/openapi.json"):
        assert locked.get(path).status_code == 200
    assert locked.post("/predict", content=b"x" * 5000, headers=JSON).status_code == 401  # before its body


def test_limits(keyed):
    assert "4 texts" in refused(keyed.post("/predict", json={"inputs": ["a"] * 4}), 413, "too_large")
    assert "tokens" in refused(
        keyed.post("/predict", json={"inputs": ["a film " * 15] * 2}), 413, "too_large"
    )
    assert "bytes" in refused(keyed.post("/predict", json={"inputs": "a" * 3000}), 413, "too_large")
    streamed = keyed.post("/predict", content=(b"x" * 500 for _ in range(10)), headers=JSON)
    assert "bytes" in refused(streamed, 413, "too_large")
    body = {"inputs": "dull", "budgets": [1, 2, 3]}
    assert "budgets" in refused(keyed.post("/explain", json=body), 413, "too_large")
    parts = {"inputs": [["a"] * 40]}
    assert "parts" in refused(keyed.post("/predict", json=parts), 413, "too_large")
    assert keyed.post("/predict", json={"inputs": ["dull"] * 3}).status_code == 200


BAD_BODIES = {
    b"": (422, "validation"),
    b"{": (400, "malformed"),
    b"\xff\xfe": (400, "malformed"),
    b"[" * 900: (400, "malformed"),
    b'{"inputs": ' + b"[" * 900 + b"]" * 900 + b"}": (422, "validation"),
    b"null": (422, "validation"),
    b"[1, 2]": (422, "validation"),
    b'{"inputs": null}': (422, "validation"),
    b'{"inputs": 3}': (422, "validation"),
    b'{"inputs": []}': (422, "validation"),
    b'{"inputs": ""}': (422, "validation"),
    b'{"inputs": "   "}': (422, "validation"),
    b'{"inputs": "\\ud800"}': (422, "validation"),
    b'{"inputs": [[]]}': (422, "validation"),
    b'{"inputs": "a", "inputz": 1}': (422, "validation"),
    b'{"inputs": {"text": "a", "path": "/etc/passwd"}}': (422, "validation"),
    b'{"inputs": {"choices": ["a"]}}': (422, "validation"),
    b'{"inputs": {"text": "a", "choices": ["a", "b"]}}': (422, "validation"),  # not a system of choices
    b'{"inputs": "a", "budget": NaN}': (422, "validation"),
    b'{"inputs": "a", "budget": 0}': (422, "validation"),
    b'{"inputs": "a", "budget": 101}': (422, "validation"),
    b'{"inputs": "a", "budget": true}': (422, "validation"),
    b'{"inputs": "a", "budget": 5, "budgets": [5]}': (422, "validation"),
    b'{"inputs": "a", "budget": 1' + b"0" * 500 + b"}": (422, "validation"),
    b'{"inputs": "a", "unit": "paragraph"}': (422, "validation"),
    b'{"inputs": "a", "selector": "best"}': (422, "validation"),
    b'{"inputs": "a", "extractor": "../../etc/passwd"}': (422, "validation"),
    b'{"inputs": "a", "extractor": "gold"}': (422, "validation"),
    b'{"inputs": "a", "model": "vanilla", "target": "good"}': (422, "validation"),
    b'{"inputs": "a", "model": "vanilla", "contrast": ["pos"]}': (422, "validation"),
    b'{"inputs": "a", "model": "vanilla", "contrast": ["pos", "pos"]}': (422, "validation"),
    b'{"inputs": "a", "model": "vanilla", "target": "pos", "contrast": ["pos", "neg"]}': (422, "validation"),
    b'{"inputs": "a", "target": "pos"}': (422, "validation"),  # scores that are the same for every label
    b'{"inputs": "a", "model": "rationale", "budget": 5}': (422, "validation"),
    b'{"inputs": "a", "model": "../slm"}': (404, "not_found"),
    b'{"inputs": "a", "model": "/etc/passwd"}': (404, "not_found"),
    b'{"inputs": [{"text": "a", "choices": ["b", "c"]}], "model": "choices", "target": "Z"}': (
        422,
        "validation",
    ),
}


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: body[:60].decode("latin-1"))
def test_bad_bodies(ask, body):
    refused(ask.post("/explain", content=body, headers=JSON), *BAD_BODIES[body])
    assert ask.get("/health").status_code == 200


def test_bad_requests(ask):
    refused(ask.get("/nowhere"), 404, "not_found")
    refused(ask.get("/predict"), 405, "method_not_allowed")
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):  # what a web page can send unasked
        response = ask.post("/predict", content=b'{"inputs": "a"}', headers={"content-type": kind})
        refused(response, 415, "malformed")
    for host in ("evil.example.org", "localhost.evil.org", "0.0.0.0:8000"):
        refused(ask.get("/info", headers={"host": host}), 403, "forbidden")
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "[::1]"):
        assert ask.get("/info", headers={"host": host}).status_code == 200
    lying = ask.post("/predict", content=b"{}", headers={**JSON, "content-length": "9" * 30})
    assert lying.status_code in (400, 413)
    for response in (ask.get("/nowhere"), ask.get("/info")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"


OPENED: list[str] = []
WATCHING = False


def _opened(event, arguments):
    if WATCHING and event in ("open", "os.listdir", "os.scandir", "import"):
        OPENED.append(str(arguments[0]))


def test_no_name_in_a_request_reaches_the_file_system(ask):
    global WATCHING
    sys.addaudithook(_opened)
    WATCHING = True
    try:
        for name in ("marked-7261/x", "../marked-7261", "/tmp/marked-7261", "file:///marked-7261"):
            for field in ("model", "extractor", "unit", "selector", "target"):
                ask.post("/explain", json={"inputs": name, field: name})
            for path in ("/v1/models/{}:predict", "/v1/models/{}", "/docs/{}", "/{}"):
                ask.post(path.format(name), json={"instances": [name]})
                ask.get(path.format(name))
    finally:
        WATCHING = False
    assert not [path for path in OPENED if "marked-7261" in path]


def own_lines(caplog):
    """What the server logged; the test client logs, too."""
    return "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("httpx")
    ).replace("raise RuntimeError(SECRET)", "")


def test_the_log_holds_no_texts(served_systems, make_client, caplog, monkeypatch):
    def broken(*_):
        raise RuntimeError(SECRET)

    caplog.set_level(logging.DEBUG)
    with make_client(served_systems) as asking:
        asking.post("/explain", json={"inputs": SECRET})
        asking.post(f"/predict?text={SECRET}", json={"inputs": SECRET, "model": SECRET})
        asking.get(f"/{SECRET}")
        monkeypatch.setattr(asking.service.batcher, "run", broken)
        failed = asking.post("/predict", json={"inputs": SECRET})
        assert SECRET not in refused(failed, 500, "backend")
    logged = own_lines(caplog)
    assert SECRET not in logged and "POST /explain 200" in logged and "RuntimeError" in logged
    with make_client(served_systems, Settings(log_texts=True)) as asking:
        asking.post("/predict", json={"inputs": f"{SECRET}\x1b[31m"})
    assert SECRET in own_lines(caplog) and "\x1b[31m" not in own_lines(caplog)


def test_texts_come_back_as_they_went(ask):
    for text in (
        "<script>alert(1)</script>",
        "a\x00b \u202e film",
        "[SEP] [CLS] film",
        "🙂 " * 20,
        "{{7*7}}",
    ):
        response = ask.post("/explain", json={"inputs": text})
        assert response.json()["results"][0]["explanations"][0]["segments"] == [text]
        assert response.headers["content-type"] == "application/json"


def test_a_body_that_never_ends_is_given_up(served_systems, make_client):
    import asyncio

    sent = []
    with make_client(served_systems, Settings(limits=Limits(body_timeout=0.05))) as asking:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/predict",
            "headers": headers,
            "query_string": b"",
        }

        async def receive():
            await asyncio.sleep(30)

        async def send(message):
            sent.append(message)

        asyncio.run(asking.app(scope, receive, send))
    assert sent[0]["status"] == 400 and json.loads(sent[1]["body"])["error_type"] == "malformed"
