"""Studies at their smallest scale, as the command line asks for them."""

import csv
from pathlib import Path

from unirex.experiments.cells import Cell

SETTINGS = {"training": {"batch_size": 8, "max_batches": 1, "learning_rate": 4e-3}, "pooling": "mean"}


ROWS = {  # those that teach something new; the others are methods and settings with tests of their own
    "main": ["AA (IG)", "L2E", "FRESH", "UNIREX (SLM-FP)", "SLM-FPO"],
    "ablation": ["AA-F (Rand)", "SLM-FP", "SLM-FP (Comp)", "SLM-FP (Linear)"],
    "efficiency": ["AA (IG)", "SLM-FPO"],
    "gold-efficiency": ["AA (IG)", "UNIREX (SLM-FP)"],
    "qualitative": ["A2R+P", "SLM-FPO"],
    "transfer": ["AA (IG)", "SLM-FPO"],
}


def command(action: str, place: Path, name: str, out: Path, *options: str) -> list[str]:
    settings = [f"--settings.encoder={place / 'encoder'}", "--settings.pooling=mean"]
    settings += ["--settings.training.batch_size=8", "--settings.training.max_batches=1"]
    data = ["--data", str(place / "planted.jsonl"), "--scale", "tiny", "--out", str(out)]
    threads = ["--threads", "1"] if action == "run" else []
    return ["experiment", action, name, *data, *settings, *threads, *options]


def tidy(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell(key: str, *after: str) -> Cell:
    return Cell("train", key, {}, key, after)
