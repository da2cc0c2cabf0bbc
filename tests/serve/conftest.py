"""Tiny systems behind an application, and a server that really listens."""

import threading
import time
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def served_systems(encoders):
    """One with learnt scores, one explained by gradients, one that reads choices, one with label sets, …."""
    from transformers import PreTrainedTokenizerFast

    import tiny
    from unirex.config import Config
    from unirex.data.example import Layout
    from unirex.modeling import RationaleModel
    from unirex.system import System

    folder = encoders("bert")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)

    def system(**settings):
        return System(tiny.build_model(folder, **settings), tokenizer)

    def special(**options):
        model = RationaleModel.from_encoder(
            Config(encoder=str(folder), extractor="shared-lm"), ("a", "b", "c"), **options
        )
        tiny.shaken(model.task.head, seed=3)
        tiny.shaken(model.extractor.head, seed=4)
        return System(model.eval(), tokenizer)

    return {
        "slm": system(extractor="shared-lm"),
        "two-scores": system(extractor="shared-lm", extractor_options={"order": True, "per_label": True}),
        "vanilla": system(extractor="integrated-gradients", extractor_options={"steps": 4}),
        "choices": special(layout=Layout(choice=True)),
        "sets": special(multi_label=True),
        "rationale": system(extractor="shared-lm", predict_from="rationale"),
    }


@pytest.fixture(scope="module")
def ask(served_systems):
    """The test client of an application that serves them all."""
    with client(served_systems) as asking:
        yield asking


@contextmanager
def client(systems, settings=None, **options):
    from fastapi.testclient import TestClient

    from unirex.serve import create_app

    app, address = create_app(systems, settings, **options), "http://localhost"
    with TestClient(app, base_url=address, raise_server_exceptions=False) as asking:
        asking.service = asking.app.state.service
        yield asking


@pytest.fixture(scope="session")
def make_client():
    return client


@pytest.fixture(scope="session")
def listening():
    """A context manager: a server of some systems on a free port, as its address, itself and its service."""
    return _listening


@contextmanager
def _listening(systems, settings=None, **options):
    import uvicorn

    from unirex.serve import create_app

    app = create_app(systems, settings, **options)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    server.thread = thread
    try:
        yield f"http://127.0.0.1:{port}", server, app.state.service
    finally:
        server.should_exit = True
        thread.join(30)


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def eventually():
    return wait_until


@pytest.fixture
def gated():
    """A context manager: batches wait for its event, which also counts those that began."""

    @contextmanager
    def hold(service):
        gate, run, lock = threading.Event(), service.batcher.run, threading.Lock()
        gate.running, gate.sizes = 0, []

        def held(question, examples, encoded):
            with lock:
                gate.running += 1
                gate.sizes.append(len(examples))
            assert gate.wait(30)
            return run(question, examples, encoded)

        service.batcher.run = held
        try:
            yield gate
        finally:
            gate.set()
            service.batcher.run = run

    return hold
