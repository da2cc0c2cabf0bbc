"""Checkpoints without pickle, files whole or not at all."""

import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from unirex.errors import UserError
from unirex.files import DRAFT, LOCK, check_sums, locked, new_draft, replace_file, write_file, write_sums
from unirex.training.checkpoints import _with_tensors, _without_tensors, load_state, save_state


def same(left, right):
    if isinstance(left, torch.Tensor):
        return isinstance(right, torch.Tensor) and left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def test_a_nested_state_comes_back(tmp_path):
    shared = torch.arange(6.0)
    state = {
        "optimizer": {0: {"mean": shared, "square": shared[2:4], "step": torch.tensor(3)}, 1: {}},
        "betas": (0.9, 0.98),
        "nothing": None,
        "lists": [1, [2.5, ("a", True)], {}],
        "view": shared.view(2, 3).t(),
        "again": shared,
        "half": torch.ones(2, dtype=torch.bfloat16),
        "flags": torch.tensor([True, False]),
        "empty": torch.zeros(0, 3),
        "tensor": {"tensor": "a name our own marks use", "items": [], "tuple": ()},
        (1, "a"): "a tuple as key",
        "inf": float("inf"),
    }
    save_state(tmp_path / "state.safetensors", state)
    assert same(load_state(tmp_path / "state.safetensors"), state)
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_any_plain_value_comes_back(value):
    tensors = {}
    plain = json.loads(json.dumps(_without_tensors(value, tensors)))
    assert same(_with_tensors(plain, tensors), value)


def test_what_would_need_pickle_is_refused(tmp_path):
    with pytest.raises(TypeError, match="cannot hold set without pickle"):
        save_state(tmp_path / "state.safetensors", {"a": {1, 2}})
    assert not list(tmp_path.iterdir())


def test_equal_states_are_equal_bytes_and_older_files_are_read(tmp_path):
    state = {"a": torch.arange(3), "b": [1, "x"]}
    path, files = tmp_path / "state.safetensors", set()
    for _ in range(8):
        save_state(path, state)
        files.add(path.read_bytes())
    assert len(files) == 1
    with safe_open(path, framework="pt") as file:
        saved, tensors = json.loads(file.metadata()["state"]), {"0": file.get_tensor("0")}
    save_file(tensors, path, {"state": json.dumps(saved["state"]), "sha256": saved["sha256"]})
    assert load_state(path)["b"] == [1, "x"] and load_state(path)["a"].equal(state["a"])


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("write", [lambda bomb, path: path.write_bytes(pickle.dumps(bomb)), torch.save])
def test_a_pickle_is_refused_and_not_run(tmp_path, write):
    path, mark = tmp_path / "state.safetensors", tmp_path / "was here"
    write(Bomb(mark), path)
    with pytest.raises(UserError, match=r"state\.safetensors: not a checkpoint of this library"):
        load_state(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "metadata", [None, {"a": "b"}, {"state": "{"}, {"state": '{"odd": 1}'}, {"state": '{"tensor": "9"}'}]
)
def test_a_foreign_file_is_refused(tmp_path, metadata):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(1)}, tmp_path / "x.safetensors", metadata)
    with pytest.raises(UserError, match="not a checkpoint of this library"):
        load_state(tmp_path / "x.safetensors")
    with pytest.raises(UserError, match="not a checkpoint"):
        load_state(tmp_path / "missing.safetensors")


def test_a_failed_writer_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file.txt"
    write_file(path, "old")

    def fail(draft):
        draft.write_text("half of the n")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        replace_file(path, fail)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # between writing and renaming
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        write_file(path, "whole, but not in its place")
    assert path.read_text() == "old"
    assert [one.name for one in path.parent.iterdir()] == ["file.txt"]
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o400


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path):
    with locked(tmp_path):
        message = rf"process {os.getpid()} on .* is working there"
        with pytest.raises(UserError, match=message), locked(tmp_path):
            pass
        assert (tmp_path / LOCK).exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("left", ["", "not json", '{"process": 1, "host": "elsewhere", "since": "then"}'])
def test_what_a_killed_process_left_is_swept(tmp_path, left):
    (tmp_path / LOCK).write_text(left)
    (tmp_path / f".metrics.csv{DRAFT}abc.csv").write_text("half")
    (tmp_path / f".system{DRAFT}xyz").mkdir()
    (tmp_path / "mine.txt").write_text("kept")
    with locked(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK, "mine.txt"]


def test_files_that_changed_since_they_were_saved_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("[1]")
    check_sums(tmp_path)  # without sums it is taken as it is
    write_sums(tmp_path)
    check_sums(tmp_path)
    (tmp_path / "a.json").write_text("[2]")
    with pytest.raises(UserError, match=r"a\.json is not as it was saved"):
        check_sums(tmp_path)
    (tmp_path / "a.json").unlink()
    with pytest.raises(UserError, match=r"a\.json: missing"):
        check_sums(tmp_path)


@pytest.mark.parametrize("folder", [False, True])
def test_a_draft_is_swept_by_the_next_one_unless_it_is_held(tmp_path, folder):
    path = tmp_path / "a[1].json"
    left = tmp_path / f".{path.name}{DRAFT}left{'' if folder else path.suffix}"
    left.mkdir() if folder else left.touch()
    other = tmp_path / f".b.json{DRAFT}left.json"  # of another file
    other.touch()
    with new_draft(path, folder=folder) as held, new_draft(path, folder=folder) as second:
        assert held.exists() and second.exists() and not left.exists()
    assert list(tmp_path.iterdir()) == [other]
