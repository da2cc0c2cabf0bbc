"""What the engine of studies costs: 200 trivial cells through it, beside the same cells in a loop.

    python benchmarks/engine.py

The work of a cell sleeps for a tenth of a second; a real one takes minutes. A cell also keeps its lock, its
description, its log and its result on disk: `bare` is the work without them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch  # noqa: F401  (every real cell needs it; importing it is not the engine's cost)

from unirex.experiments.cells import WORK, Cell, run_cell
from unirex.experiments.engine import run_cells

CELLS = 200
SECONDS = 0.1


def trivial(cell: Cell, store: Path) -> Path:
    time.sleep(SECONDS)
    return cell.folder(store)


def main() -> None:
    WORK["train"] = trivial
    cells = [Cell("train", f"cell {number}", {}, str(number)) for number in range(CELLS)]
    times = {name: _seconds(name, cells) for name in ("bare", "loop", "engine")}
    print(f"{CELLS} cells: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items()))
    for name in ("loop", "bare"):
        print(f"engine ÷ {name} {times['engine'] / times[name]:.3f}")


def _seconds(name: str, cells: list[Cell]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store, begin = Path(folder), time.perf_counter()
        if name == "engine":
            assert run_cells(cells, store, shown=False) == []
        else:
            for cell in cells:
                (trivial if name == "bare" else run_cell)(cell, store)
        return time.perf_counter() - begin


if __name__ == "__main__":
    main()
