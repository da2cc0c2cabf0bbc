"""Random damage to bytes, to JSON and to texts."""

from __future__ import annotations

import json
import random
from typing import Any

TOKENS = (
    b"\0",
    b"\r",
    b"\n\n",
    b"\r\n",
    b'"',
    b"'",
    b",",
    b"\t",
    b";",
    b"{",
    b"]",
    b"\\",
    b"\\ud800",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"null",
    b"true",
    b"=1+1",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x98\x80",
    b"[" * 2000,
    b"<script>",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    2,
    2**31,
    2**63,
    -(10**30),
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "x",
    "\0",
    "../x",
    "/etc/hostname",
    "\ud800",
    "\u202e\x1b[31m",
    "<script>alert(1)</script>",
    "=1+1",
    [],
    {},
    [[]],
    [None],
    [[0, 1]],
    {"": 0},
    "a" * 20_000,
)


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    """The bytes after one to four random changes."""
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(BYTE_CHANGES)(data, chance)
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(TOKENS) + data[at:]


def _replace(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    return data[:start] + chance.choice(TOKENS) + data[end:]


def _delete(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    return data[:start] + data[end:]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    return data[:end] + data[start:end] * chance.randint(1, 3) + data[end:]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _swap_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _part(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + int(chance.expovariate(1 / 20)))


BYTE_CHANGES = (_flip, _insert, _insert, _replace, _replace, _delete, _repeat, _cut, _swap_lines)


def mutated_json(value: Any, chance: random.Random) -> Any:
    """A JSON value after one to three changes somewhere inside."""
    for _ in range(chance.randint(1, 3)):
        value = _changed_inside(value, chance)
    return value


def _changed_inside(value: Any, chance: random.Random) -> Any:
    inner = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    if not inner or chance.random() < 0.1:
        return chance.choice(VALUES)
    key, change = chance.choice(inner), chance.random()
    copy = dict(value) if isinstance(value, dict) else list(value)
    if change < 0.15:
        del copy[key]
    elif change < 0.25 and isinstance(copy, dict):
        copy[chance.choice(("", "text", "label", "id", "x" * 300))] = copy.pop(key)
    elif change < 0.3 and isinstance(copy, list):
        copy.insert(key, copy[key])
    else:
        copy[key] = _changed_inside(copy[key], chance)
    return copy


def json_bytes(value: Any) -> bytes:
    """JSON as bytes; what is not UTF-8 is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
