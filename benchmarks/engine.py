"""What the engine of studies costs: 200 trivial cells through it, beside the same cells in a loop.

    python benchmarks/engine.py

A trivial cell sleeps for a tenth of a second and writes its result; a real one takes minutes.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import torch  # noqa: F401  (every real cell needs it; importing it is not the engine's cost)

from unirex.experiments.cells import DONE, Cell
from unirex.experiments.engine import run_cells

CELLS = 200
SECONDS = 0.1


def trivial(cell: Cell, store: Path) -> None:
    time.sleep(SECONDS)
    folder = cell.folder(store)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DONE).write_text(json.dumps({"seconds": SECONDS}))


def main() -> None:
    cells = [Cell("train", f"cell {number}", {}, str(number)) for number in range(CELLS)]
    times, busy = {}, {}
    for name in ("loop", "engine"):
        with tempfile.TemporaryDirectory() as folder:
            store, begin, before = Path(folder), time.perf_counter(), time.process_time()
            if name == "loop":
                for cell in cells:
                    trivial(cell, store)
            else:
                assert run_cells(cells, store, run=trivial, shown=False) == []
            times[name], busy[name] = time.perf_counter() - begin, time.process_time() - before
    ratio = times["engine"] / times["loop"]
    print(f"{CELLS} cells: engine ÷ loop {ratio:.3f} ({times['engine']:.1f} s, {times['loop']:.1f} s)")
    own = 1000 * (busy["engine"] - busy["loop"]) / CELLS
    print(f"CPU time of the engine itself: {own:.2f} ms a cell, which a busy machine does not change")


if __name__ == "__main__":
    main()
