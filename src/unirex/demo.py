"""The demonstration: a classifier explained afterwards against one trained to explain itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unirex.comparison import compare
from unirex.data.example import Splits
from unirex.data.load import load_dataset
from unirex.evaluation.run import Results, evaluate
from unirex.files import write_file
from unirex.methods import fit
from unirex.metrics.registry import HEADLINE
from unirex.report import table


@dataclass(frozen=True)
class Contestant:
    """One system of the comparison."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


# There is time for few steps only: a high learning rate, one budget a step, faithfulness at full weight.
STRONG = {
    "training": {"epochs": 3, "learning_rate": 2e-4},
    "budgets_per_step": 1,
    "objectives": {"comprehensiveness": {"weight": 1.0, "margin": 3.0}, "sufficiency": {"weight": 1.0}},
}
CONTESTANTS = (
    Contestant("vanilla + IG", "vanilla", {"training": {"epochs": 2}}),
    Contestant("SLM-FP", "slm-fp", STRONG),
)
DRAWS = 2  # of random scores; `unirex evaluate` has RANDOM_DRAWS, and the demo little time


def run_demo(out: str | Path = "runs/demo", *, progress: bool = True) -> Path:
    """Train, evaluate and compare two systems; returns the path of the report.

    A system that is in `out` already is not trained again.
    """
    folder, data = Path(out), load_dataset("demo")
    results = {
        contestant.name: contest(contestant, data, folder / contestant.method, progress=progress)
        for contestant in CONTESTANTS
    }
    rows = {name: row for result in results.values() for name, row in result.rows.items()}
    warnings = [warning for result in results.values() for warning in result.summary.warnings]
    print("\n" + table(rows, columns=HEADLINE, warnings=warnings), flush=True)
    report = compare(results).page("A classifier that shows its reasons", remarks=notes(data))
    write_file(folder / "report.html", report)
    return folder / "report.html"


def contest(contestant: Contestant, data: Splits, folder: Path, *, progress: bool) -> Results:
    """Train one system and score it on test."""
    if progress:
        trained = (folder / "model.safetensors").exists()
        doing = f"trained already, in {folder}" if trained else f"training on {len(data['train'])} texts …"
        print(f"{contestant.name}: {doing}", flush=True)
    system = fit(
        contestant.method,
        data,
        out=folder,
        resume=True,
        encoder="minilm",
        progress=progress,
        **contestant.settings,
    )
    if progress:
        print(f"{contestant.name}: evaluating on {len(data['test'])} texts …", flush=True)
    results = evaluate(system, data["test"], name=contestant.name, draws=DRAWS, progress=progress)
    results.save(folder / "evaluation" / "demo-test")
    return results


def notes(data: Splits) -> tuple[str, ...]:
    """What readers of the report need to know about its numbers."""
    return (
        f"Measured on the {len(data['test'])} test texts of the corpus demo: short opinions from a seeded "
        "grammar that marks the words which decide as it writes them.",
        "A demonstration, not a benchmark: the corpus and SLM-FP's settings were chosen so that the "
        "difference shows within minutes (see the README).",
        f"Random scores: rationales drawn at random, same classifier, mean of {DRAWS} draws; the floor.",
    )
