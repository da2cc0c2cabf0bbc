"""Two processes on one folder: one of them works there, and the other says so in a line."""

from __future__ import annotations

import random
import time
from pathlib import Path

from campaign.children import check_refused, check_succeeded
from campaign.commands import Place
from campaign.kills import check_same

LIMIT = 600
COMMANDS = ("train", "train-stages", "fill-cache")


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Start the same command twice, the second a little later."""
    name, place = chance.choice(COMMANDS), Place(stock, folder)
    first = place.start(name, again=True)
    time.sleep(chance.choice((0, 0, chance.uniform(0, 3))))
    second = place.start(name, again=True)
    ended = [child.wait(LIMIT / 2) for child in (first, second)]
    refused = [one for one in ended if one.code != 0]
    assert len(refused) < 2, ended
    for one in refused:
        assert name != "fill-cache", one
        line = check_refused(one)
        assert "is working there; wait for it, or stop it" in line, line
    for one in ended:
        if one not in refused:
            check_succeeded(one)
    check_same(name, place)
    return f"{name}: {'one refused' if refused else 'both fine'}"
