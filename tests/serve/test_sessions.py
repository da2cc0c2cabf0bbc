"""Sessions in cookies: signed, apart, kept over restarts; other sites' requests refused; guessing slowed."""

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from unirex.errors import UserError
from unirex.serve.errors import ApiError
from unirex.serve.sessions import Attempts, Sessions, check_origin, kept_secret


def request(cookie="", *, scheme="http", address="1.2.3.4"):
    headers = [(b"cookie", cookie.encode()), (b"host", b"localhost")]
    scope = {"type": "http", "scheme": scheme, "path": "/", "query_string": b"", "headers": headers}
    return Request(scope | {"client": (address, 1), "server": ("localhost", 80), "method": "GET"})


def begun(sessions, subject, **options):
    response = Response()
    sessions.begin(request(**options), response, subject)
    cookie, _, attributes = response.headers["set-cookie"].partition(";")
    return cookie, attributes.lower()


def test_a_session_is_what_the_server_signed(tmp_path):
    people = Sessions(kept_secret(tmp_path / "secret"), kind="person")
    cookie, attributes = begun(people, "annotator 3")
    assert "httponly" in attributes and "samesite=strict" in attributes and "secure" not in attributes
    assert "secure" in begun(people, "annotator 3", scheme="https")[1]
    assert people.subject(request(cookie)) == "annotator 3"
    again = Sessions(kept_secret(tmp_path / "secret"), kind="person")  # after a restart
    assert again.subject(request(cookie)) == "annotator 3"
    name, value = cookie.split("=", 1)
    forged = b"annotator 4".hex() + value[value.index(".") :]
    for bad in ("", "x", value[:-1], value + "0", forged, "..", f"é.{value}"):
        assert people.subject(request(f"{name}={bad}")) is None
    ended, _ = begun(Sessions(kept_secret(tmp_path / "secret"), kind="person", days=-1), "annotator 3")
    assert people.subject(request(ended)) is None


def test_sessions_of_two_kinds_and_two_servers_are_apart(tmp_path):
    secrets = [kept_secret(tmp_path / name) for name in "ab"]
    assert secrets[0] != secrets[1] and (tmp_path / "a").stat().st_mode & 0o077 == 0
    made = [Sessions(secrets[0], kind="person"), Sessions(secrets[0], kind="owner")]
    made.append(Sessions(secrets[1], kind="person"))
    assert len({sessions.cookie for sessions in made}) == 3
    value = begun(made[0], "x")[0].split("=", 1)[1]
    for other in made[1:]:
        assert other.subject(request(f"{other.cookie}={value}")) is None
    (tmp_path / "a").write_bytes(b"short")
    with pytest.raises(UserError, match="not a secret"):
        kept_secret(tmp_path / "a")


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),  # not a browser: there is no session of someone else to misuse
        ({"origin": "http://localhost:80"}, True),
        ({"origin": "https://study.example.org", "sec-fetch-site": "same-origin"}, True),
        ({"origin": "http://localhost:81"}, False),
        ({"origin": "https://localhost:80"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://localhost:80", "sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_only_pages_of_this_server_may_ask(headers, allowed):
    given = Headers({"host": "localhost:80", **headers})
    try:
        check_origin(given, "http", origins=["https://study.example.org"])
    except ApiError as error:
        assert not allowed and error.status == 403
    else:
        assert allowed


def test_an_address_that_guesses_has_to_wait():
    attempts = Attempts(most=2, seconds=1000)
    for _ in range(2):
        attempts.check(request())
        attempts.wrong(request())
    with pytest.raises(ApiError, match="try again in") as refused:
        attempts.check(request())
    assert refused.value.status == 429 and int(refused.value.headers["Retry-After"]) > 900
    attempts.check(request(address="5.6.7.8"))
