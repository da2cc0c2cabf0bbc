"""Evaluations made by hand: how good a method is at what is planted, so that tests know who wins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from unirex.evaluation.record_files import write_records
from unirex.evaluation.records import Draw, Record, Scored, Views
from unirex.evaluation.summary import Summary

BUDGETS = (10.0, 20.0, 50.0)
LABELS = ("neg", "pos")
WORDS = ("the", "film", "is", "a", "dull", "witty", "gorgeous", "mess", "of", "jokes", "and", "songs")


def records(
    *,
    right: float = 0.8,
    faithful: float = 0.5,
    plausible: float = 0.5,
    number: int = 60,
    seed: int = 0,
    texts: int = 0,
    budgets: tuple[float, ...] = BUDGETS,
    removals: tuple[str, ...] = ("delete", "mask_token"),
    trained: str | None = None,
    draws: int = 2,
) -> list[Record]:
    """Records of a method: how often it is right, how far p falls without its words, who would mark them."""
    chance, given = np.random.default_rng(seed + 1000), np.random.default_rng(texts)
    made = []
    for i in range(number):
        words = [WORDS[at] for at in given.integers(len(WORDS), size=4 + i % 9)]
        starts = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
        tokens = tuple((0, start, start + len(word)) for start, word in zip(starts, words, strict=False))
        gold = tuple((given.random(len(words)) < 0.3).tolist())
        label, wrong = LABELS if given.integers(2) == 0 else LABELS[::-1]
        predicted = label if chance.random() < right else wrong
        sure = float(chance.uniform(0.7, 0.99))
        scores = tuple(float(np.round(plausible * marked + chance.normal(0, 0.3), 4)) for marked in gold)
        record = Record(
            id=f"text-{i}",
            segments=(" ".join(words),),
            label=label,
            predicted=predicted,
            labels=LABELS,
            probabilities=_of(predicted, sure),
            sequences=(Scored(tokens, scores, gold, _selected(scores, budgets)),),
            budgets=budgets,
            target=predicted,
            views=tuple(_views(way, predicted, sure, faithful, budgets, chance) for way in removals),
            draws=tuple(_draw(words, predicted, sure, budgets, chance) for _ in range(draws)),
            seconds=0.01,
            trained_removal=trained,
        )
        made.append(record)
    return made


def _of(predicted, p):
    return (1 - p, p) if predicted == LABELS[1] else (p, 1 - p)


def _selected(scores, budgets):
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return tuple(tuple(sorted(order[: max(1, round(len(scores) * b / 100))])) for b in budgets)


def _views(removal, predicted, sure, faithful, budgets, chance):
    falls = [min(sure, max(0.0, faithful * (0.5 + b / 100) + chance.normal(0, 0.05))) for b in budgets]
    return Views(
        removal,
        tuple(_of(predicted, sure - fall) for fall in falls),
        tuple(_of(predicted, sure - 0.5 * (sure - fall)) for fall in falls),
    )


def _draw(words, predicted, sure, budgets, chance):
    scores = tuple(chance.random(len(words)).round(4).tolist())
    return Draw(
        (scores,), (_selected(scores, budgets),), _views("delete", predicted, sure, 0.1, budgets, chance)
    )


def run(
    folder: Path, *, method: str = "slm-fp", seed: int = 0, evaluation: str = "sst-test", settings=None, **how
):
    """A run's folder with an evaluation in it, as `unirex train` and `unirex evaluate` leave them."""
    home = folder / "evaluation" / evaluation
    home.mkdir(parents=True, exist_ok=True)
    content = {"method": method, "extractor": "shared-lm", "training": {"epochs": 2}}
    content |= {**(settings or {}), "seed": seed}
    (folder / "settings.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    made = records(seed=seed, **how)
    write_records(home / "records.jsonl", made)
    summary = Summary.of(method, made, LABELS)
    (home / "metrics.json").write_text(json.dumps(summary.plain()), encoding="utf-8")
    return folder


def change_saved(folder: Path, **settings):
    """Write other settings into the metrics.json of a run's evaluation; returns the evaluation."""
    path = folder / "evaluation" / "sst-test" / "metrics.json"
    saved = json.loads(path.read_text())
    saved["settings"] |= settings
    path.write_text(json.dumps(saved))
    return path.parent


def file(path: Path, *, change: Mapping[str, object] | Callable[[Record], Record] | None = None, **how):
    """A file of records alone; `change` replaces fields of every record, or makes another of each."""
    made = records(**how)
    if callable(change):
        made = [change(record) for record in made]
    elif change:
        made = [replace(record, **change) for record in made]
    write_records(path, made)
    return path
