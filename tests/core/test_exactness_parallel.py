"""Accumulated batches and several processes: training ends where a loop over the naive reference ends.

The batches are those that training was seen to take, so that only what is made of them is looked at; that
every example has its turn is checked beside. In double precision, because Adam divides a gradient by its
size: where one is next to nothing, rounding in single precision would be a step of its own.
"""

import copy
import os
import shutil
import socket
from pathlib import Path

import naive
import pytest
import torch

from campaign.children import Child, Circumstances, check_succeeded
from planted import interrupt_at, planted
from unirex.encoding.batch import Batch
from unirex.methods import resolve
from unirex.methods.building import build_system
from unirex.modeling import RationaleModel
from unirex.models.plan import Limits
from unirex.training.epochs import INSIDE
from unirex.training.train import train

DATA = planted((28, 4, 4))
RATE, BATCH, WARMUP = 1e-2, 4, 0.5
# Under two processes: the strategy, how many batches are accumulated, and whether everything is run again to
# go backward. Sharded, `aa-fp` differentiates twice through gathered weights.
TOGETHER = {
    ("slm-fp", "ddp"): (1, True),
    ("aa-fp", "ddp"): (1, False),
    ("slm-fp", "fsdp"): (2, True),
    ("aa-fp", "fsdp"): (1, False),
}
PROMISED = 1e-5


@pytest.fixture(scope="session")
def learner(shallow_learner):
    return shallow_learner


def prepared(method, learner, **training):
    """A system before training, in double precision and without dropout, and its settings."""
    wanted = {"epochs": 1, "batch_size": BATCH, "learning_rate": RATE, "warmup": WARMUP, "dropout": False}
    settings = {"encoder": str(learner), "pooling": "mean", "training": wanted | training}
    config = resolve(method, None, settings)
    system = build_system(method, DATA, config)
    system.model.double()
    return system, config


def fitted(method, learner, folder, *, resume=False, **training):
    """The weights after training and the batches that were seen, in their order."""
    system, config = prepared(method, learner, **training)
    forward, seen = RationaleModel.forward, []

    def noted(self, **tensors):
        seen.append({name: tensor.clone() for name, tensor in tensors.items()})
        return forward(self, **tensors)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RationaleModel, "forward", noted)
        how = {"folder": Path(folder), "progress": False, "resume": resume}
        train(system.model, system.text_encoder, DATA, config, **how)
    return system.model.state_dict(), seen


def naively_fitted(method, learner, steps):
    """The weights after a plain loop; each step is the mean gradient of some batches."""
    model = prepared(method, learner)[0].model.eval()
    model.task.encoder.set_attn_implementation("eager")
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    for (batches, share), rate in zip(steps, rates(len(steps)), strict=True):
        optimizer.zero_grad()
        for tensors in batches:
            loss = naive.Naive(model, length=20).losses(Batch(**tensors))["loss"]
            (loss * share).backward()
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return start, model.state_dict()


def rates(steps):
    """The learning rate of every step: in a straight line up over the warm-up, then down to 0."""
    rising = round(steps * WARMUP)
    up = [(step + 1) / rising for step in range(rising)]
    down = [(steps - step) / (steps - rising) for step in range(rising, steps)]
    return [RATE * factor for factor in up + down]


def assert_same(found, start, expected):
    """Weights agree relative to the largest of their tensor, and what was learned is well above that."""
    assert found.keys() == expected.keys()
    for name, weights in expected.items():
        scale = max(float(weights.abs().max()), RATE)
        assert float((found[name] - weights).abs().max()) <= PROMISED * scale, name
    moved = {name: float((weights - start[name]).abs().max()) for name, weights in expected.items()}
    assert min(moved[name] for name in ("task.head.weight", NORM)) > RATE / 2


NORM = "task.encoder.embeddings.LayerNorm.weight"


def assert_each_once(batches):
    """Every training example is in exactly one of the batches."""
    texts = [
        tuple(ids[mask].tolist())
        for tensors in batches
        for ids, mask in zip(tensors["input_ids"], tensors["attention_mask"], strict=True)
    ]
    assert len(texts) == len(DATA["train"])
    assert len(set(texts)) == len({example.text for example in DATA["train"]})


@pytest.mark.parametrize("method", ["slm-fp", "aa-fp"])
def test_accumulated_batches_are_one_step(learner, tmp_path, method):
    found, seen = fitted(method, learner, tmp_path, accumulate=2)
    assert_each_once(seen)
    assert len(seen) == 7
    # The last of an odd number is a step by itself, and counts for what it is: half of one.
    steps = [(seen[first : first + 2], 1 / 2) for first in range(0, 7, 2)]
    assert_same(found, *naively_fitted(method, learner, steps))


def process(learner, folder):
    """One of two processes that train together; what it saw and ended with goes to a file."""
    rank = int(os.environ["LOCAL_RANK"])
    for (method, strategy), (accumulate, cramped) in TOGETHER.items():
        together = {"devices": 2, "accelerator": "cpu", "strategy": strategy}
        out = Path(folder) / f"{method}-{strategy}"
        out.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            if cramped:
                patch.setattr("unirex.models.plan._limits", lambda *_: Limits(chunk=24, overhead=1, saved=0))
            found, seen = fitted(method, learner, out, accumulate=accumulate, **together)
        torch.save({"weights": found, "seen": seen}, out / f"{rank}.pt")
    resumed(learner, Path(folder), rank)
    return 0


TWO_EPOCHS = {"epochs": 2, "clip": 1.0}


def resumed(learner, folder, rank):
    """Sharded: two epochs at once, and with an interruption inside the second."""
    ends = {}
    together = {"devices": 2, "accelerator": "cpu", "strategy": "fsdp", **TWO_EPOCHS}
    for name in ("whole", "cut"):
        (folder / name).mkdir(exist_ok=True)
        if name == "cut":
            with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr("unirex.training.epochs.CHECKPOINT_EVERY", 0.0)
                interrupt_at(patch, 7)  # epochs of 4 steps
                fitted("slm-fp", learner, folder / name, **together)
            if rank == 0:  # the other one waits for it
                shutil.copytree(folder / name, folder / "left")
        ends[name], seen = fitted("slm-fp", learner, folder / name, resume=name == "cut", **together)
    assert len(seen) == 2  # of the second epoch
    torch.save(ends, folder / f"resumed-{rank}.pt")


@pytest.fixture(scope="module")
def two_processes(learner, tmp_path_factory):
    """The folder in which two processes that trained together, over gloo, left what they saw."""
    folder = tmp_path_factory.mktemp("processes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "NODE_RANK": "0"}
    shared |= {"UNIREX_CACHE": "off"}
    started = [
        Child(lambda: process(learner, folder), Circumstances(shared | {"LOCAL_RANK": rank}))
        for rank in ("0", "1")
    ]
    for ended in [one.wait(600) for one in started]:
        check_succeeded(ended)
    return folder


@pytest.mark.parametrize(("method", "strategy"), TOGETHER)
def test_two_processes_take_the_mean_of_their_gradients(learner, two_processes, method, strategy):
    first, second = (torch.load(two_processes / f"{method}-{strategy}" / f"{rank}.pt") for rank in (0, 1))
    assert all(first["weights"][name].equal(second["weights"][name]) for name in first["weights"])
    accumulate, rounds = TOGETHER[method, strategy][0], 4  # of 7 batches; the first of them comes twice
    assert len(first["seen"]) == len(second["seen"]) == rounds
    batches = [tensors for pair in zip(first["seen"], second["seen"], strict=True) for tensors in pair]
    assert_each_once(batches[:-1])
    per_step = 2 * accumulate
    steps = [(batches[start : start + per_step], 1 / per_step) for start in range(0, len(batches), per_step)]
    assert_same(first["weights"], *naively_fitted(method, learner, steps))


def test_a_sharded_run_is_resumed_to_the_same_weights(two_processes):
    for rank in (0, 1):
        ends = torch.load(two_processes / f"resumed-{rank}.pt")
        assert all(ends["cut"][name].equal(ends["whole"][name]) for name in ends["whole"])


def test_one_process_goes_on_from_the_end_of_the_epoch_before(learner, two_processes, tmp_path):
    """With what two left inside an epoch, exactly as with the end of the epoch before alone."""
    shutil.copytree(two_processes / "left", tmp_path / "end")
    (tmp_path / "end" / INSIDE).unlink()
    places = (two_processes / "left", tmp_path / "end")
    (first, seen), (second, _) = (
        fitted("slm-fp", learner, place, resume=True, **TWO_EPOCHS) for place in places
    )
    assert_each_once(seen)  # the whole second epoch
    assert all(first[name].equal(second[name]) for name in first)
