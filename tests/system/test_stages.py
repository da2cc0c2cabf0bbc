"""Stages are made once: what was done with the same settings and data is loaded, whichever run it was for."""

import json
import shutil
from dataclasses import replace

import pytest
from safetensors.torch import load_file, save_file

import unirex
from planted import interrupt_at, planted, same_weights
from unirex.cli import main
from unirex.data.example import Splits
from unirex.errors import UserError

DATA = planted((24, 8, 8))
STEPS = 6  # of every training: 24 texts, 8 at a time, twice
STAGES = {  # what is kept of each method, in the order it is made
    ("fresh", "original"): ("classifier", "marks", "tagger", "rationales"),
    ("fresh", "unirex"): ("classifier", "rationales"),
    ("fresh-p", "original"): ("tagger", "rationales"),
    ("l2e", "original"): ("classifier", "lessons"),
    ("l2e", "unirex"): ("classifier", "lessons"),
}
EVERY = set(STAGES["fresh", "original"])


def fit(learner, out, method="fresh", data=DATA, epochs=2, variant="original", **settings):
    """A short run, in stages."""
    return unirex.fit(
        method,
        data,
        out=out,
        encoder=str(learner),
        pooling="mean",
        training={"epochs": epochs, "learning_rate": 4e-3, "batch_size": 8},
        **{method.removesuffix("-p"): {"variant": variant}},
        **settings,
    )


def kept(folder):
    """The stages in a folder: name with key, and when its file was written."""
    found = {}
    for path in folder.iterdir():
        file = path / "model.safetensors" if path.is_dir() else path
        found[path.name] = file.stat().st_mtime_ns
    return found


def names(folder):
    return sorted(name.rpartition("-")[0] for name in kept(folder))


def weights(system):
    return {name: value.clone() for name, value in system.model.state_dict().items()}


@pytest.fixture(scope="module")
def finished(learner, tmp_path_factory):
    """`finished(method, variant)`: the folder of a run that was never interrupted, made once."""
    made = {}

    def run(method="fresh", variant="original"):
        if (method, variant) not in made:
            out = tmp_path_factory.mktemp("finished") / f"{method}-{variant}"
            fit(learner, out, method, variant=variant, progress=False)
            made[method, variant] = out
        return made[method, variant]

    return run


@pytest.fixture
def stages(finished, tmp_path):
    """A copy of the stages of a FRESH run, to do anything with."""
    shutil.copytree(finished() / "stages", tmp_path / "stages")
    return tmp_path / "stages"


@pytest.mark.parametrize(("method", "variant"), STAGES)
def test_each_stage_is_kept_under_its_name(finished, method, variant):
    out = finished(method, variant)
    scores = [name for name in STAGES[method, variant] if name in ("rationales", "lessons")]
    parts = 2 if method.startswith("fresh") else 1  # train and dev; a student learns from train alone
    expected = [*STAGES[method, variant], *scores * (parts - 1)]
    assert names(out / "stages") == sorted(expected)
    for folder in (out, *(path for path in (out / "stages").iterdir() if path.is_dir())):
        assert json.loads((folder / "run.json").read_text())["finished"]
        assert not (folder / "checkpoints").exists() and (folder / "metrics.csv").is_file()


def test_a_second_run_loads_what_the_first_made(learner, finished, stages, tmp_path, capsys):
    before = kept(stages)
    second = fit(learner, tmp_path / "second", stages=stages)
    said = capsys.readouterr().err
    assert kept(stages) == before, "nothing was written again"
    assert not (tmp_path / "second/stages").exists()
    for stage in ("classifier", "tagger"):
        assert f"stage {stage}: trained before, loaded from {stages}" in said
    assert f"stage marks: marked before, read from {stages}" in said
    assert said.count("stage rationales: scored before, read from") == 2 and said.count(": training in") == 1
    assert same_weights(weights(second), load_file(finished() / "model.safetensors"))


def test_without_a_run_folder_stages_can_be_kept_too(learner, stages, tmp_path):
    before = kept(stages)
    fit(learner, None, stages=stages, progress=False)
    assert kept(stages) == before


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ({"seed": 1}, EVERY),
        ({"epochs": 1}, EVERY),
        ({"max_length": 20}, EVERY),
        # The tagger learns spans instead of single words, from the same classifier.
        ({"rationale_selector": "best-span", "budgets": [50]}, EVERY - {"classifier"}),
        # Only the predictor hears of it.
        ({"removal": "attention_mask"}, set()),
    ],
    ids=["seed", "epochs", "max_length", "selection", "removal"],
)
def test_what_changed_is_made_again_and_no_more(learner, stages, tmp_path, changed, again):
    before = kept(stages)
    fit(learner, tmp_path / "run", stages=stages, progress=False, **changed)
    after = kept(stages)
    assert {name: after[name] for name in before} == before, "what was there is still there"
    assert {name.rpartition("-")[0] for name in after.keys() - before.keys()} == again


def test_a_stage_goes_by_the_encoder_not_by_its_place(learner, stages, tmp_path):
    moved = shutil.copytree(learner, tmp_path / "moved")
    before = kept(stages)
    fit(moved, tmp_path / "run", stages=stages, progress=False)
    assert kept(stages).keys() == before.keys()
    weights = load_file(moved / "model.safetensors")
    save_file(
        {name: value + 0.01 for name, value in weights.items()}, moved / "model.safetensors", {"format": "pt"}
    )
    fit(moved, tmp_path / "other", stages=stages, progress=False)
    new = {name.rpartition("-")[0] for name in kept(stages).keys() - before.keys()}
    assert {"classifier", "tagger"} <= new


def test_another_text_is_another_stage(learner, stages, tmp_path):
    first, *others = DATA["train"]
    changed = replace(first, segments=(f"{first.segments[0]} film",))
    data = Splits(DATA.info, {**DATA, "train": (changed, *others)})
    before = kept(stages)
    fit(learner, tmp_path / "run", data=data, stages=stages, progress=False)
    assert {name.rpartition("-")[0] for name in kept(stages).keys() - before.keys()} == EVERY


def test_methods_share_the_classifier(learner, finished, stages, tmp_path, capsys):
    before = kept(stages)
    fit(learner, tmp_path / "l2e", "l2e", stages=stages)
    assert "stage classifier: trained before" in capsys.readouterr().err
    assert {name.rpartition("-")[0] for name in kept(stages).keys() - before.keys()} == {"lessons"}
    student, (folder,) = unirex.load(tmp_path / "l2e"), list(stages.glob("classifier-*"))
    taught = unirex.load(folder)
    assert same_weights(student.model.task.state_dict(), taught.model.task.state_dict()), (
        "the one it explains"
    )
    assert same_weights(weights(student), load_file(finished("l2e") / "model.safetensors"))


def test_force_does_everything_anew(learner, finished, tmp_path):
    out = shutil.copytree(finished(), tmp_path / "run")
    first = load_file(out / "model.safetensors")
    before, model = kept(out / "stages"), (out / "model.safetensors").stat().st_mtime_ns
    (out / "evaluation").mkdir()
    (out / "evaluation/old.txt").write_text("of the run before")
    with pytest.raises(UserError, match="--force replaces it"):
        fit(learner, out, progress=False)
    again = weights(fit(learner, out, force=True, progress=False))
    after = kept(out / "stages")
    assert after.keys() == before.keys() and all(after[name] > before[name] for name in before)
    assert (out / "model.safetensors").stat().st_mtime_ns > model and not (out / "evaluation").exists()
    assert same_weights(first, again)


def test_force_replaces_a_run_by_another(learner, finished, tmp_path):
    shutil.copytree(finished("l2e"), tmp_path / "run")
    unirex.fit(
        "vanilla",
        DATA,
        out=tmp_path / "run",
        force=True,
        encoder=str(learner),
        training={"epochs": 1},
        progress=False,
    )
    assert unirex.load(tmp_path / "run").model.config.method == "vanilla"


def test_force_touches_nothing_that_is_no_run(learner, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="already in use"):
        fit(learner, tmp_path / "mine", force=True, progress=False)
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("method", "variant", "training"),
    [
        *(("fresh", "original", number) for number in range(3)),
        ("fresh-p", "original", 1),
        ("l2e", "unirex", 1),
    ],
)
def test_a_run_interrupted_in_any_stage_is_resumed(
    learner, finished, tmp_path, monkeypatch, capsys, method, variant, training
):
    out = tmp_path / "cut"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, training * STEPS + 5)  # in its second epoch
        fit(learner, out, method, variant=variant, progress=False)
    assert not (out / "model.safetensors").exists()
    with pytest.raises(UserError, match="--resume goes on with it"):
        fit(learner, out, method, variant=variant, progress=False)
    capsys.readouterr()
    resumed = fit(learner, out, method, variant=variant, resume=True)
    said = capsys.readouterr().err
    assert said.count(": trained before, loaded from") == training
    assert said.count("epoch 1/2") == (len(trainings(method, variant)) - training - 1), "none twice"
    whole = finished(method, variant)
    assert same_weights(weights(resumed), load_file(whole / "model.safetensors"))
    assert (out / "metrics.csv").read_text() == (whole / "metrics.csv").read_text()
    assert names(out / "stages") == names(whole / "stages")


def trainings(method, variant):
    """Stages that are trained, the last one included."""
    return [*(name for name in STAGES[method, variant] if name in ("classifier", "tagger")), "last"]


def test_a_finished_run_is_loaded(learner, finished, capsys):
    before = kept(finished() / "stages")
    again = fit(learner, finished(), resume=True)
    assert capsys.readouterr().err == "" and kept(finished() / "stages") == before
    assert same_weights(weights(again), load_file(finished() / "model.safetensors"))


def test_a_damaged_file_is_said_and_force_mends_it(learner, stages, tmp_path):
    paths = [next(stages.glob(f"{stage}-*")) for stage in ("rationales", "marks")]
    for path in paths:
        whole = path.read_bytes()
        for number, damage in enumerate((b"", b"\x80\x04neither scores nor marks")):
            path.write_bytes(damage)
            with pytest.raises(UserError, match=f"Delete .*{path.name}, or --force makes all stages anew"):
                fit(learner, tmp_path / f"{path.stem}-{number}", stages=stages, progress=False)
        path.write_bytes(whole)
    for path in paths:
        path.write_bytes(b"")
    fit(learner, tmp_path / "run", stages=stages, force=True, progress=False)
    assert all(path.stat().st_size > 100 for path in paths)


@pytest.mark.parametrize("file", ["model.safetensors", "run.json", "config.json"])
def test_a_damaged_stage_is_said(learner, stages, tmp_path, file):
    (next(stages.glob("classifier-*")) / file).write_bytes(b"half a fil")
    with pytest.raises(UserError, match=r"Delete .*classifier-.*, or --force makes all stages anew"):
        fit(learner, tmp_path / "run", stages=stages, progress=False)


def test_a_file_is_no_place_for_stages_and_costs_no_run(learner, finished, tmp_path):
    (tmp_path / "file").write_text("mine")
    run = shutil.copytree(finished(), tmp_path / "run")
    with pytest.raises(UserError, match="is a file; give a folder"):
        fit(learner, run, stages=tmp_path / "file", force=True, progress=False)
    assert (run / "model.safetensors").is_file()


def test_resume_and_force_exclude_each_other(learner, tmp_path):
    with pytest.raises(UserError, match="resume goes on with a run, force begins it anew"):
        fit(learner, tmp_path / "run", resume=True, force=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["fresh", "l2e"])
def test_stages_in_half_precision(learner, method):
    training = {"epochs": 1, "precision": "bf16-true"}
    system = unirex.fit(method, DATA, encoder=str(learner), training=training, progress=False)
    assert system.explain("the film is good").spans


def test_several_devices_are_refused_before_anything_is_trained(learner, tmp_path):
    with pytest.raises(UserError, match="on one device"):
        unirex.fit(
            "l2e",
            DATA,
            out=tmp_path / "run",
            encoder=str(learner),
            training={"devices": 2, "accelerator": "cpu"},
        )


def test_the_command_line_forces_and_shares(learner, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for split, examples in DATA.items():
        rows = [{"text": one.segments[0], "label": one.label} for one in examples]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["train", "--data", ".", "--encoder", str(learner), "--training.epochs", "1"]
    shared = [*command, "--stages", "stages", "--training.batch_size", "8"]
    assert main([*shared, "--method", "l2e", "--out", "runs/l2e"]) == 0
    before = kept(tmp_path / "stages")
    capsys.readouterr()
    assert main([*shared, "--method", "l2e", "--out", "runs/l2e", "--force"]) == 0
    said = capsys.readouterr().err
    after = kept(tmp_path / "stages")
    assert "stage classifier: training in" in said and "trained before" not in said
    assert after.keys() == before.keys() and all(after[name] > before[name] for name in before)
    assert main([*shared, "--method", "fresh", "--out", "runs/fresh", "--fresh.variant", "unirex"]) == 0
    assert "stage classifier: trained before, loaded from stages" in capsys.readouterr().err
    assert main([*shared, "--method", "l2e", "--out", "runs/l2e", "--resume", "--force"]) != 0
    assert "choose one" in capsys.readouterr().err
