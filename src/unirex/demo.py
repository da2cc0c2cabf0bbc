"""The main job on embedded defaults: a classifier explained afterwards, one taught to explain itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unirex.data import load_dataset
from unirex.data.example import Example, Splits
from unirex.evaluation import Results, evaluate
from unirex.explanation import Explanation
from unirex.files import write_file
from unirex.methods import fit
from unirex.report import comparison_page, table
from unirex.summary import COLUMNS


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
SHOWN = 24  # texts on the page
BUDGET = 20.0  # per cent of the tokens underlined there


def run_demo(out: str | Path = "runs/demo", *, progress: bool = True) -> Path:
    """Train, evaluate, compare; gives the report's path. What is trained already is not trained again."""
    folder, data = Path(out), load_dataset("demo")
    rows: dict[str, dict[str, float]] = {}
    explained: dict[str, list[Explanation]] = {}
    for one in CONTESTANTS:
        results, explained[one.name] = contest(one, data, folder / one.method, progress=progress)
        rows |= results.rows
    print("\n" + table(rows, columns=COLUMNS), flush=True)
    page = comparison_page(
        title="A classifier that shows its reasons",
        systems=explained,
        rows={name: headline(row) for name, row in rows.items()},
        notes=notes(data),
    )
    write_file(folder / "report.html", page)
    return folder / "report.html"


def contest(
    one: Contestant, data: Splits, folder: Path, *, progress: bool
) -> tuple[Results, list[Explanation]]:
    """Train one system, score it on test, and let it explain the texts of the page."""
    if progress:
        trained = (folder / "model.safetensors").exists()
        doing = f"trained already, in {folder}" if trained else f"training on {len(data['train'])} texts …"
        print(f"{one.name}: {doing}", flush=True)
    system = fit(
        one.method, data, out=folder, resume=True, encoder="minilm", progress=progress, **one.settings
    )
    if progress:
        print(f"{one.name}: evaluating on {len(data['test'])} texts …", flush=True)
    results = evaluate(system, data["test"], name=one.name, progress=progress)
    results.save(folder / "evaluation" / "demo-test")
    return results, list(system.explain_all(shown_examples(data["test"]), budget=BUDGET))


def shown_examples(examples: Sequence[Example]) -> list[Example]:
    """Texts spread evenly over the split."""
    stride = max(1, len(examples) // SHOWN)
    return list(examples[::stride][:SHOWN])


def headline(row: dict[str, float]) -> dict[str, float]:
    """The columns of the summary, and the curves over budgets."""
    return {name: value for name, value in row.items() if name in COLUMNS or "@" in name}


def notes(data: Splits) -> tuple[str, ...]:
    """What the reader of the page must know about its numbers."""
    return (
        f"Measured on the {len(data['test'])} test texts of the corpus demo: short opinions from a seeded "
        "grammar that marks the words which decide as it writes them.",
        "Comp, Suff and CSD: over rationales of 1, 5, 10, 20 and 50 % of the tokens (sum / 6, as in the "
        "paper); tokens are deleted.",
        "A demonstration, not a benchmark: the corpus and SLM-FP's settings were chosen so that the "
        "difference shows within minutes (see the README).",
        "Rows marked “random scores” are the same classifier with rationales drawn at random: the floor.",
    )
