"""Training with few gold rationales: who keeps them is recorded, nobody else shows any, whoever trains."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

import unirex
from planted import interrupt_at, planted, planted_choices, same_weights
from unirex.data.cache import fingerprint
from unirex.encoding.gold import keep_gold
from unirex.errors import UserError
from unirex.modeling import RationaleModel
from unirex.training import train

DATA = planted((60, 12, 12))
IDS = [example.id for example in DATA["train"]]


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def settings(learner, seed=0, **training):
    base = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 8, "gold_fraction": 10}
    base = {"encoder": str(learner), "pooling": "mean", "training": base | training, "progress": False}
    return base | {"seed": seed, "budgets_per_step": 1}


def fit(learner, data=DATA, method="slm-fp", **options):
    out = {"out": options.pop("out")} if "out" in options else {}
    resume = options.pop("resume", False)
    return unirex.fit(method, data, resume=resume, **out, **settings(learner, **options))


def weights(folder):
    return load_file(folder / "model.safetensors")


@pytest.fixture
def seen(monkeypatch):
    """What training steps are given: of each, whether its examples have gold, and their gold tokens."""
    steps, forward = [], RationaleModel.forward

    def noted(self, **tensors):
        steps.append(tensors)
        return forward(self, **tensors)

    monkeypatch.setattr(RationaleModel, "forward", noted)
    return steps


@pytest.fixture
def sampled(monkeypatch):
    """The batches that trainings draw, one list a training."""
    made, build = [], train.training_batches

    def noted(*arguments, **options):
        made.append(build(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(train, "training_batches", noted)
    return made


def test_the_run_folder_records_who_kept_gold(learner, tmp_path):
    fit(learner, out=tmp_path / "run", epochs=1, gold_seed=7)
    record = json.loads((tmp_path / "run/gold.json").read_text())
    assert record == {
        "gold_fraction": 10,
        "gold_seed": 7,
        "examples": 60,
        "kept": 6,
        "kept_ids": list(keep_gold(DATA["train"], 10, 7).ids),
    }
    assert set(record["kept_ids"]) < set(IDS)


def test_all_gold_needs_no_record(learner, tmp_path):
    fit(learner, out=tmp_path / "run", epochs=1, gold_fraction=100)
    assert not (tmp_path / "run/gold.json").exists()


def test_only_kept_examples_reach_plausibility(learner, seen):
    fit(learner, epochs=2)
    pool = keep_gold(DATA["train"], 10, 0)
    steps = -(-54 // 4)  # others, of which a batch of 8 has 4
    assert len(seen) == 2 * steps
    for step in seen:
        gold, marked = step["has_rationale"], step["rationale"].any(-1)
        assert int(gold.sum()) == 4 and torch.equal(gold, marked)
        assert not step["rationale"][~gold].any()
    texts = {tokens_of(learner, DATA["train"][number]) for number in pool.kept}
    given = {
        row
        for step in seen
        for row, gold in zip(rows_of(step), step["has_rationale"].tolist(), strict=True)
        if gold
    }
    assert given <= texts
    without = Counter(
        row
        for step in seen
        for row, gold in zip(rows_of(step), step["has_rationale"].tolist(), strict=True)
        if not gold
    )
    assert without == Counter(2 * [tokens_of(learner, DATA["train"][number]) for number in pool.others])


def tokens_of(learner, example):
    from transformers import AutoTokenizer

    return tuple(AutoTokenizer.from_pretrained(learner)(example.text)["input_ids"])


def rows_of(step):
    return [
        tuple(ids[mask].tolist()) for ids, mask in zip(step["input_ids"], step["attention_mask"], strict=True)
    ]


def test_hidden_gold_does_not_matter(learner, tmp_path):
    """The gold of the others might as well not exist: the weights are the same without it."""
    pool = set(keep_gold(DATA["train"], 10, 0).kept)
    bare = [
        example if number in pool else replace(example, rationale=(((0, 1),),))
        for number, example in enumerate(DATA["train"])
    ]
    other = replace(DATA, parts={**DATA.parts, "train": tuple(bare)})
    one, two = (fit(learner, data, epochs=1).model.state_dict() for data in (DATA, other))
    assert same_weights(one, two)


def test_a_cache_of_all_gold_is_not_used(learner, tmp_path, monkeypatch, seen):
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path))
    known = replace(DATA, digest=fingerprint(DATA))
    fit(learner, known, epochs=1, gold_fraction=100)
    assert all(step["has_rationale"].all() for step in seen)
    assert list(tmp_path.rglob("*.arrow"))
    del seen[:]
    limited = fit(learner, known, epochs=1)
    assert all(int(step["has_rationale"].sum()) == 4 for step in seen)
    del seen[:]
    fit(learner, known, epochs=1, gold_fraction=100)
    assert all(step["has_rationale"].all() for step in seen)
    monkeypatch.setenv("UNIREX_CACHE", "off")
    assert same_weights(limited.model.state_dict(), fit(learner, DATA, epochs=1).model.state_dict())


def test_choices_keep_or_lose_gold_as_a_whole(learner, seen):
    data = planted_choices((24, 6, 6))
    fit(learner, data, epochs=1, gold_fraction=25)
    for step in seen:
        gold = step["has_rationale"]
        for number in range(int(step["example"].max()) + 1):
            assert len(set(gold[step["example"] == number].tolist())) == 1
        kept = {int(number) for number in step["example"][gold]}
        assert len(kept) == 4


@pytest.mark.parametrize("method", ["slm-fp", "aa-fp"])
def test_a_resumed_run_equals_an_uninterrupted_one(learner, tmp_path, monkeypatch, method):
    fit(learner, method=method, out=tmp_path / "whole", gold_fraction=20, gold_seed=3)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, 14)  # in the second epoch: 48 others, 4 to a batch, make 12 steps an epoch
        fit(learner, method=method, out=tmp_path / "cut", gold_fraction=20, gold_seed=3)
    before = (tmp_path / "cut/gold.json").read_text()
    fit(learner, method=method, out=tmp_path / "cut", gold_fraction=20, gold_seed=3, resume=True)
    assert same_weights(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    for name in ("metrics.csv", "gold.json"):
        assert (tmp_path / "whole" / name).read_text() == (tmp_path / "cut" / name).read_text()
    assert (tmp_path / "cut/gold.json").read_text() == before


def test_a_run_is_not_resumed_with_other_gold(learner, tmp_path):
    fit(learner, out=tmp_path / "run", epochs=1)
    for name, other in {"gold_fraction": 30, "gold_seed": 4, "gold_factor": 4}.items():
        with pytest.raises(UserError, match=rf"begun with training\.{name}"):
            fit(learner, out=tmp_path / "run", epochs=1, resume=True, **{name: other})


def test_seeds_of_gold_and_of_training_are_apart(learner, tmp_path, sampled):
    options = [
        {"seed": 0},
        {"seed": 1},
        {"seed": 0, "gold_seed": 1},
        {"seed": 1, "gold_seed": 0},
        {"seed": 0, "gold_seed": 0},
    ]
    for number, one in enumerate(options):
        fit(learner, out=tmp_path / str(number), epochs=1, **one)
    kept = [
        json.loads((tmp_path / str(number) / "gold.json").read_text())["kept_ids"]
        for number in range(len(options))
    ]
    assert kept[0] == kept[3] == kept[4] != kept[1] == kept[2]
    others = [[[i for i in batch if i not in set(one.gold)] for batch in one] for one in sampled]
    assert others[3] != others[0] == others[4], "the same pool, other batches"
    assert same_weights(weights(tmp_path / "0"), weights(tmp_path / "4"))
    assert not same_weights(weights(tmp_path / "0"), weights(tmp_path / "2"))
    assert not same_weights(weights(tmp_path / "0"), weights(tmp_path / "3"))


def test_the_schedule_counts_the_steps_that_are_taken(learner, monkeypatch):
    counted, schedule = [], train.linear_schedule
    monkeypatch.setattr(
        train, "linear_schedule", lambda *a, **k: counted.append(k["steps"]) or schedule(*a, **k)
    )
    fit(learner, epochs=3, gold_factor=4)  # 54 others, 6 to a batch: 9 steps an epoch
    assert counted == [27]


def test_methods_that_need_no_gold_train_with_little(learner):
    system = fit(learner, method="aa-f", epochs=1)
    assert system.explain("a good film").label in ("neg", "pos")


def test_more_gold_is_more_plausible(learner):
    """With enough of it the rationale is learned; a single example of 60 teaches less."""
    data = planted((120, 12, 40))
    little, much = (
        unirex.evaluate(
            fit(learner, data, method="slm-p", epochs=3, learning_rate=4e-3, gold_fraction=fraction),
            data["test"],
            draws=0,
        ).metrics["auprc"]
        for fraction in (0.5, 50)
    )
    assert much >= 0.9 and much > little + 0.1


@pytest.mark.parametrize(
    ("method", "training", "said"),
    [
        ("slm-fp", {"gold_fraction": 0}, r"training\.gold_fraction 0: .*above 0 and up to 100"),
        ("slm-fp", {"gold_fraction": -5}, r"training\.gold_fraction -5"),
        ("slm-fp", {"gold_fraction": 101}, r"training\.gold_fraction 101"),
        ("slm-fp", {"gold_fraction": "ten"}, r"gold_fraction"),
        ("slm-fp", {"gold_factor": 1}, r"training\.gold_factor 1: must be above 1"),
        ("slm-fp", {"gold_factor": 0.5}, r"training\.gold_factor 0\.5"),
        ("slm-fp", {"batch_size": 1}, r"training\.batch_size 1: .*at least 2"),
        ("slm-fp", {"gold_frction": 10}, r"did you mean 'training\.gold_fraction'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_anything_is_written(
    learner, tmp_path, method, training, said
):
    with pytest.raises(UserError, match=said):
        fit(learner, method=method, out=tmp_path / "run", **training)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("extractor", ["gold", "inverse"])
def test_an_extractor_that_shows_gold_needs_all_of_it(learner, extractor):
    with pytest.raises(UserError, match=rf"'{extractor}' needs all gold; set training.gold_fraction to 100"):
        unirex.fit("vanilla", DATA, extractor=extractor, **settings(learner))


SCRIPT = """
import json, os, sys
from unirex.cli import main
from unirex.modeling import RationaleModel

out, *arguments = sys.argv[1:]
seen, forward = [], RationaleModel.forward

def noted(self, **tensors):
    for ids, mask, gold in zip(tensors["input_ids"], tensors["attention_mask"], tensors["has_rationale"]):
        seen.append([ids[mask].tolist(), bool(gold)])
    return forward(self, **tensors)

RationaleModel.forward = noted
code = main(["train", *arguments])
rank = os.environ.get("LOCAL_RANK", "0")
open(f"{out}/seen-{rank}.json", "w").write(json.dumps(seen))
sys.exit(code)
"""


def test_two_processes_train_on_their_shares(learner, tmp_path):
    """By the command line: each takes as many steps, one writes, every example without gold is seen once."""
    lines = [
        {"text": e.text, "label": e.label, "rationale": e.rationale[0], "split": split, "id": e.id}
        for split, part in DATA.items()
        for e in part
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "script.py").write_text(SCRIPT)
    options = {"method": "slm-fp", "data": tmp_path / "data.jsonl", "out": tmp_path / "run"}
    options |= {"encoder": learner, "pooling": "mean"}
    options |= {"budgets_per_step": 1, "training.epochs": 1, "training.batch_size": 8}
    options |= {"training.gold_fraction": 10, "training.devices": 2, "training.accelerator": "cpu"}
    options |= {"training.strategy": "ddp"}
    command = [sys.executable, tmp_path / "script.py", tmp_path]
    command += [part for name, value in options.items() for part in (f"--{name}", value)]
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    record = json.loads((tmp_path / "run/gold.json").read_text())
    assert record["kept_ids"] == list(keep_gold(DATA["train"], 10, 0).ids)
    assert json.loads((tmp_path / "run/run.json").read_text())["finished"]
    assert unirex.load(tmp_path / "run").explain("a good film").label in ("neg", "pos")
    shares = [json.loads((tmp_path / f"seen-{rank}.json").read_text()) for rank in (0, 1)]
    steps = -(-54 // (4 * 2))
    assert [sum(gold for _, gold in share) for share in shares] == [4 * steps] * 2
    assert all(sum(not gold for _, gold in share) > 0 for share in shares)
    others = Counter(tuple(ids) for share in shares for ids, gold in share if not gold)
    assert others == Counter(
        tokens_of(learner, one) for one in DATA["train"] if one.id not in record["kept_ids"]
    )
