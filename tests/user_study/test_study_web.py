"""A study in the browser: people answer at once, come back, withdraw; nothing is lost, nothing given away."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest
from studies import definition, study

from commands import fails
from report.axe import is_accessible, needs_axe
from report.browser_driver import Browser, needs_chromium
from unirex.user_study import Item, Showing
from unirex.user_study.answers import read_answers

KEY = "the-key-of-the-owner"
NASTY = "😀 a good <img src=x onerror=\"document.body.id='hit'\"> film"
SIZES = {"main": 2, "practice": 1, "check": 1}
ASKED = {"position", "questions", "task", "practice", "segments", "marks", "choices", "labels", "label"}


def nasty_study(folder, **options):
    """Two texts of markup, two arms and the oracles, both tasks in two rounds: 12 questions a person."""
    items = definition(sizes=SIZES).items
    good, film = (((NASTY.index(word), NASTY.index(word) + 4),) for word in ("good", "film"))
    marks = {"A": good, "B": film, "Gold": good, "No Rationale": ()}
    nasty = [
        Item(
            old.id,
            (NASTY,),
            {arm: Showing(old.showings[arm].label, (spans,)) for arm, spans in marks.items()},
        )
        for old in items
        if old.role == "main"
    ]
    return study(folder, items=(*nasty, *(old for old in items if old.role != "main")), rounds=2, **options)


class Person:
    """Someone at a keyboard, without a browser."""

    def __init__(self, address):
        self.address, self.jar, self.said = address, CookieJar(), []
        self.opener = build_opener(HTTPCookieProcessor(self.jar))

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with self.opener.open(request, timeout=60) as response:
                answer = response.read().decode()
        except HTTPError as error:
            with error:
                return {"status": error.code, **json.load(error)}
        self.said.append(answer)
        return json.loads(answer)

    def answers(self, state, limit=10_000):
        """Answer until done; the positions that the server acknowledged."""
        given = []
        while state["stage"] == "question" and len(given) < limit:
            position = state["question"]["position"]
            state = self.ask("/answer", {"position": position, "seconds": 1.5, **reply(state["question"])})
            given.append(position)
        return given


def reply(question):
    if question["task"] == "simulation":
        return {"label": question["labels"][0], "confidence": 3}
    return {"alignment": 4} if question["task"] == "rating" else {}


@contextmanager
def listening(made):
    """A server of a study on a free port."""
    import uvicorn

    config = uvicorn.Config(app_of(made), host="127.0.0.1", port=0, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.01)


def app_of(made, **options):
    from unirex.serve.settings import Settings
    from unirex.serve.study import create_study_app

    return create_study_app(made, Settings(api_key=KEY), **options)


@pytest.fixture
def made(tmp_path):
    return nasty_study(tmp_path / "s")


@pytest.fixture
def ask(made):
    """The test client of a study's application, without a session."""
    from fastapi.testclient import TestClient

    with TestClient(app_of(made), base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def joined(ask, made, number=0):
    """The first question of a person who came by a code and agreed."""
    assert ask.post("/join", json={"code": made.codes()[number]}).json()["stage"] == "consent"
    return ask.post("/consent", json={}).json()


def answer(ask, question, **changes):
    return ask.post(
        "/answer", json={"position": question["position"], "seconds": 1, **reply(question), **changes}
    )


@needs_chromium
@needs_axe
def test_three_people_answer_at_once_in_browsers_and_one_without(tmp_path):
    made = nasty_study(tmp_path / "s", annotators=4)
    codes = made.codes()

    def without_browser():
        person = Person(address)
        assert person.ask("/join", {"code": codes[3]})["stage"] == "consent"
        return person.answers(person.ask("/consent", {})), person.said

    with listening(made) as address, ThreadPoolExecutor(1) as threads, Browser(tmp_path / "p") as browser:
        other = threads.submit(without_browser)
        seen = in_turns(browser, address, [codes[number] for number in range(3)])
        positions, said = other.result()
        assert positions == list(range(12))
        gives_nothing_away(said)
        look_at_owner_pages(browser, address)
        assert not [entry for entry in browser.complaints if "401" not in json.dumps(entry)]
    questions = ["Practice", *(f"Question {n}" for n in range(2, 7)), "Practice"]
    assert seen == [[*questions, *(f"Question {n}" for n in range(8, 13))]] * 3
    given = read_answers(made)
    assert len(given) == 48 and all(person.finished for person in made.annotators())
    for name in ("a01", "a02", "a03"):
        rows = [row for row in given if row.annotator == name]
        assert {row.label for row in rows} == {"pos", None} and {row.confidence for row in rows} == {2, None}
        assert {row.alignment for row in rows} == {5, None} and all(0 < row.seconds < 600 for row in rows)


def in_turns(browser, address, codes):
    """Several people in windows of their own, a question each in turn; the headings that each saw."""
    sessions = [browser.session, *(browser.private_window() for _ in codes[1:])]
    seen = [[] for _ in codes]
    people = {
        session: in_browser(browser, address, code, headings, checked=session == sessions[0])
        for session, code, headings in zip(sessions, codes, seen, strict=True)
    }
    while people:
        for session in list(people):
            browser.session = session
            if next(people[session], "done") == "done":
                del people[session]
    browser.session = sessions[0]
    return seen


def in_browser(browser, address, code, seen, *, checked):
    """Answer everything by the keyboard, the headings into `seen`; stops after every question.

    Of one person the pages are checked, closed and opened again.
    """
    look = is_accessible if checked else lambda _: None
    browser.open(address)
    browser.until("!!document.querySelector('#code')")
    look(browser)
    browser.open(f"{address}/#{code}")
    browser.until(headed("Before you begin"))
    assert code not in browser.run("location.href")
    look(browser)
    yield
    browser.click("button.primary")
    browser.until(headed("Which label"))
    look(browser)
    browser.press("Enter")
    browser.until("!!document.querySelector('form.questions')")
    legends = set()
    while (title := browser.texts("h1")[0]) != "Thank you":
        if title.startswith("How well"):
            browser.press("Enter")
            browser.until("!!document.querySelector('form.questions')")
            continue
        seen.append(title)
        if (legend := tuple(browser.texts("legend"))) not in legends:
            legends.add(legend)
            look(browser)
        if len(seen) == 4 and checked:
            come_back(browser, address)
        elif len(seen) == 5:
            hostile_text_is_text(browser)
        answer_by_keys(browser, check_feedback=checked and len(seen) == 1)
        yield
    look(browser)


def headed(title):
    return f"(document.querySelector('h1')?.textContent ?? '').startsWith({json.dumps(title)})"


def answer_by_keys(browser, *, check_feedback):
    before = browser.texts(".progress .muted")
    for key in "22" if len(browser.texts("fieldset")) == 2 else "5":
        browser.press(key)
    if browser.texts("h1") == ["Practice"]:
        browser.press("Enter")
        browser.until("!!document.querySelector('.feedback')")
        if check_feedback:
            assert re.search(r"The program’s label is (pos|neg)\.", browser.texts(".feedback")[0])
            is_accessible(browser)
    browser.press("Enter")
    browser.until(
        f"(document.querySelector('.progress .muted')?.textContent ?? '') !== {json.dumps(before[0])} && "
        "!document.querySelector('.feedback')"
    )


def come_back(browser, address):
    """The page is closed and opened again; it goes on where it was. Going back leads to no question."""
    text, progress = browser.texts(".text"), browser.texts(".progress .muted")
    history = [entry["url"] for entry in browser.ask("Page.getNavigationHistory")["entries"]]
    assert history[-2:] == ["about:blank", f"{address}/"]  # one entry for all questions, without the code
    browser.open(address)
    browser.until(headed("Which label"))
    assert browser.texts("p.lead") == ["Questions answered so far: 3 of 12."]
    browser.press("Enter")
    browser.until("!!document.querySelector('form.questions')")
    assert (browser.texts(".text"), browser.texts(".progress .muted")) == (text, progress)


def hostile_text_is_text(browser):
    """What is marked is marked at the right characters; nothing of the text becomes an element."""
    browser.until("!!document.querySelector('.text')")
    assert browser.run("document.querySelectorAll('#study img').length") == 0
    assert browser.run("document.body.id") == ""
    assert NASTY in browser.texts(".text")[0] or "please choose" in browser.texts(".text")[0]
    assert set(browser.texts(".text mark")) <= {"good", "film"}


def look_at_owner_pages(browser, address):
    browser.open(f"{address}/owner")
    browser.until("!!document.querySelector('#key')")
    is_accessible(browser)
    browser.open(f"{address}/owner#{KEY}")
    browser.until("!!document.querySelector('table')")
    assert KEY not in browser.run("location.href")
    assert browser.texts("tbody th") == ["a01", "a02", "a03", "a04"]
    is_accessible(browser)
    browser.click("a.button")
    browser.until(headed("films"))
    browser.until("!!document.querySelector('h2')")
    assert "Results" in browser.texts("h2")


def gives_nothing_away(said):
    """Neither arms nor right labels: labels come after the answer, to practice, or where they are rated."""
    for answer_ in said:
        assert not re.search(r"Gold|No Rationale|main-|check-", answer_)
        state = json.loads(answer_)
        assert set(state) <= {
            "stage", "consent", "answered", "questions", "question", "scale", "instructions", "right"
        }  # fmt: skip
        question = state.get("question")
        assert question is None or set(question) == ASKED
        assert question is None or (question["label"] is None) == (question["task"] == "simulation")
    told = [json.loads(answer_).get("right") for answer_ in said]
    assert len([right for right in told if right is not None]) == 1  # of the one practice question


def test_the_learning_design_is_asked_to_its_end(tmp_path):
    from fastapi.testclient import TestClient

    made = study(tmp_path / "s", design="learning", sizes={**SIZES, "learning": 2})
    with TestClient(app_of(made), base_url="http://localhost") as ask:
        state, tasks = joined(ask, made), []
        while state["stage"] == "question":
            tasks.append(state["question"]["task"])
            assert (state["question"]["label"] is None) == (tasks[-1] == "simulation")
            state = answer(ask, state["question"]).json()
    assert state["stage"] == "done" and tasks.count("reading") == 4
    assert made.annotator(0).finished


def test_answers_are_given_once_in_order_and_after_consent(ask, made):
    assert ask.get("/state").json() == {"stage": "enter"}
    assert ask.post("/consent", json={}).status_code == 401
    ask.post("/join", json={"code": made.codes()[0].lower()})
    unasked = {"position": 0, "label": "pos", "confidence": 1, "seconds": 1}
    assert "consent" in ask.post("/answer", json=unasked).json()["error"]
    first = ask.post("/consent", json={}).json()["question"]
    done = answer(ask, first)
    assert done.json()["right"] in ("pos", "neg") and done.json()["question"]["position"] == 1
    assert answer(ask, first).json() == done.json()  # sent twice
    assert answer(ask, first, confidence=1).status_code == 409
    assert answer(ask, first, position=7).status_code == 409
    wrong = [{"label": "so-so"}, {"confidence": 9}, {"seconds": -1}, {"alignment": 3}, {"arm": "A"}]
    for change in wrong:
        assert answer(ask, done.json()["question"], **change).status_code == 422
    assert len(read_answers(made)) == 1


def test_a_wrong_code_is_said_to_be_wrong_and_guessing_ends(ask, made):
    refused = ask.post("/join", json={"code": "AAAA-AAAA-AAAA"})
    assert refused.status_code == 403 and "not one of the study's" in refused.json()["error"]
    assert "set-cookie" not in refused.headers
    for _ in range(9):
        ask.post("/join", json={"code": "x"})
    late = ask.post("/join", json={"code": made.codes()[0]})
    assert late.status_code == 429 and int(late.headers["retry-after"]) > 0


def test_who_withdraws_is_gone(ask, made):
    code = made.codes()[0]
    answer(ask, joined(ask, made)["question"])
    cookies = dict(ask.cookies)
    assert ask.post("/withdraw", json={"delete_my_answers": False}).status_code == 422
    assert ask.post("/withdraw", json={"delete_my_answers": True}).json()["deleted"] == 1
    assert not read_answers(made) and ask.get("/state").json() == {"stage": "enter"}
    assert ask.post("/join", json={"code": code}).status_code == 403
    ask.cookies.update(cookies)  # as another window still has them
    assert ask.get("/state").status_code == 401


def test_only_the_study_s_own_pages_may_ask(ask, made):
    question = joined(ask, made)["question"]
    body = json.dumps({"position": 0, "seconds": 1, **reply(question)})
    typed = {"Content-Type": "application/json"}
    for headers, status in (
        ({**typed, "Origin": "http://evil.example"}, 403),
        ({**typed, "Origin": "null"}, 403),
        ({**typed, "Origin": "http://localhost:81"}, 403),
        ({**typed, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**typed, "Host": "evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ):
        assert ask.post("/answer", content=body, headers=headers).status_code == status
    assert not read_answers(made)
    own = {**typed, "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert ask.post("/answer", content=body, headers=own).status_code == 200
    assert ask.get("/answer").status_code == 405
    kept = ask.post("/join", json={"code": made.codes()[1]}).headers["set-cookie"].lower()
    assert "httponly" in kept and "samesite=strict" in kept


def test_the_owner_s_pages_need_the_key(ask, made):
    assert ask.get("/owner/progress").status_code == 401
    assert ask.get("/owner/report", follow_redirects=False).headers["location"] == "/owner"
    joined(ask, made)
    assert ask.get("/owner/progress").status_code == 401  # a person is not the owner
    assert ask.post("/owner/session", json={"key": "x" * 20}).status_code == 403
    people = ask.post("/owner/session", json={"key": KEY}).json()["people"]
    assert [person["state"] for person in people] == ["answering", "not begun"]
    assert not any(code in ask.get("/owner/progress").text for code in made.codes().values())
    assert "No report yet" in ask.get("/owner/report").text
    question = ask.get("/state").json()["question"]
    for _ in range(3):  # nothing is rated yet
        question = answer(ask, question).json()["question"]
    assert "Forward simulation" in ask.get("/owner/report").text


def test_consent_in_a_browser_makes_no_script_a_person(ask, made):
    made.consent(made.join(made.codes()[0]), simulated=True)
    ask.post("/join", json={"code": made.codes()[0]})
    ask.post("/consent", json={})
    assert made.annotator(0).simulated


def test_the_log_has_neither_codes_nor_texts_and_faults_name_no_place(ask, made, caplog):
    caplog.set_level(logging.INFO)
    codes = list(made.codes().values())
    answer(ask, joined(ask, made)["question"])
    ask.post("/owner/session", json={"key": KEY})
    (made.folder / "answers.sqlite").rename(made.folder / "away")
    made.store._local = threading.local()  # as after a restart
    gone = ask.get("/state")
    assert gone.status_code == 503 and str(made.folder) not in gone.text
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "POST /join 200" in said and "POST /answer 200" in said
    assert not any(word in said for word in (*codes, KEY, "film", NASTY))


@contextmanager
def command(folder, *options):
    """`unirex study serve` as a process of its own; the lines it prints."""
    source = str(Path(__file__).resolve().parents[2] / "src")
    process = subprocess.Popen(
        [sys.executable, "-m", "unirex.cli", "study", "serve", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    lines = []
    try:
        while not lines or "study report" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], "the command ended"
        yield process, "".join(lines)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_every_acknowledged_answer_survives_a_kill_of_the_server(tmp_path):
    made = study(tmp_path / "s", annotators=2, sizes={"main": 60, "practice": 1, "check": 1})
    acknowledged = [[], []]

    def answering(number, link):
        person = Person(link.partition("/#")[0])
        people[number] = person
        person.ask("/join", {"code": link.partition("#")[2]})
        state = person.ask("/consent", {})
        try:
            while True:
                acknowledged[number] += person.answers(state, 1)
                state = person.ask("/state")
        except (OSError, HTTPException):  # the server is gone, perhaps in the middle of an answer
            return

    people = [None, None]
    with command(made.folder) as (process, said), ThreadPoolExecutor(2) as threads:
        links = re.findall(r"http://\S+/#\S+", said)
        assert [link.partition("#")[2] for link in links] == list(made.codes().values())
        work = [threads.submit(answering, number, link) for number, link in enumerate(links)]
        wait_until(lambda: min(map(len, acknowledged)) >= 5)
        process.send_signal(signal.SIGKILL)
        for one in work:
            one.result()
    with command(made.folder) as (process, said):
        for number, person in enumerate(people):
            person.address = re.search(r"http://[^/]+", said)[0]
            state = person.ask("/state")  # the session goes on
            stored, known = state["answered"], len(acknowledged[number])
            assert stored in (known, known + 1) and acknowledged[number] == list(range(known))
            assert person.answers(state, 1) == [stored]
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert len(read_answers(made)) >= sum(map(len, acknowledged)) + 2


def test_mistakes_of_the_command_get_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("UNIREX_API_KEY", raising=False)
    assert "no user study here" in fails(capsys, "study", "serve", tmp_path)
    study(tmp_path / "s")
    assert "without a key" in fails(capsys, "study", "serve", tmp_path / "s", "--host", "0.0.0.0")
    for url in ("study.example.org", "https://", "ftp://x", "https://x/path", "http://x:port"):
        assert "such as https://" in fails(capsys, "study", "serve", tmp_path / "s", "--url", url)
    assert "--port" in fails(capsys, "study", "serve", tmp_path / "s", "--port", "70000")
