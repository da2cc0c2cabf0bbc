"""The application: sessions of people, requests of other sites refused, nothing of texts in logs."""

import logging
import threading

import pytest
from annotating import project
from fastapi.testclient import TestClient

from unirex.annotate.app import create_app
from unirex.errors import UserError
from unirex.serve.settings import Settings

KEY = "a-key-that-is-long-enough"
PLACE = "http://localhost"


def client(made, settings=None, base=PLACE):
    return TestClient(create_app(made, settings), base_url=base, raise_server_exceptions=False)


@pytest.fixture
def made(tmp_path):
    return project(tmp_path / "g.sqlite", guidelines="<b>")


def joined(made, number=0, settings=None, base=PLACE):
    asking = client(made, settings, base)
    assert asking.post("/join", json={"who": made.codes()[number]}).status_code == 200
    return asking


def test_a_person_joins_annotates_and_comes_back(made):
    asking = joined(made)
    item = asking.post("/next", json={}).json()["item"]
    body = {"text": item["text"], "version": 0, "label": [1], "marks": [[[2, 10]]], "seconds": 3.5}
    assert asking.post("/save", json=body).json() == {
        "version": 1,
        "progress": {"annotated": 1, "skipped": 0, "texts": 5, "complete": 1},
    }
    assert asking.get("/before").json() == {"texts": [0]}
    assert asking.get("/texts/0").json()["marks"] == [[[2, 10]]]
    assert asking.get("/session").json()["me"] == "a01"
    assert asking.get("/texts/1").status_code == 422  # not theirs
    asking.post("/leave", json={})
    assert asking.post("/next", json={}).status_code == 401


def test_without_a_session_or_from_another_site_nothing_is_answered(made):
    for path in ("/next", "/save", "/skip", "/renew"):
        body = {"text": 0, "version": 0, "label": [0], "marks": [[]]} if path == "/save" else {}
        assert client(made).post(path, json=body).status_code in (401, 422)
    asking = joined(made)
    cookie = next(iter(asking.cookies.jar))
    assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "strict"
    foreign = {"Origin": "http://elsewhere.example"}
    assert asking.post("/next", json={}, headers=foreign).status_code == 403
    assert asking.post("/next", content="{}", headers={"Content-Type": "text/plain"}).status_code == 415
    assert asking.get("/session", headers={"Host": "elsewhere.example"}).status_code == 403


def test_misshapen_answers_are_refused_without_a_trace_of_them(made):
    asking = joined(made)
    asking.post("/next", json={})
    good = {"text": 0, "version": 0, "label": [1], "marks": [[]], "seconds": 1.0}
    for wrong in (
        {"label": ["pos"]},
        {"label": []},
        {"label": [True]},
        {"marks": [[[0, 1e9]]]},
        {"marks": [[[0, 10**6]]]},
        {"marks": [[[0]]]},
        {"marks": []},
        {"seconds": -1},
        {"text": 10**9},
        {"other": 1},
    ):
        answer = asking.post("/save", json=good | wrong)
        assert answer.status_code == 422 and set(answer.json()) == {"error", "error_type"}, wrong
    assert made.annotator(0).annotated == 0
    assert asking.post("/save", json=good | {"marks": [[[0, 1]] * 9000]}).status_code == 422


def test_other_hosts_need_a_key_and_codes(made):
    with pytest.raises(UserError, match="key"):
        Settings(host="0.0.0.0")
    settings = Settings(host="0.0.0.0", api_key=KEY)
    base = "http://annotate.example"
    asking = client(made, settings, base)
    assert asking.post("/join", json={"who": "Ann"}).status_code == 422  # a name is not enough here
    assert asking.get("/status").status_code == 401
    status = asking.get("/status", headers={"Authorization": f"Bearer {KEY}"}).json()
    assert status["texts"] == 5 and [one["name"] for one in status["people"]] == ["a01", "a02"]
    assert joined(made, 1, settings, base).get("/session").json()["me"] == "a02"
    for _ in range(10):
        answer = asking.post("/join", json={"who": "AAAA-BBBB-CCCC"})
    assert answer.status_code == 429 and "Retry-After" in answer.headers


def test_a_proxy_in_front_needs_a_key_and_codes(made):
    origins = ["https://annotate.example"]
    with pytest.raises(UserError, match=r"--url https://annotate\.example: .* give --api_key"):
        create_app(made, origins=origins)
    asking = TestClient(create_app(made, Settings(api_key=KEY), origins=origins), base_url=origins[0])
    assert asking.post("/join", json={"who": "Ann"}).status_code == 422
    assert asking.post("/join", json={"who": made.codes()[0]}).json()["names"] is False


def test_on_the_own_machine_a_name_is_enough(made):
    asking = client(made)
    assert asking.post("/join", json={"who": "Ann"}).json()["me"] == "a03"
    assert client(made).post("/join", json={"who": "ann"}).json()["me"] == "a03"


def test_the_page_runs_only_its_own_script_and_the_log_has_no_texts(made, caplog):
    with caplog.at_level(logging.INFO):
        asking = joined(made)
        answer = asking.get("/")
        asking.post("/next", json={})
        asking.get("/texts/0")
    assert "script-src 'sha256-" in answer.headers["Content-Security-Policy"]
    assert "gorgeous" not in answer.text and "<b>" not in answer.text
    logged = caplog.text
    assert "/texts/{text}" in logged
    assert "gorgeous" not in logged and made.codes()[0] not in logged


def test_a_file_that_cannot_be_read_is_in_the_log_and_not_in_the_answer(made, caplog):
    asking = joined(made)
    made.store.path.rename(made.store.path.with_name("away"))
    made.store._local = threading.local()  # as after a restart
    answer = asking.post("/next", json={})
    assert answer.status_code == 500 and str(made.store.path) not in answer.text
    assert f"{made.store.path}: there is no such file." in caplog.text
