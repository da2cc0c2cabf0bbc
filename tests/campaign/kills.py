"""Long commands killed at random moments: called again, they end as if they had never been interrupted."""

from __future__ import annotations

import random
import time
from pathlib import Path

from campaign.children import check_succeeded
from campaign.commands import COMMANDS, Place, content, drafts, usual

LIMIT = 600


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Kill a command up to three times, then let it end."""
    name = chance.choice([*COMMANDS])
    place, kills = Place(stock, folder), 0
    for attempt in range(chance.randint(1, 3)):
        kills += _killed(name, place, chance, again=attempt > 0)
        if _complete(name, place):
            break
        if name == "save-over":
            _check_no_mixture(place)
    if not _complete(name, place):
        check_succeeded(place.run(name, again=True))
    check_same(name, place)
    return f"{kills} kills of {name}" if kills != 1 else f"1 kill of {name}"


def _killed(name: str, place: Place, chance: random.Random, *, again: bool) -> bool:
    """Whether the command was killed: at a file operation, or after a time; else it had ended before."""
    undisturbed = usual(place.stock, name)
    if chance.random() < 0.6:
        at = chance.randint(1, undisturbed.operations)
        child = place.start(name, place.circumstances(kill_at=at), again=again)
    else:
        child = place.start(name, again=again)
        time.sleep(chance.uniform(0, undisturbed.seconds))
        child.kill()
    ended = child.wait(LIMIT)
    assert ended.code in (0, -9), ended
    return ended.code != 0


def _complete(name: str, place: Place) -> bool:
    """Whether the result of a command that refuses to overwrite is there."""
    results = {
        "explain": "explanations.jsonl",
        "convert-parquet": "data.parquet",
        "convert-tasks": "data.json",
    }
    return name in results and (place.folder / results[name]).exists()


def _check_no_mixture(place: Place) -> None:
    """What is loaded after a kill is one of the two systems, whole, or nothing."""
    from unirex.errors import UserError
    from unirex.system import load

    try:
        found = load(place.folder / "saved").model.state_dict()
    except UserError:
        return
    wholes = [load(place.stock / name).model.state_dict() for name in ("system", "other")]
    assert any(all(found[key].equal(whole[key]) for key in whole) for whole in wholes), "a mixture of systems"


def check_same(name: str, place: Place) -> None:
    """The files are those of an uninterrupted command, and nothing unfinished is beside them."""
    expected, found = usual(place.stock, name).content, content(place.folder)
    wrong = sorted(file for file in {*expected, *found} if expected.get(file) != found.get(file))
    assert not drafts(place.folder), f"{name}: unfinished files are left: {drafts(place.folder)}"
    assert not wrong, f"{name}: not as without interruption: {wrong}"
