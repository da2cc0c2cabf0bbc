"""What waits together runs together; no one waits for long, and nothing that was accepted is lost."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from transformers import AutoModelForSequenceClassification

import tiny
import unirex
from unirex.errors import UserError
from unirex.serve.batching import Batcher
from unirex.serve.errors import ApiError
from unirex.serve.queue import Job, Queue, Request
from unirex.serve.served import Served
from unirex.serve.settings import Batching, Limits, Settings


@dataclass(frozen=True)
class Text:
    """Stands for a text and for its tokens."""

    name: str
    length: int = 10


@dataclass(frozen=True)
class Ask:
    model: str = "m"
    passes: int = 1
    holding: bool = False

    @property
    def kind(self):
        return self.model, self.passes

    def lets_pass(self, other):
        return not self.holding or other.model != self.model


ASK = Ask()


def jobs(*texts, ask=ASK, since=None):
    request = Request(len(texts))
    made = [Job(request, number, text, text, ask) for number, text in enumerate(texts)]
    for job in made:
        job.since = job.since if since is None else since
    return made


def names(batch):
    return [job.example.name for job in batch]


def texts(prefix, count, length=10):
    return [Text(f"{prefix}{number}", length) for number in range(count)]


def test_requests_take_turns():
    queue = Queue(Batching(texts=4))
    queue.add(jobs(*texts("large", 6)))
    queue.add(jobs(Text("small")))
    assert names(queue.take()) == ["large0", "small", "large1", "large2"]
    queue.add(jobs(Text("late")))
    assert "late" in names(queue.take())


def test_batches_are_bounded_and_ask_one_thing():
    queue = Queue(Batching(texts=8, tokens=30))
    queue.add(jobs(*texts("a", 3)))
    queue.add(jobs(Text("other"), ask=Ask("n")))
    queue.add(jobs(*texts("b", 1)))
    assert names(queue.take()) == ["a0", "b0", "a1"]  # 30 tokens
    queue.add(jobs(Text("long", 100), ask=Ask("n")))
    assert sorted(map(len, (queue.take(), queue.take(), queue.take()))) == [1, 1, 1]  # the long one alone
    assert queue.take() == []


def test_slow_texts_let_quick_ones_pass_but_not_for_ever():
    batching = Batching(patience=50, seconds=0.1)
    queue, slow = Queue(batching), Ask(passes=1000)
    queue.add(jobs(Text("slow", 100), ask=slow))
    queue.add(jobs(Text("quick")))
    assert [names(queue.take()), names(queue.take())] == [["quick"], ["slow"]]
    queue.add(jobs(Text("old", 100), ask=slow, since=time.monotonic() - 60))
    queue.add(jobs(Text("quick")))
    assert names(queue.take()) == ["old"]
    queue.add(jobs(Text("slow", 100), ask=slow))
    queue.add(jobs(Text("other"), ask=Ask("n")))
    assert names(queue.take(beside=Ask(holding=True))) == ["other"]
    assert names(queue.take(beside=slow)) == ["quick"] and queue.take(beside=slow) == []


def test_the_pace_is_measured():
    queue = Queue(Batching(seconds=0.25))
    queue.add(jobs(*texts("a", 10)))
    for _ in range(20):
        queue.pace.measured(Ask(), tokens=10, seconds=0.1)
    assert queue.seconds == pytest.approx(1.0, rel=0.05)
    assert len(queue.take()) == 2  # 0.1 s each


def test_texts_of_requests_that_are_gone_are_dropped():
    queue, left = Queue(Batching()), jobs(*texts("a", 3))
    queue.add(left)
    queue.add(jobs(Text("b")))
    assert left[0].request.future.cancel()
    assert names(queue.take()) == ["b"]
    left[0].request.put(0, "late")  # a result no one waits for does no harm
    left[0].request.fail(ValueError())


def batcher(run, *, limits=None, **batching):
    made = Batcher(run, limits=limits or Limits(), batching=Batching(**{"linger": 0.001, **batching}))
    made.start()
    return made


def upper(ask, examples, encoded):
    return [text.name.upper() for text in examples]


def submit(made, *given, ask=ASK):
    return made.submit(ask, given, given).future


def test_a_failing_text_fails_alone():
    started, gate = threading.Event(), threading.Event()

    def run(ask, examples, encoded):
        if examples[0].name == "first":
            started.set()
            gate.wait(30)
        if any(text.name == "bad" for text in examples):
            raise UserError("no such thing") if ask.model == "m" else RuntimeError("secret text")
        return upper(ask, examples, encoded)

    made = batcher(run)
    first = submit(made, Text("first"))
    assert started.wait(30)
    good, bad, worse = (
        submit(made, Text("good")),
        submit(made, Text("bad")),
        submit(made, Text("bad"), ask=Ask("n")),
    )
    gate.set()
    assert [first.result(30), good.result(30)] == [["FIRST"], ["GOOD"]]
    with pytest.raises(UserError, match="no such thing"):
        bad.result(30)
    with pytest.raises(ApiError) as failure:
        worse.result(30)
    assert failure.value.status == 500 and "secret" not in failure.value.message
    made.close()


def test_back_pressure_and_a_stop_that_finishes():
    gate, started = threading.Event(), threading.Event()

    def run(ask, examples, encoded):
        started.set()
        gate.wait(30)
        return upper(ask, examples, encoded)

    made = batcher(run, limits=Limits(waiting=4, waiting_tokens=100))
    futures = [submit(made, Text("a"))]
    assert started.wait(30)
    futures.append(submit(made, *texts("b", 3)))
    for refused in (texts("c", 2), [Text("c", 90)]):
        with pytest.raises(ApiError) as failure:
            submit(made, *refused)
        assert failure.value.status == 429 and int(failure.value.headers["Retry-After"]) >= 1
    futures.append(submit(made, Text("d")))
    closing = threading.Thread(target=made.close)
    closing.start()
    while not made.stopping:
        time.sleep(0.001)
    with pytest.raises(ApiError) as failure:
        submit(made, Text("e"))
    assert failure.value.status == 503
    gate.set()
    closing.join(30)
    assert [future.result(0) for future in futures] == [["A"], ["B0", "B1", "B2"], ["D"]]


def test_a_long_wait_is_refused_by_its_estimate():
    gate = threading.Event()
    made = batcher(lambda *given: (gate.wait(30), upper(*given))[1], limits=Limits(wait=1.0))
    submit(made, Text("a"))
    slow = Ask(passes=1000)
    submit(made, Text("slow", 100), ask=slow)  # 10 s by estimate
    with pytest.raises(ApiError) as failure:
        submit(made, Text("slow", 100), ask=slow)
    assert failure.value.status == 429
    gate.set()
    made.close()


def chunks(made, count, seconds):
    """As an encoder that runs some chunks."""
    for _ in range(count):
        made.between_chunks()
        time.sleep(seconds)


def test_quick_texts_run_between_the_chunks_of_a_slow_one():
    order, started = [], threading.Event()

    def run(ask, examples, encoded):
        if ask.passes > 1:
            started.set()
            chunks(made, 400, 0.01)
        order.extend(text.name for text in examples)
        return upper(ask, examples, encoded)

    made = batcher(run, seconds=0.02)
    slow = submit(made, Text("slow", 1000), ask=Ask(passes=1000))
    assert started.wait(30)
    assert submit(made, Text("quick")).result(30) == ["QUICK"]
    assert not slow.done() and order == ["quick"]
    slow.cancel()
    began = time.monotonic()
    made.close()
    assert time.monotonic() - began < 3 and order == ["quick"] and made.dropped == 1  # given up, not run


def test_concurrent_requests_run_together_and_equal_offline(served_systems, make_client, gated):
    system = served_systems["slm"]
    asked = [f"a {word} film" for word in ["good", "bad", "dull", "gorgeous", "fun", "long", "thin", "witty"]]
    with (
        make_client({"slm": system}) as asking,
        gated(asking.service) as gate,
        ThreadPoolExecutor(9) as pool,
    ):
        answers = [pool.submit(asking.post, "/explain", json={"inputs": "first"})]
        while not gate.running:
            time.sleep(0.005)
        answers += [pool.submit(asking.post, "/explain", json={"inputs": text}) for text in asked]
        while len(asking.service.batcher.queue.jobs) < len(asked):
            time.sleep(0.005)
        gate.set()
        found = [answer.result().json()["results"][0] for answer in answers[1:]]
    # Together, in one batch unless this machine is so slow that a turn would take too long.
    assert gate.sizes[0] == 1 and sum(gate.sizes[1:]) == len(asked) and len(gate.sizes[1:]) < len(asked)
    for result, explanation in zip(found, system.explain(asked), strict=True):
        assert result["label"] == explanation.label
        scores = [word["score"] for word in result["explanations"][0]["words"]]
        assert scores == pytest.approx([word.score for word in explanation.words], abs=1e-5)


def test_overload_is_429_with_a_time_to_try_again(served_systems, make_client, gated):
    settings = Settings(limits=Limits(waiting=2, requests=4))
    with (
        make_client(served_systems, settings) as asking,
        gated(asking.service) as gate,
        ThreadPoolExecutor(8) as pool,
    ):
        waiting = [pool.submit(asking.post, "/predict", json={"inputs": "dull"})]
        while not gate.running:
            time.sleep(0.005)
        waiting.append(pool.submit(asking.post, "/predict", json={"inputs": ["dull", "good"]}))
        while len(asking.service.batcher.queue.jobs) < 2:
            time.sleep(0.005)
        refused = asking.post("/predict", json={"inputs": "bad"})
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error_type"] == "overloaded"
        gate.set()
        assert [answer.result().status_code for answer in waiting] == [200, 200]
    assert asking.service.batcher.thread.is_alive() is False


def test_a_slow_answer_is_503_and_dropped(served_systems, make_client, gated):
    settings = Settings(limits=Limits(timeout=0.05))
    with make_client(served_systems, settings) as asking, gated(asking.service):
        response = asking.post("/predict", json={"inputs": "dull"})
    assert response.status_code == 503 and response.json()["error_type"] == "unavailable"


def test_a_client_that_leaves_is_not_served(served_systems, make_client, gated, eventually):
    body = b'{"inputs": "dull"}'

    async def leaving(app):
        messages = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]
        sent, headers = [], [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/predict", "raw_path": b"/predict"}
        scope |= {"headers": headers, "query_string": b"", "http_version": "1.1", "scheme": "http"}
        scope |= {"server": ("localhost", 80), "client": ("localhost", 1), "root_path": ""}

        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message)

        await app(scope, receive, send)
        return sent

    with make_client(served_systems) as asking, gated(asking.service) as gate:
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(asking.post, "/predict", json={"inputs": "good"})
            eventually(lambda: gate.running)
            assert asyncio.run(leaving(asking.app)) == []
            gate.set()
            assert held.result().status_code == 200
        eventually(lambda: not asking.service.batcher.queue.drop_gone())
        assert gate.sizes == [1]  # the text of the one that left was never run


def test_a_stop_answers_what_was_accepted(served_systems, listening, gated, eventually):
    from unirex.serve import Client

    with listening({"slm": served_systems["slm"]}) as (url, server, service), gated(service) as gate:
        client = Client(url)
        with ThreadPoolExecutor(3) as pool:
            answers = [pool.submit(client.predict, text) for text in ("dull", "good", "a film")]
            eventually(lambda: sum(gate.sizes) + len(service.batcher.queue.jobs) == 3)
            server.should_exit = True
            time.sleep(0.2)
            gate.set()
            assert [answer.result(30) for answer in answers] == served_systems["slm"].predict(
                ["dull", "good", "a film"]
            )
        server.thread.join(30)
        assert not server.thread.is_alive() and not service.ready and not client.ready()


HELD = ("deeplift", "attention", "attention-rollout")


@pytest.mark.parametrize(
    ("family", "extractors"),
    [("bert", ("gradient", "occlusion", *HELD)), ("bigbird-sparse", ("gradient",))],
)
def test_a_pause_changes_neither_the_paused_texts_nor_those_that_pass(tmp_path, family, extractors):
    """On a third-party classifier, whatever is asked, and whatever else is asked between two chunks."""
    served = Served("any", unirex.load(third_party(tmp_path, family)))
    asks = [served.ask_label(), *(served.ask_reasons(extractor=name) for name in extractors)]
    quick = served.read(["a dull film"], Limits(), truncate=False)
    slow = served.read([" ".join(["not good and not bad"] * 7), "witty"], Limits(), truncate=False)
    alone, passed, passing = [served.answer(ask, *quick) for ask in asks], [], []
    paused = [ask for ask in asks if ask.lets_pass(asks[0])]
    expected = [served.answer(ask, *slow) for ask in paused]

    def pause():
        if len(passed) < len(asks) and not passing:  # as in a server, what passes is not paused itself
            passing.append(asks[len(passed)])
            passed.append(served.answer(passing[0], *quick))
            passing.clear()

    end = served.watch(pause)
    for ask, answers in zip(paused, expected, strict=True):
        passed.clear()
        assert_same(served.answer(ask, *slow), answers)
        assert passed
        for found, by_itself in zip(passed, alone, strict=False):
            assert_same(found, by_itself)
    end()
    assert [ask.extractor for ask in asks if ask not in paused] == [
        name for name in extractors if name in HELD
    ]


def third_party(folder, family):
    """The folder of a tiny classifier, as transformers saves one."""
    tokens = tiny.tokenizer(tiny.TOKENIZERS[family])
    config = tiny.encoder_config(family, len(tokens), pad=tokens.pad_token_id)
    torch.manual_seed(0)
    tiny.shaken(AutoModelForSequenceClassification.from_config(config)).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def assert_same(found, expected):
    """The same labels, probabilities and scores, up to rounding."""
    for one, other in zip(found, expected, strict=True):
        assert one["label"] == other["label"]
        for values in ("probabilities", "explanations"):
            assert numbers(one.get(values)) == pytest.approx(numbers(other.get(values)), rel=1e-3, abs=1e-5)


def numbers(plain):
    """All numbers in an answer, in order."""
    if isinstance(plain, dict | list):
        parts = plain.values() if isinstance(plain, dict) else plain
        return [number for part in parts for number in numbers(part)]
    return [plain] if isinstance(plain, int | float) else []
