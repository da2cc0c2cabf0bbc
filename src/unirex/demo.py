"""The demonstration: a classifier explained afterwards against one trained to explain itself."""

from __future__ import annotations

from pathlib import Path

from unirex.comparison import compare
from unirex.data.example import Splits
from unirex.data.load import load_dataset
from unirex.evaluation.run import HELD_OUT, Results, evaluate
from unirex.files import write_file
from unirex.methods import fit
from unirex.metrics.registry import HEADLINE
from unirex.report import table

SYSTEMS = {"vanilla + IG": "vanilla", "SLM-FPO": "slm-fpo"}  # name: method
EPOCHS = 2  # of both; everything else is the method's own default
DRAWS = 1  # of random scores; `unirex evaluate` has RANDOM_DRAWS, and the demo little time


def run_demo(out: str | Path = "runs/demo", *, progress: bool = True) -> Path:
    """Train, evaluate and compare two systems; returns the path of the report.

    A system that is in `out` already is not trained again.
    """
    folder, data = Path(out), load_dataset("demo")
    results = {
        name: train_and_measure(name, method, data, folder / method, progress=progress)
        for name, method in SYSTEMS.items()
    }
    rows = {name: row for result in results.values() for name, row in result.rows.items()}
    warnings = [warning for result in results.values() for warning in result.summary.warnings]
    print("\n" + table(rows, columns=HEADLINE, warnings=warnings), flush=True)
    report = compare(results).page("A classifier that shows its reasons", remarks=notes(data))
    write_file(folder / "report.html", report)
    return folder / "report.html"


def train_and_measure(name: str, method: str, data: Splits, folder: Path, *, progress: bool) -> Results:
    """Train one system and score it on test."""
    if progress:
        trained = (folder / "model.safetensors").exists()
        doing = f"trained already, in {folder}" if trained else "training …"
        print(f"{name}: {doing}", flush=True)
    system = fit(
        method,
        data,
        out=folder,
        resume=True,
        encoder="minilm",
        progress=progress,
        training={"epochs": EPOCHS},
    )
    if progress:
        print(f"{name}: evaluating on {len(data['test'])} texts …", flush=True)
    results = evaluate(system, data["test"], name=name, draws=DRAWS, beside=HELD_OUT[:1], progress=progress)
    results.save(folder / "evaluation" / "demo-test")
    return results


def notes(data: Splits) -> tuple[str, ...]:
    """What readers of the report need to know about its numbers."""
    return (
        f"Measured on the {len(data['test'])} test texts of the corpus demo: short opinions from a seeded "
        "grammar that marks the words which decide as it writes them.",
        f"Both systems are trained for {EPOCHS} epochs with the defaults of their methods.",
        "Random scores: rationales drawn at random, same classifier; the floor.",
    )
