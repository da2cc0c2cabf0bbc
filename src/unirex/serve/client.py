"""A client of a server, on the standard library alone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from unirex.data.example import Answer, Example
from unirex.errors import UserError
from unirex.explanation import Explanation
from unirex.serve.settings import is_loopback

Plain = dict[str, Any]
LONGEST_WAIT = 30.0  # seconds that a server may ask to wait between two attempts


class ServerError(UserError):
    """A server that gave no answer: its message, `status` and `kind` (the `error_type` of the body)."""

    def __init__(self, message: str, status: int, kind: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Client:
    """Asks a server as one asks a `System`.

    ```python
    client = Client("http://127.0.0.1:8000")
    client.explain("a gorgeous , witty , seductive film .", budget=20).spans
    ```

    Args:
        url: of the server.
        api_key: its key, if it has one.
        model: name of a system; None: the server's first.
        timeout: seconds to wait for an answer.
        attempts: how often an overloaded server (429) is asked, each time after the wait it names.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        model: str | None = None,
        timeout: float = 70.0,
        attempts: int = 5,
    ) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UserError(f"{url}: give the address of a server, such as http://127.0.0.1:8000")
        self.url, self.model, self.timeout, self.attempts = url.rstrip("/"), model, timeout, attempts
        self._headers = {"Content-Type": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        direct = [ProxyHandler({})] if is_loopback(address.hostname) else []
        self._opener = build_opener(_NoRedirects, *direct)

    def predict(self, texts: Any, *, truncate: bool = True) -> Answer | list[Answer]:
        """The label of a text, or of several, as `System.predict`."""
        one, results = self._results("/predict", texts, {"truncate": truncate})
        labels = [_answer(result["label"]) for result in results]
        return labels[0] if one else labels

    def explain(
        self, texts: Any, *, truncate: bool = True, **options: Any
    ) -> Explanation | list[Explanation]:
        """The explanation of a text, or of several, as `System.explain`.

        With several budgets there is one for each, those of the first text first.

        Args:
            texts: a string, a tuple for a pair, a dictionary with choices, an `Example`; or a list of these.
            truncate: cut texts that are too long.
            options: `budget`, `budgets`, `selector`, `unit`, `target`, `contrast`, `extractor`.
        """
        one, results = self._results("/explain", texts, {"truncate": truncate, **options})
        found = [Explanation.from_dict(plain) for result in results for plain in result["explanations"]]
        return found[0] if one and len(found) == 1 else found

    def answers(self, texts: Any, *, truncate: bool = True, **options: Any) -> list[Plain]:
        """The answers of `/explain` as they are, with `faithfulness` if it is asked for."""
        return self._results("/explain", texts, {"truncate": truncate, **options})[1]

    def info(self) -> Plain:
        """The systems and limits of the server."""
        return self._ask("/info")

    def ready(self) -> bool:
        """Whether the server accepts requests."""
        try:
            return bool(self._ask("/health/ready")["ready"])
        except UserError:
            return False

    def _results(self, path: str, texts: Any, options: Mapping[str, Any]) -> tuple[bool, list[Plain]]:
        one = isinstance(texts, str | tuple | Mapping | Example)
        inputs = [_plain(text) for text in ([texts] if one else texts)]
        model = {} if self.model is None else {"model": self.model}
        return one, self._ask(path, {"inputs": inputs, **model, **options})["results"]

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Plain:
        """The body of the answer; an overloaded server is asked again."""
        data = None if body is None else json.dumps(body).encode("utf-8")
        for left in reversed(range(self.attempts)):
            try:
                return self._once(path, data)
            except HTTPError as error:
                problem = _problem(error)
                if error.code != 429 or not left:
                    raise problem from None
                time.sleep(_wait(error.headers.get("Retry-After")))
        raise UserError("attempts: ask at least once.")

    def _once(self, path: str, data: bytes | None) -> Plain:
        request = Request(self.url + path, data, self._headers)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return json.load(response)
        except HTTPError:
            raise
        except (URLError, TimeoutError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise UserError(f"{self.url}: no answer from a server ({reason}).") from None


class _NoRedirects(HTTPRedirectHandler):
    """The key and the texts are for this server only."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _plain(text: Any) -> Any:
    """A text as JSON has it."""
    if isinstance(text, Example):
        choices = {} if text.choices is None else {"choices": list(text.choices)}
        return {"segments": list(text.segments), **choices}
    return list(text) if isinstance(text, Sequence) and not isinstance(text, str) else text


def _answer(label: Any) -> Answer:
    return tuple(label) if isinstance(label, list) else label


def _problem(error: HTTPError) -> ServerError:
    """What the server said, in one line."""
    try:
        body = json.load(error)
        return ServerError(f"{body['error']} ({error.code})", error.code, str(body["error_type"]))
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return ServerError(f"the server answered {error.code}.", error.code, "error")


def _wait(header: str | None) -> float:
    return min(float(header), LONGEST_WAIT) if header and header.isdecimal() else 1.0
