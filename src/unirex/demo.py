"""The main job on embedded defaults: a classifier explained afterwards, one taught to explain itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unirex.comparison import compare
from unirex.data.example import Splits
from unirex.data.load import load_dataset
from unirex.evaluation.run import Results, evaluate
from unirex.evaluation.summary import COLUMNS
from unirex.files import write_file
from unirex.methods import fit
from unirex.report import table


@dataclass(frozen=True)
class Contestant:
    """One system of the comparison."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


# Few steps have to do: a high learning rate, one budget a step, and faithfulness at full weight.
STRONG = {
    "training": {"epochs": 3, "learning_rate": 2e-4},
    "budgets_per_step": 1,
    "objectives": {"comprehensiveness": {"weight": 1.0, "margin": 3.0}, "sufficiency": {"weight": 1.0}},
}
CONTESTANTS = (
    Contestant("vanilla + IG", "vanilla", {"training": {"epochs": 2}}),
    Contestant("SLM-FP", "slm-fp", STRONG),
)
DRAWS = 2  # of random scores; `unirex evaluate` has 5, and the demo little time


def run_demo(out: str | Path = "runs/demo", *, progress: bool = True) -> Path:
    """Train, evaluate, compare; gives the report's path. What is trained already is not trained again."""
    folder, data = Path(out), load_dataset("demo")
    results = {one.name: contest(one, data, folder / one.method, progress=progress) for one in CONTESTANTS}
    rows = {name: row for one in results.values() for name, row in one.rows.items()}
    warnings = [said for one in results.values() for said in one.summary.warnings]
    print("\n" + table(rows, columns=COLUMNS, warnings=warnings), flush=True)
    report = compare(results).page("A classifier that shows its reasons", remarks=notes(data))
    write_file(folder / "report.html", report)
    return folder / "report.html"


def contest(one: Contestant, data: Splits, folder: Path, *, progress: bool) -> Results:
    """Train one system and score it on test."""
    if progress:
        trained = (folder / "model.safetensors").exists()
        doing = f"trained already, in {folder}" if trained else f"training on {len(data['train'])} texts …"
        print(f"{one.name}: {doing}", flush=True)
    system = fit(
        one.method, data, out=folder, resume=True, encoder="minilm", progress=progress, **one.settings
    )
    if progress:
        print(f"{one.name}: evaluating on {len(data['test'])} texts …", flush=True)
    results = evaluate(system, data["test"], name=one.name, draws=DRAWS, progress=progress)
    results.save(folder / "evaluation" / "demo-test")
    return results


def notes(data: Splits) -> tuple[str, ...]:
    """What the reader of the page must know about its numbers."""
    return (
        f"Measured on the {len(data['test'])} test texts of the corpus demo: short opinions from a seeded "
        "grammar that marks the words which decide as it writes them.",
        "A demonstration, not a benchmark: the corpus and SLM-FP's settings were chosen so that the "
        "difference shows within minutes (see the README).",
        f"Random scores: rationales drawn at random, same classifier, mean of {DRAWS} draws; the floor.",
    )
