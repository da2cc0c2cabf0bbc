"""Trainings in several processes: fresh ones, one killed, resumed by another number; budgets in turns."""

import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from lightning.pytorch import Trainer

import unirex
from planted import planted
from unirex.errors import UserError
from unirex.methods import spawned
from unirex.modeling import Draws, RationaleModel
from unirex.training.checkpoints import load_state
from unirex.training.epochs import LAST, Epochs
from unirex.training.processes import Processes, is_first_process, launched, processes

DATA = planted((48, 8, 4))


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def settings(learner, **training):
    hardware = {"devices": 2, "accelerator": "cpu", "strategy": "spawn"}
    wanted = {"epochs": 6, "patience": 6, "batch_size": 8, **hardware, **training}
    return {"encoder": str(learner), "pooling": "mean", "training": wanted, "progress": False}


def test_a_killed_process_ends_all_and_one_alone_completes_the_run(learner, tmp_path, monkeypatch):
    run, begin, started, killed = tmp_path / "run", spawned.start, [], []

    def kill_one():
        while not (run / LAST).exists():
            time.sleep(0.01)
        started[1].kill()
        killed.append(True)

    def noted(folder, number):
        started.extend(begin(folder, number))
        threading.Thread(target=kill_one, daemon=True).start()
        return started

    monkeypatch.setattr(spawned, "start", noted)
    with pytest.raises(UserError, match="--resume continues from the last checkpoint"):
        unirex.fit("vanilla", DATA, out=run, **settings(learner))
    assert killed and started[1].returncode == -signal.SIGKILL
    assert started[0].returncode != 0 and all(process.poll() is not None for process in started)
    assert load_state(run / LAST)["epoch"] >= 0  # intact
    alone = settings(learner, devices=1, strategy="auto")
    system = unirex.fit("vanilla", DATA, out=run, resume=True, **alone)
    assert system.explain("a good film").label in ("neg", "pos")
    assert len((run / "metrics.csv").read_text().splitlines()) == 1 + 6


def test_a_process_lost_while_the_others_wait_for_it_at_the_end_is_said(learner, monkeypatch):
    def finish(epochs, trainer):
        monkeypatch.setattr(Trainer, "world_size", 2)
        raise RuntimeError("[gloo/transport/tcp/pair.cc:537] Read error: Connection reset by peer")

    monkeypatch.setattr(Epochs, "finish", finish)
    with pytest.raises(UserError, match="another process of this training has ended"):
        unirex.fit("vanilla", DATA, **settings(learner, epochs=1, devices=1, strategy="auto"))


def test_a_mistake_in_a_fresh_process_is_said_by_this_one(tmp_path, monkeypatch):
    """The line the first process to fail leaves; the others, which would wait for it, are ended."""
    spawned.error_file(tmp_path, 1).write_text("run: already holds a run")
    codes = ["import time; time.sleep(600)", "raise SystemExit(2)"]
    started = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) for code in codes]
    monkeypatch.setattr(spawned, "GRACE", 0.2)
    with pytest.raises(UserError, match="already holds a run"):
        spawned.watch(started, tmp_path)
    assert [process.returncode for process in started] == [-signal.SIGKILL, 2]


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"strategy": "ddp_spawn"}, "use spawn"),
        ({"devices": "auto"}, "give a number of processes"),
        ({"nodes": 2}, "is for one node"),
        ({"nodes": 0}, "training.nodes 0"),
    ],
)
def test_processes_that_cannot_be_are_refused(learner, training, said):
    with pytest.raises(UserError, match=said):
        unirex.fit("vanilla", DATA, **settings(learner, **training))


def test_a_launcher_decides_how_many_there_are(monkeypatch):
    asked = unirex.config.Training(devices=2)
    assert launched() is None and processes(asked) == Processes(2)
    for name, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0", "RANK": "2"}.items():
        monkeypatch.setenv(name, value)
    assert processes(asked) == processes(unirex.config.Training()) == Processes(2, nodes=2)
    assert not is_first_process()  # the first of its node, the third of all
    with pytest.raises(UserError, match=r"training\.devices 3: the launcher has started 2"):
        processes(unirex.config.Training(devices=3))
    monkeypatch.setenv("RANK", "0")
    assert is_first_process()


def test_sampled_budgets_go_around_the_processes(learner):
    """Of five budgets, five processes that draw one each have each once; alone, as without processes."""
    config = unirex.config.Config(encoder=str(learner), budgets_per_step=1)
    model = RationaleModel.from_encoder(config, ("neg", "pos"))

    def drawn(seed, world):
        found = []
        for rank in range(world):
            model.draws = Draws(rank, torch.Generator().manual_seed(seed))
            found += model._training_budgets()
        return found

    assert all(sorted(drawn(seed, 5)) == sorted(config.budgets) for seed in range(20))
    assert len({tuple(drawn(seed, 5)) for seed in range(20)}) > 10
    assert len(set(drawn(0, 7)[:5])) == 5 and drawn(0, 7)[5:] == drawn(0, 7)[:2]
    torch.manual_seed(3)
    model.draws = Draws()
    alone = model._training_budgets()
    torch.manual_seed(3)
    assert alone == [config.budgets[int(torch.randperm(5)[0])]]
