"""Weights that are not numbers: whatever would use them refuses."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from campaign.children import check_refused, command, run

LIMIT = 120
NONE = (float("nan"), float("inf"), float("-inf"))


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Put a value that is none into a system, a classifier or an encoder, and use it."""
    from safetensors.torch import load_file, save_file

    from unirex.files import write_sums

    kind = chance.choice(("system", "classifier", "learner"))
    place = folder / kind
    shutil.copytree(stock / kind, place)
    weights = load_file(place / "model.safetensors")
    # The pooler of an encoder is left out when it is read.
    name = chance.choice(sorted(key for key in weights if "pooler" not in key))
    flat = weights[name].view(-1)
    flat[chance.randrange(len(flat))] = chance.choice(NONE)
    save_file(weights, place / "model.safetensors", {"format": "pt"})
    if kind == "system":
        write_sums(place)  # as a training would that had diverged
    line = check_refused(run(_use(kind, place, folder, stock, chance)))
    assert "not finite" in line, line
    assert not list(folder.glob("out*")), "something was written"
    return f"{kind} refused"


def _use(kind: str, place: Path, folder: Path, stock: Path, chance: random.Random):
    data, out = stock / "data.jsonl", folder / "out"
    if kind == "learner":
        return command("train", "--encoder", place, "--data", data, "--out", out)
    named = [place] if kind == "system" else ["--model", place]
    if chance.random() < 0.5:
        return command("explain", *named, "--data", data, "--out", folder / "out.jsonl")
    return command("evaluate", *named, "--data", data, "--out", out)
