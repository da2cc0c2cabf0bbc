"""Training: what the run folder holds, how it stops, and that resuming changes nothing."""

import csv
import json
import re
import resource
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import pytest
import torch
from safetensors.torch import load_file

import unirex
from planted import count_steps, interrupt_at, planted, same_weights
from unirex.config import Config, Training
from unirex.errors import UserError
from unirex.files import DRAFT, locked
from unirex.metrics import performance
from unirex.modeling import RationaleModel
from unirex.training import epochs as training_epochs
from unirex.training import train as training_loop
from unirex.training.checkpoints import load_state, save_state

DATA = planted((48, 16, 16))


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def settings(learner, **training):
    base = {"epochs": 3, "learning_rate": 2e-3, "batch_size": 16}
    return {"encoder": str(learner), "pooling": "mean", "training": base | training, "progress": False}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def brief(learner, tmp_path_factory):
    """The folder of a classifier that was trained for an epoch."""
    out = tmp_path_factory.mktemp("brief") / "run"
    unirex.fit("vanilla", DATA, out=out, **settings(learner, epochs=1))
    return out


@pytest.fixture(scope="module")
def interrupted(learner, tmp_path_factory):
    """The folder of a run that was stopped in its second epoch."""
    out = tmp_path_factory.mktemp("interrupted") / "run"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 5)  # epochs of 3 steps
        unirex.fit("vanilla", DATA, out=out, **settings(learner))
    return out


@pytest.fixture(scope="module")
def faithful(learner, tmp_path_factory):
    """The folder of a finished run of UNIREX."""
    out = tmp_path_factory.mktemp("faithful") / "run"
    unirex.fit("slm-fp", DATA, out=out, **settings(learner))
    return out


@pytest.fixture(scope="module")
def hopeless(learner, tmp_path_factory):
    """Settings that teach nothing, and the folder of a run that patience ended."""
    tried = settings(learner, epochs=9, patience=1, learning_rate=1e-9)
    out = tmp_path_factory.mktemp("hopeless") / "run"
    unirex.fit("vanilla", DATA, out=out, **tried)
    return tried, out


@pytest.mark.parametrize("method", ["slm-fp", "dlm-fp", "aa-fp"])
def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(learner, tmp_path, monkeypatch, method):
    unirex.fit(method, DATA, out=tmp_path / "whole", budgets_per_step=2, **settings(learner))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 8)  # of 9: epochs of 3 steps
        unirex.fit(method, DATA, out=tmp_path / "cut", budgets_per_step=2, **settings(learner))
    assert (tmp_path / "cut/checkpoints/last.safetensors").exists()
    assert not (tmp_path / "cut/model.safetensors").exists()
    unirex.fit(method, DATA, out=tmp_path / "cut", resume=True, budgets_per_step=2, **settings(learner))
    assert same_weights(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert (tmp_path / "whole/metrics.csv").read_text() == (tmp_path / "cut/metrics.csv").read_text()


@pytest.mark.parametrize("training", [{"accumulate": 2}, {"gold_fraction": 50}])
def test_a_run_goes_on_inside_an_epoch_as_if_it_had_never_stopped(learner, tmp_path, monkeypatch, training):
    tried = settings(learner, epochs=2, batch_size=8, **training) | {"budgets_per_step": 2}
    unirex.fit("slm-fp", DATA, out=tmp_path / "whole", **tried)
    monkeypatch.setattr(training_epochs, "CHECKPOINT_EVERY", 0.0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 5)  # of an epoch of 6 steps
        unirex.fit("slm-fp", DATA, out=tmp_path / "cut", **tried)
    left = count_steps(monkeypatch)
    unirex.fit("slm-fp", DATA, out=tmp_path / "cut", resume=True, **tried)
    assert len(left) == 12 - 4
    assert same_weights(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert (tmp_path / "whole/metrics.csv").read_text() == (tmp_path / "cut/metrics.csv").read_text()


def test_other_processes_run_the_part_of_an_epoch_again(learner, tmp_path, monkeypatch, capsys):
    tried = settings(learner, epochs=2) | {"progress": True}
    unirex.fit("vanilla", DATA, out=tmp_path / "whole", **tried)
    for cut, place in {2: "from the start", 5: "from the end of epoch 1"}.items():  # epochs of 3 steps
        out = tmp_path / str(cut)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(training_epochs, "CHECKPOINT_EVERY", 0.0)
            patch.setattr(training_epochs, "trained_by", lambda _: "2 processes on cpu")
            interrupt_at(patch, cut)
            unirex.fit("vanilla", DATA, out=out, **tried)
        with monkeypatch.context() as patch:
            left = count_steps(patch)
            unirex.fit("vanilla", DATA, out=out, resume=True, **tried)
        assert len(left) == 6 - 3 * (cut > 3)
        part = f"epoch {1 + (cut > 3)}"
        said = f"inside {part}, by 2 processes on cpu; 1 process on cpu cannot go on there, but {place}: "
        assert f"{said}the part of {part} is run again" in capsys.readouterr().err
        assert same_weights(weights(tmp_path / "whole"), weights(out))
        assert (tmp_path / "whole/metrics.csv").read_text() == (out / "metrics.csv").read_text()


def test_an_epoch_that_was_killed_before_its_checkpoint_leaves_no_weights_behind(
    learner, tmp_path, monkeypatch
):
    """Other processes may do worse in it: then the best are those of the epoch before."""
    saved, ended = training_epochs.Epochs._checkpoint, training_epochs.Epochs.on_train_epoch_end

    def killed(epochs, trainer, name):
        if trainer.current_epoch:
            raise KeyboardInterrupt
        saved(epochs, trainer, name)

    def worse(epochs, *arguments):
        epochs.best = 1000.0
        ended(epochs, *arguments)

    out, tried = tmp_path / "run", settings(learner, epochs=2)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training_epochs.Epochs, "_checkpoint", killed)
        unirex.fit("vanilla", DATA, out=out, **tried)
    first, second = (load_state(out / training_epochs.BEST.format(number)) for number in (1, 2))
    assert not same_weights(first, second)
    monkeypatch.setattr(training_epochs.Epochs, "on_train_epoch_end", worse)
    unirex.fit("vanilla", DATA, out=out, resume=True, **tried)
    assert same_weights(first, weights(out))


@pytest.mark.parametrize(
    ("ended", "part", "chosen"),
    [
        (None, None, None),
        (2, None, "last"),
        (2, 2, "inside"),
        (None, 0, "inside"),
        (2, 1, "last"),  # of the epoch that has ended since: a kill came before it was removed
    ],
)
def test_the_newest_checkpoint_is_taken(tmp_path, ended, part, chosen):
    trainer = SimpleNamespace(world_size=1, strategy=SimpleNamespace(root_device=torch.device("cpu")))
    for name, rows in {training_epochs.LAST: ended, training_epochs.INSIDE: part}.items():
        if rows is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            state = {"rows": [{}] * rows, "inside": {"by": training_epochs.trained_by(trainer)}}
            save_state(tmp_path / name, {"callbacks": {"Epochs": state}, "weights": torch.ones(2)})
    found, said = training_epochs.Epochs(None, tmp_path, Config(), None).resumable(trainer)
    assert said == "" and (found and found.stem) == chosen


def test_every_process_finds_its_own_random_state_among_those_of_all():
    cpu = torch.device("cpu")
    (first,), _, (second,) = (
        training_epochs.random_states(cpu),
        torch.rand(3),
        training_epochs.random_states(cpu),
    )
    drawn = torch.rand(3)
    training_epochs.set_random_states([torch.stack([first, second])[1]], cpu)
    assert torch.rand(3).equal(drawn)


@pytest.mark.parametrize("cut", [4, 5])
def test_patience_is_remembered_over_an_interruption(hopeless, tmp_path, monkeypatch, cut):
    tried, whole = hopeless
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, cut)  # in the second epoch, the last that patience allows
        unirex.fit("vanilla", DATA, out=tmp_path / "cut", **tried)
    unirex.fit("vanilla", DATA, out=tmp_path / "cut", resume=True, **tried)
    assert (whole / "metrics.csv").read_text() == (tmp_path / "cut/metrics.csv").read_text()


def test_a_kill_between_the_last_epoch_and_the_end_trains_no_further(hopeless, tmp_path, monkeypatch):
    tried, whole = hopeless
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(unirex.System, "save_pretrained", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        unirex.fit("vanilla", DATA, out=tmp_path / "cut", **tried)
    unirex.fit("vanilla", DATA, out=tmp_path / "cut", resume=True, **tried)
    assert same_weights(weights(whole), weights(tmp_path / "cut"))
    assert (whole / "metrics.csv").read_text() == (tmp_path / "cut/metrics.csv").read_text()


def test_a_run_stopped_before_its_first_epoch_ends_starts_over(learner, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 2)
        unirex.fit("slm-p", DATA, out=tmp_path / "run", **settings(learner))
    unirex.fit("slm-p", DATA, out=tmp_path / "run", resume=True, **settings(learner))
    assert (tmp_path / "run/model.safetensors").exists()


def test_the_run_folder_holds_what_was_done(faithful):
    run = json.loads((faithful / "run.json").read_text())
    assert run["finished"] and run["method"] == "slm-fp"
    assert run["versions"]["torch"] == torch.__version__ and run["python"]
    rows = list(csv.DictReader((faithful / "metrics.csv").open()))
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    terms = {"task", "comprehensiveness", "sufficiency", "plausibility"}
    assert {"dev", "loss", *(f"loss/{name}" for name in terms)} < set(rows[0])
    assert not (faithful / "checkpoints").exists()
    assert not [file for file in faithful.iterdir() if file.name.startswith(".")]


def test_the_resolved_settings_train_the_same_system_again(faithful, tmp_path):
    unirex.fit("slm-fp", DATA, out=tmp_path / "two", config=faithful / "settings.yaml", progress=False)
    assert same_weights(weights(faithful), weights(tmp_path / "two"))


def test_settings_of_another_method_are_refused(brief):
    with pytest.raises(UserError, match="for method 'vanilla', not 'slm-fp'"):
        unirex.fit("slm-fp", DATA, config=brief / "settings.yaml")


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "binary_f1"])
def test_the_dev_score_is_the_metric_asked_for(learner, tmp_path, metric):
    unirex.fit("vanilla", DATA, out=tmp_path / "run", **settings(learner, epochs=1, metric=metric))
    row = next(csv.DictReader((tmp_path / "run/metrics.csv").open()))
    found = unirex.evaluate(unirex.load(tmp_path / "run"), DATA["dev"]).metrics[metric]
    assert float(row["dev"]) == pytest.approx(100 * found, abs=1e-3)


def test_truncation_is_said(learner, caplog):
    unirex.fit("vanilla", DATA, max_length=6, **settings(learner, epochs=1))
    assert "longer than 6 tokens" in caplog.text


def test_a_used_folder_is_left_alone(learner, brief, tmp_path):
    before = weights(brief)
    with pytest.raises(UserError, match="already holds a run"):
        unirex.fit("vanilla", DATA, out=brief, **settings(learner, epochs=1))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("do not touch")
    with pytest.raises(UserError, match="already in use"):
        unirex.fit("vanilla", DATA, out=tmp_path / "mine", **settings(learner, epochs=1))
    assert same_weights(before, weights(brief))
    assert (tmp_path / "mine/thesis.txt").read_text() == "do not touch"


def test_two_trainings_into_one_folder_are_refused(learner, tmp_path):
    with locked(tmp_path), pytest.raises(UserError, match="is working there; wait for it, or stop it"):
        unirex.fit("vanilla", DATA, out=tmp_path, **settings(learner, epochs=1))
    assert not list(tmp_path.iterdir())


def test_a_kill_before_the_run_was_noted_blocks_nothing(learner, brief, tmp_path):
    (tmp_path / "settings.yaml").write_text((brief / "settings.yaml").read_text())
    (tmp_path / f".run.json{DRAFT}x.json").write_text("{")
    unirex.fit("vanilla", DATA, out=tmp_path, **settings(learner, epochs=1))
    assert same_weights(weights(tmp_path), weights(brief)) and not list(tmp_path.glob(".*"))


def test_saving_over_another_system_never_leaves_a_mixture(brief, faithful, tmp_path, monkeypatch):
    old, new = unirex.load(faithful), unirex.load(brief)
    old.save_pretrained(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk"):
        moved = []

        def move(source, target):
            if moved:
                raise OSError("the disk is full")
            moved.append(shutil.copy(source, target))

        patch.setattr("unirex.system.shutil.move", move)
        new.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="not a unirex system"):
        unirex.load(tmp_path)
    new.save_pretrained(tmp_path)
    assert same_weights(unirex.load(tmp_path).model.state_dict(), new.model.state_dict())
    (tmp_path / "model.safetensors").write_bytes((faithful / "model.safetensors").read_bytes())
    with pytest.raises(UserError, match="not as it was saved"):
        unirex.load(tmp_path)


def test_resuming_a_finished_run_just_loads_it(learner, brief):
    before = (brief / "model.safetensors").stat().st_mtime_ns
    again = unirex.fit("vanilla", DATA, out=brief, resume=True, **settings(learner, epochs=1))
    assert again.explain("a good film").label in ("neg", "pos")
    assert (brief / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("method", "data", "training", "said"),
    [
        ("vanilla", DATA, {"epochs": 2}, "begun with training.epochs = 1, not 2"),
        ("aa-f", DATA, {"epochs": 1}, "begun with method 'vanilla'"),
        ("vanilla", planted((48, 16, 16), seed=5), {"epochs": 1}, "other data"),
    ],
)
def test_a_run_is_resumed_unchanged_or_not_at_all(learner, brief, method, data, training, said):
    with pytest.raises(UserError, match=said):
        unirex.fit(method, data, out=brief, resume=True, **settings(learner, **training))


def test_patience_ends_training(hopeless):
    assert len(list(csv.DictReader((hopeless[1] / "metrics.csv").open()))) == 2


def test_training_says_what_it_does_how_its_epochs_went_and_why_it_ended(learner, capsys):
    tried = settings(learner, epochs=3, patience=1, learning_rate=1e-9) | {"progress": True}
    unirex.fit("vanilla", DATA, **tried)
    plan, *epochs, end = [line for line in capsys.readouterr().err.splitlines() if " steps, " not in line][:4]
    said, _, memory = plan.rpartition("; about ")
    assert said == (
        "training on 48 texts: 9 steps in 3 epochs; "
        "it ends early if dev accuracy (16 texts) is no better for 1 epoch"
    )
    assert re.fullmatch(r"\d+\.\d GB of memory", memory)
    assert [line.partition(" dev")[0] for line in epochs] == ["epoch 1/3:", "epoch 2/3:"]
    score = epochs[1].split()[3]
    assert end == (
        "training ended after epoch 2 of 3: dev accuracy was no better for 1 epoch; "
        f"kept epoch 2, with the best dev accuracy: {score}"
    )


def test_patience_counts_from_when_all_objectives_have_begun(learner, tmp_path):
    late = {"sufficiency": {"warmup": 0.4}}  # of 9 epochs: the fifth is the first with all of it
    tried = settings(learner, epochs=9, patience=1, learning_rate=1e-9)
    unirex.fit("slm-fp", DATA, out=tmp_path / "run", objectives=late, **tried)
    assert len(list(csv.DictReader((tmp_path / "run/metrics.csv").open()))) == 6


def test_an_epoch_before_all_objectives_had_begun_is_not_the_best(learner, tmp_path, monkeypatch):
    """A higher score before the warm-up ends changes nothing: the last epoch is kept either way."""
    for name, scores in {"early": [0.9, 0.8, 0.5], "last": [0.5, 0.6, 0.7]}.items():
        turn = iter(scores)
        monkeypatch.setattr(performance, "accuracy", lambda *_, turn=turn, **__: next(turn))
        late = {"sufficiency": {"warmup": 0.5}}
        unirex.fit("slm-fp", DATA, out=tmp_path / name, objectives=late, **settings(learner))
    assert same_weights(weights(tmp_path / "early"), weights(tmp_path / "last"))


@pytest.mark.parametrize(
    "training",
    [
        {"clip": 0.01},
        {"accumulate": 2},
        {"optimizer": "unirex"},
        {"dropout": False},
        {"precision": "bf16-mixed"},
    ],
)
def test_training_options_change_the_outcome(learner, brief, tmp_path, training):
    unirex.fit("vanilla", DATA, out=tmp_path / "run", **settings(learner, epochs=1, **training))
    plain, other = (weights(folder)["task.head.weight"] for folder in (brief, tmp_path / "run"))
    assert not plain.equal(other) and other.isfinite().all()
    if "precision" in training:
        losses = [
            float(next(csv.DictReader((folder / "metrics.csv").open()))["loss"])
            for folder in (brief, tmp_path / "run")
        ]
        assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_batches_for_a_gpu_are_pinned(learner, monkeypatch, device):
    """With a stand-in for the GPU: the training ends before anything would be moved there."""
    build, asked = training_loop.build_trainer, []

    def on_device(*args):
        trainer = build(*args)
        trainer.strategy._root_device = torch.device(device)
        return trainer

    def stop(trainer, learner, *loaders):
        asked.extend(loader.pin_memory for loader in loaders[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(training_loop, "build_trainer", on_device)
    monkeypatch.setattr(training_loop, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        unirex.fit("vanilla", DATA, **settings(learner, epochs=1))
    assert asked == [device == "cuda"] * 2


def test_checkpoints_hold_no_pickle(learner, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "load", lambda *a, **k: pytest.fail("torch.load was called"))
    monkeypatch.setattr(torch, "save", lambda *a, **k: pytest.fail("torch.save was called"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 5)
        unirex.fit("slm-fp", DATA, out=tmp_path / "run", **settings(learner))
    state = load_state(tmp_path / "run/checkpoints/last.safetensors")
    assert state["epoch"] == 0 and state["optimizer_states"]
    unirex.fit("slm-fp", DATA, out=tmp_path / "run", resume=True, **settings(learner))


def test_a_damaged_checkpoint_is_said_and_nothing_is_lost(learner, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 5)
        unirex.fit("slm-fp", DATA, out=tmp_path / "run", **settings(learner))
    (tmp_path / "run/checkpoints/last.safetensors").write_bytes(b"\x80\x04not a checkpoint")
    with pytest.raises(UserError, match="not a checkpoint"):
        unirex.fit("slm-fp", DATA, out=tmp_path / "run", resume=True, **settings(learner))


def test_dropout_is_on_in_every_training_step_and_off_in_validation(learner, monkeypatch):
    modes = []
    forward = RationaleModel.forward
    monkeypatch.setattr(
        RationaleModel, "forward", lambda self, **t: modes.append(self.training) or forward(self, **t)
    )
    system = unirex.fit("slm-fp", DATA, **settings(learner, epochs=2))
    assert modes == [True] * 6  # the released code lost it after the first batch
    assert not system.model.training


@pytest.mark.parametrize("precision", get_args(get_type_hints(Training)["precision"]))
def test_every_precision_ends_with_a_system_that_can_be_used(learner, tmp_path, precision):
    tried = settings(learner, epochs=1, precision=precision)
    try:
        system = unirex.fit("slm-fp", DATA, out=tmp_path / "run", **tried)
    except UserError as error:
        assert "training: " in str(error) and not (tmp_path / "run").exists()  # refused by this hardware
        return
    assert {weights.dtype for weights in system.model.parameters()} == {torch.float32}
    assert system.explain("a fine film").spans
    assert unirex.load(tmp_path / "run").explain("a fine film") == system.explain("a fine film")


def test_a_training_that_diverges_is_no_success(learner, tmp_path, monkeypatch, capsys):
    steps, forward = [], RationaleModel.forward

    def spoilt(self, **batch):
        output = forward(self, **batch)
        steps.append(batch)
        if len(steps) == 5:  # in the second epoch of three steps
            output.loss = output.loss * float("nan")
        return output

    monkeypatch.setattr(RationaleModel, "forward", spoilt)
    with pytest.raises(UserError, match=r"diverged in epoch 2: .* epoch 1, the best before, is saved"):
        unirex.fit("vanilla", DATA, out=tmp_path / "late", **settings(learner))
    assert unirex.load(tmp_path / "late").explain("a fine film").label in DATA.info.labels
    assert not json.loads((tmp_path / "late/run.json").read_text())["finished"]
    with pytest.raises(UserError, match=r"diverged in epoch 1: .* nothing was saved"):
        unirex.fit("vanilla", DATA, out=tmp_path / "soon", **settings(learner, learning_rate=1e30))
    assert not (tmp_path / "soon/config.json").exists()


@pytest.mark.parametrize("name", ["run.json", "settings.yaml", "checkpoints/last.safetensors"])
@pytest.mark.parametrize("content", [b"", b"[3]", b'{"data": 5}', b"{" * 9999, b"\xff\0"])
def test_a_damaged_run_is_an_error_in_a_line(interrupted, learner, tmp_path, name, content):
    shutil.copytree(interrupted, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(str(tmp_path))) as said:
        unirex.fit("vanilla", DATA, out=tmp_path, resume=True, **settings(learner))
    assert "\n" not in str(said.value)


def test_a_flipped_bit_in_a_checkpoint_is_noticed(interrupted, learner, tmp_path):
    shutil.copytree(interrupted, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "checkpoints/last.safetensors"
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"last\.safetensors: damaged"):
        unirex.fit("vanilla", DATA, out=tmp_path, resume=True, **settings(learner))


def test_a_full_disk_is_an_error_in_a_line(learner, tmp_path):
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))
    try:
        with pytest.raises(UserError, match=r"cannot be written .*too large"):
            unirex.fit("vanilla", DATA, out=tmp_path / "run", **settings(learner, epochs=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        signal.signal(signal.SIGXFSZ, before)
    unirex.fit("vanilla", DATA, out=tmp_path / "run", resume=True, **settings(learner, epochs=1))
