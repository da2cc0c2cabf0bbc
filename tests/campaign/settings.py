"""Damaged settings: a file or an option value is understood, or refused in a line without internals."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import yaml

from campaign.mutate import VALUES, mutated_bytes, mutated_json

LIMIT = 60
METHODS = ("slm-fp", "dlm-fp", "aa-fp", "vanilla", "fresh", "l2e", "sgt", "a2r", "hard-kuma", "slm-fpo")
INTERNALS = re.compile(r"Traceback|jsonargparse|Namespace\(|<class|typing\.|object at 0x|Parser key|argparse")
NOT_FINITE = re.compile(r"(?<!['\w])-?(nan|inf)\b(?!')")
STRINGS = (
    "",
    "x",
    "-1",
    "0",
    "nan",
    "inf",
    "1e999",
    "null",
    "true",
    "[]",
    "{}",
    "{a: 1}",
    "[[",
    "a: b: c",
    "!!python/none",
)
NUMBERS = ("1", "2", "0.5", "3.0", "-1", "0", "true", "1e-5", "1e308", "nan", "-inf", "99999999999999999999")


class ResolvedError(Exception):
    """The settings were understood: training would begin now."""


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Call `train` with changed settings, in a file or as options, up to the moment when it would begin."""
    import unirex.methods
    from campaign.readers import captured

    def begin(method: str, data: Any, *, config: Any, **_: Any) -> None:
        resolved = unirex.methods.resolve(method, config, {})
        unirex.methods.check_method(method, resolved)
        assert not NOT_FINITE.search(repr(resolved)), resolved
        raise ResolvedError

    unirex.methods.fit = begin
    arguments = ["train", "--data", str(stock / "data.jsonl"), "--out", str(folder / "run")]
    arguments += _file(chance, folder) if chance.random() < 0.5 else _options(chance)
    (folder / "arguments.txt").write_text("\n".join(arguments), "utf-8", "backslashreplace")
    try:
        code, out, err = captured(*arguments)
    except ResolvedError:
        return "understood"
    lines = [line for line in err.splitlines() if line.strip()]
    assert code == 2 and len(lines) == 1 and lines[0].startswith("unirex: error: "), (code, out, err)
    assert not INTERNALS.search(err), err
    return "refused"


def _file(chance: random.Random, folder: Path) -> list[str]:
    """A changed file of complete settings."""
    from unirex.config import plain
    from unirex.methods import resolve

    method = chance.choice(METHODS)
    settings = {"method": method, **plain(resolve(method, None, {}))}
    path = folder / "settings.yaml"
    if chance.random() < 0.6:
        changed = mutated_json(settings, chance)
        path.write_text(yaml.safe_dump(changed, allow_unicode=True), "utf-8", "backslashreplace")
    else:
        path.write_bytes(mutated_bytes(yaml.safe_dump(settings).encode(), chance))
    return ["--config", str(path)]


def _options(chance: random.Random) -> list[str]:
    """Some options with values that may be nonsense."""
    from unirex.config import Config, flat, plain

    known = flat(plain(Config()))
    given = ["--method", chance.choice(METHODS)] if chance.random() < 0.7 else []
    for name in chance.sample([*known], chance.randint(1, 3)):
        if chance.random() < 0.1:
            name = mutated_bytes(name.encode(), chance).decode("utf-8", "replace").replace("\0", "")
        value = _value(known.get(name), chance)
        given += [f"--{name}={value}"] if chance.random() < 0.5 else [f"--{name}", value]
    return given


def _value(default: Any, chance: random.Random) -> str:
    """A value of the kind of the default, the default itself, or anything."""
    if isinstance(default, int | float) and chance.random() < 0.5:
        return chance.choice(NUMBERS)
    if default is not None and chance.random() < 0.4:
        return str(default)
    return str(chance.choice((*VALUES, *STRINGS, *NUMBERS))).replace("\0", "")
