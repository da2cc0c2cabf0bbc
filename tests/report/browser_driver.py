"""A real browser under a test's hands, by the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"""
SECONDS = 120  # a machine may be busy; nothing is asserted of time

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


class Browser:
    """One running Chromium with one window, or several of which one is driven at a time."""

    def __init__(self, profile: Path) -> None:
        theirs_in, self.out = os.pipe()
        self.inp, theirs_out = os.pipe()

        def as_three_and_four() -> None:
            """The numbers Chromium expects; by way of copies, as 3 or 4 may be in use."""
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, preexec_fn=as_three_and_four, pass_fds=(3, 4), **quiet)
        os.close(theirs_in)
        os.close(theirs_out)
        self.read, self.number, self.session, self.complaints = b"", 0, None, []
        self.session = self.window()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.session = None
        try:
            self.ask("Browser.close")
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.out)
            os.close(self.inp)

    def window(self, **where: Any) -> str:
        """Open a window, make it the one that is driven, and return what `session` must be to drive it."""
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank", **where)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.size(1100, 1400)
        return self.session

    def private_window(self) -> str:
        """As `window`, with cookies of its own."""
        self.session = None
        return self.window(browserContextId=self.ask("Target.createBrowserContext")["browserContextId"])

    def ask(self, method: str, **params: Any) -> Any:
        """Send one command and wait for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self._listen(answer)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.inp], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser says nothing"
            some = os.read(self.inp, 1 << 20)
            assert some, "the browser has gone"
            self.read += some
        message, _, self.read = self.read.partition(b"\0")
        return json.loads(message)

    def _listen(self, event: dict[str, Any]) -> None:
        """Mistakes of the page's script, and what its policy forbids."""
        if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(event["params"])

    def open(self, address: str) -> None:
        """Load a page and wait until its script has run."""
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'")

    def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, code: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.run(code):
            assert time.monotonic() < end, f"never true: {code}"
            time.sleep(0.02)

    def texts(self, selector: str) -> list[str]:
        """The text of every such element."""
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def click(self, selector: str) -> None:
        """Click in the middle of an element with the mouse, wherever it is."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            place = {"x": box[0], "y": box[1]}
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def type(self, text: str) -> None:
        """Write where the focus is."""
        self.ask("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press and release one key."""
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, "Enter": 13, " ": 32}
        text = "\r" if key == "Enter" else key if len(key) == 1 else None
        extra = {"text": text} if text else {}
        code = codes.get(key) or ord(key)
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def choose(self, name: str, option: str) -> None:
        """Pick an option of a list by what it says: the popup of a list is not part of the page."""
        self.run(
            f"(() => {{ const list = document.querySelector('select[name={name}]');"
            f"list.selectedIndex = [...list.options].findIndex(o => o.text === {json.dumps(option)});"
            "if (list.selectedIndex < 0) throw Error('no such option');"
            "for (const kind of ['input', 'change'])"
            "list.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    def slide(self, name: str, value: int) -> None:
        """Move a slider."""
        self.run(
            f"(() => {{ const slider = document.querySelector('input[name={name}]'); slider.value = {value};"
            "slider.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def size(self, width: int, height: int) -> None:
        """How large the window is."""
        scale = {"deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, **scale)

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        """Light or dark, on a screen or on paper."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media="print" if printed else "screen", features=[scheme])

    def pixels(self) -> list[tuple[int, int, int]]:
        """The colours of what the window shows, row by row."""
        content = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        data = Image.open(io.BytesIO(content)).convert("RGB").tobytes()
        return list(zip(data[0::3], data[1::3], data[2::3], strict=True))
