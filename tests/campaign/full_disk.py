"""Files that cannot grow, as on a full disk: one line says so, and with space the same command succeeds."""

from __future__ import annotations

import random
from pathlib import Path

from campaign.children import check_refused, check_succeeded
from campaign.commands import COMMANDS, Place, usual
from campaign.kills import check_same

LIMIT = 600


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Run a command with a limit on the size of files, then without."""
    name, place = chance.choice([*COMMANDS]), Place(stock, folder)
    largest = usual(stock, name).largest
    size = chance.randint(0, int(largest * 1.1))
    ended = place.start(name, place.circumstances(file_size=size)).wait(LIMIT / 2)
    if ended.code == 0:
        outcome = "fitted"
        assert name == "fill-cache" or size >= largest / 2, (size, largest)
    elif name == "save-over":  # not a command: a function, whose error is an exception
        assert ended.code == 70 and "UserError" in ended.err.splitlines()[-1], ended.err
        outcome = "refused"
    else:
        assert "cannot be written" in check_refused(ended), ended.err
        outcome = "refused"
    if outcome == "refused" or name == "fill-cache":
        check_succeeded(place.run(name, again=outcome == "refused"))
    check_same(name, place)
    return outcome
