"""Ray: shards run by actors and cells run by tasks give what this machine's processes give."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from deadly import deadly

import planted
from unirex.data.convert import convert
from unirex.errors import UserError
from unirex.experiments.cells import DONE, Cell, Needs
from unirex.experiments.engine import run_cells
from unirex.experiments.study import make_study, store_of
from unirex.scale import ray_engine
from unirex.scale.engines import Staff
from unirex.scale.explaining import explain_corpus

TRAINING = {"batch_size": 8, "max_batches": 1}
COSTS = ("seconds", "token_forwards")  # of a text, by the batch it is in


@pytest.fixture(scope="module")
def tasks():
    """The executor of cells on a Ray of two cores, which all tests here share."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unirex[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # its processes import these tests, too
        patch.setenv("RAY_worker_niceness", "0")  # other tests run beside; at 15 these would wait for them
        with ray_engine.cell_tasks(workers=2) as (pool, room):
            assert room == 2
            yield pool


def test_without_ray_it_is_said_how_to_get_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(ray_engine, "import_module", missing)
    message = r"--engine ray needs Ray: pip install 'unirex\[ray\]'"
    with pytest.raises(UserError, match=message), ray_engine.ray_session():
        pass


def test_the_room_of_a_cluster_is_that_of_its_machines():
    """Two cores or one GPU more on another machine are no room for a worker that needs both."""
    machines = [{"CPU": 8.0, "GPU": 1.0}, {"CPU": 3.0}, {"GPU": 4.0}]
    alive = [{"Alive": True, "Resources": resources} for resources in machines]
    session = ray_engine.Session(SimpleNamespace(nodes=lambda: alive))
    assert session.room(None, cores=2) == 5 and session.room(3, cores=2) == 3
    assert session.room(None, cores=2, gpus=1) == 1
    with pytest.raises(UserError, match="--threads 9"):
        session.room(None, cores=9)
    session.check(Needs(cores=1, memory=0, gpus=1), cores=1)
    with pytest.raises(UserError, match="2 cores and 0 GiB of memory and 9 GPUs"):
        session.check(Needs(cores=2, memory=0, gpus=9), cores=2)
    del machines[0]["GPU"], machines[2]["GPU"]
    with pytest.raises(UserError, match="--device cuda: no machine of the Ray cluster has a GPU"):
        session.room(None, cores=1, gpus=1)


def test_an_actor_that_is_killed_costs_nothing(tasks, run, corpus, plain, tmp_path):
    out, marker = tmp_path / "out", tmp_path / "killed"
    totals = explain_corpus(
        str(corpus),
        str(out),
        partial(deadly, run, marker),
        staff=Staff("ray", workers=2),
        options={"targets": "predicted"},
        shard_rows=1024,
        shown=False,
    )
    assert marker.exists() and totals["texts"] == 2100 and totals["shards"] == 3
    assert b"".join(part.read_bytes() for part in sorted(out.glob("part-*"))) == plain
    made = json.loads((out / "manifest.json").read_text("utf-8"))["shards"]
    assert int(marker.read_text()) not in {shard["process"] for shard in made}


def small(cell: Cell, store: Path) -> None:
    """A cell that notes that it is done; one that fails; one that dies the first time."""
    if "bad" in cell.key:
        raise ValueError("went wrong")
    folder = cell.folder(store)
    folder.mkdir(parents=True, exist_ok=True)
    if "deadly" in cell.key and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    assert all((store / f"train-{key}" / DONE).exists() for key in cell.after)
    (folder / DONE).write_text(json.dumps({"seconds": 0}))


def cell(key: str, *after: str, memory: int = 2**20) -> Cell:
    return Cell("train", key, {}, key, after, Needs(1, memory))


def test_cells_wait_for_others_are_retried_and_fail_by_themselves(tasks, tmp_path):
    cells = [
        cell("first"),
        cell("deadly", "first"),
        cell("last", "deadly"),
        cell("bad"),
        cell("needs", "bad"),
        cell("huge", memory=2**46),
    ]
    failures = run_cells(cells, tmp_path, run=small, workers=2, pool=tasks, shown=False)
    assert {failure.cell.key: failure.error for failure in failures} == {
        "bad": "went wrong",
        "needs": "needs train bad, which failed",
        "huge": "no machine of the Ray cluster has 1 cores and 65536 GiB of memory for a cell.",
    }
    assert (tmp_path / "train-deadly" / "died").exists() and cells[2].state(tmp_path) == "done"


def test_a_study_on_ray_is_the_study_here(tasks, learner, tmp_path):
    convert(planted.planted((24, 8, 8)), tmp_path / "planted.jsonl")
    settings = {"encoder": str(learner), "pooling": "mean", "training": TRAINING}
    options = {"scale": "tiny", "data": [str(tmp_path / "planted.jsonl")], "settings": settings}
    metrics = []
    for place, pool in ((tmp_path / "here", None), (tmp_path / "ray", tasks)):
        study = make_study("main", rows=["AA (IG)"], **options)
        assert study.run(place / "study", threads=1, shown=False, pool=pool) == []
        store = store_of(place / "study")
        saved = store / study.measured[0].cell.result(store)["place"] / "metrics.json"
        found = json.loads(saved.read_text("utf-8"))["metrics"]
        metrics.append({name: value for name, value in found.items() if "seconds" not in name})
    assert metrics[0] == metrics[1]
