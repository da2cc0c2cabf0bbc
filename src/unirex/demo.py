"""The main job on embedded defaults: a classifier explained afterwards beside one taught to explain itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unirex.data import load_dataset
from unirex.data.example import Example
from unirex.evaluation import COLUMNS, evaluate
from unirex.files import write_file
from unirex.methods import fit
from unirex.report import comparison_page, table

SYSTEMS = {
    "vanilla": {"training": {"epochs": 2}},
    "slm-fp": {"training": {"epochs": 3}, "budgets_per_step": 1},
}
SHOWN = 24  # texts on the page
NOTES = (
    "Corpus: demo, short opinions from a seeded grammar that marks the words which decide as it writes them.",
    "Comp, Suff and CSD: over rationales of 1, 5, 10, 20 and 50 % of the tokens (sum / 6, as in the paper); "
    "tokens are deleted.",
    "Rows marked “random scores” are the same classifier with rationales drawn at random: the floor.",
)


def run_demo(out: str | Path = "runs/demo", *, progress: bool = True) -> Path:
    """Train, evaluate, compare; gives the report's path. What is trained already is not trained again."""
    folder = Path(out)
    data = load_dataset("demo")
    rows: dict[str, dict[str, float]] = {}
    explained = {}
    for method, settings in SYSTEMS.items():
        say(f"{method}: training on {len(data['train'])} texts …", progress)
        system = fit(
            method, data, out=folder / method, resume=True, encoder="minilm", progress=progress, **settings
        )  # type: ignore[arg-type]
        say(f"{system.name}: evaluating on {len(data['test'])} texts …", progress)
        results = evaluate(system, data["test"], progress=progress)
        results.save(folder / method / "evaluation" / "demo-test")
        rows |= results.rows
        explained[system.name] = list(system.explain_all(shown_examples(data["test"]), budget=20))
    say("\n" + table(rows, columns=COLUMNS), True)
    page = comparison_page(
        title="A classifier that shows its reasons", systems=explained, rows=rows, notes=NOTES
    )
    report = folder / "report.html"
    write_file(report, page)
    return report


def shown_examples(examples: Sequence[Example]) -> list[Example]:
    """Texts spread evenly over the split."""
    stride = max(1, len(examples) // SHOWN)
    return list(examples[::stride][:SHOWN])


def say(message: str, wanted: bool) -> None:
    """Tell the person at the terminal what is going on."""
    if wanted:
        print(message, flush=True)
