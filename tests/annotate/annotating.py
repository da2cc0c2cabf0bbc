"""Annotations to test with: their texts, their server, and the hands of a person in a browser."""

import threading
import time
from contextlib import contextmanager

from unirex.annotate.create import create_project
from unirex.annotate.definition import Definition
from unirex.annotate.items import Reply
from unirex.data.example import Example

TEXTS = (
    "a gorgeous , witty film .",
    "so dull and long",
    "fun to watch",
    "the plot is thin",
    "not bad at all",
)


def examples(texts=TEXTS, labels=("pos", "neg", "pos", "neg", "pos")):
    pairs = zip(texts, labels, strict=True)
    return [Example(f"t{number}", (text,), label) for number, (text, label) in enumerate(pairs)]


def project(
    path, given=None, *, people=2, suggested=None, labels=("neg", "pos"), names=("text",), **settings
):
    placed = [(None, example) for example in given or examples()]
    definition = Definition("Reviews", labels, names, data="made", **settings)
    return create_project(path, placed, definition, suggested=suggested, people=people)


def reply(label=1, *spans):
    return Reply((label,), [list(spans)])


def annotate_all(made, number, label=1, spans=((0, 2),), limit=100):
    """One person annotates what they get; returns the numbers of the texts."""
    me, texts = made.annotator(number), []
    while len(texts) < limit and (item := made.next(me)) is not None:
        made.save(me, item.text, Reply((label,), [list(spans)]), version=item.version, seconds=1.5)
        texts.append(item.text)
    return texts


@contextmanager
def listening(app):
    """The application on a free port, as its address."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < end, "the server does not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Backspace": 8, " ": 32, "Enter": 13}


def press(browser, key, *, shift=False, control=False):
    """One key, with others held."""
    modifiers = 8 * shift + 2 * control
    code = KEYS.get(key) or ord(key.upper())
    for kind in ("rawKeyDown", "keyUp"):
        browser.ask(
            "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers
        )


def word(number, segment=0):
    return f"#word-{segment}-{number}"


def middle(browser, selector):
    """Where an element is on the screen."""
    return browser.run(
        f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )


def drag(browser, first, last):
    """Press the mouse on one element and release it on another."""
    places = [middle(browser, selector) for selector in (first, last)]
    steps = (("mousePressed", places[0]), ("mouseMoved", places[1]), ("mouseReleased", places[1]))
    for kind, (x, y) in steps:
        browser.ask("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, x=x, y=y)


def marked(browser):
    """The words that are marked, as a screen reader says them."""
    return browser.texts('.word[aria-selected="true"]')
