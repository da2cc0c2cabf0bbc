"""All methods of the paper's main table on SST beside the published row, as Markdown.

    python benchmarks/sst_table.py runs/sst/measured

reads what `benchmarks/sst_methods.sh runs/sst` has measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from unirex.metrics.relative_gain import Gains, relative_gain
from unirex.paper.published import ATTRIBUTIONS, METHODS, recomputed, results
from unirex.report.table import cell, header

COLUMNS = ("comprehensiveness", "sufficiency", "auprc", "token_f1_macro2", "accuracy")
PREDICTS = "†"  # from its rationale alone


def main(measured: Path) -> None:
    """Print the table."""
    folders = {name: measured / own for own, name in {**ATTRIBUTIONS, **METHODS}.items()}
    paths = {name: folders[name] / "metrics.json" for name in results("sst")}
    saved = {name: json.loads(path.read_text("utf-8")) for name, path in paths.items()}
    ours = {name: one["metrics"] for name, one in saved.items()}
    gains, theirs = relative_gain(ours), recomputed("sst")
    heads = [f"{header(key)} | paper" for key in COLUMNS] + ["FNRG | PNRG | TNRG | CNRG | paper"]
    print(f"| method | {' | '.join(heads)} |")
    print(f"|:--|{'--:|' * (2 * len(COLUMNS) + 5)}")
    for name, metrics in ours.items():
        alone = saved[name]["settings"].get("predicts_from") == "rationale"
        cells = [f"{cell(key, metrics[key])} | *{published(name, key)}*" for key in COLUMNS]
        print(
            f"| {name}{PREDICTS if alone else ''} | {' | '.join(cells)} | {told(gains[name], theirs[name])} |"
        )
    texts = {one["texts"] for one in saved.values()}
    print(f"\n{' or '.join(map(str, sorted(texts)))} test texts.")
    for name, one in saved.items():
        if one["settings"].get("predicts_from") == "rationale":
            print(f"- {name}: raw comprehensiveness {one['metrics']['comprehensiveness_mean']:.3f}")
        if one.get("collapsed") is not None:
            print(f"- warning: {name} answers '{one['collapsed']}' to (nearly) every text")


def published(name: str, key: str) -> str:
    """A printed number."""
    return cell(key, results("sst")[name].metrics[key][0])


def told(ours: Gains, theirs: Gains) -> str:
    """Our gains, and the published CNRG as it follows from the printed row."""
    parts = [f"{getattr(ours, name):.3f}" for name in ("fnrg", "pnrg", "tnrg", "cnrg")]
    return f"{' | '.join(parts)} | *{theirs.cnrg:.3f}*"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
