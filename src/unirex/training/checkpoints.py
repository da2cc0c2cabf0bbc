"""Checkpoints without pickle: nested tensors and plain values in one safetensors file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import CheckpointIO
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from unirex.errors import UserError, one_line
from unirex.files import replace_file


class PlainCheckpoints(CheckpointIO):
    """Lightning's checkpoints as safetensors: nothing is ever pickled."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write one file atomically."""
        save_state(Path(path), checkpoint)

    def load_checkpoint(self, path: Any, *_: Any, **__: Any) -> dict[str, Any]:
        """Read it back."""
        return load_state(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """Delete it."""
        Path(path).unlink(missing_ok=True)


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Save a nested structure of tensors and plain values as one safetensors file."""
    tensors: dict[str, Any] = {}
    plain = _without_tensors(state, tensors)
    # One entry, as safetensors writes several in random order: equal states are equal bytes.
    metadata = {"state": json.dumps({"sha256": _digest(tensors), "state": plain})}

    def write(draft: Path) -> None:
        try:
            save_file(tensors, str(draft), metadata)
        except SafetensorError as error:  # how safetensors says that the disk is full
            raise UserError(f"{path}: cannot be written ({one_line(error)}).") from error

    replace_file(path, write)


def load_state(path: Path) -> dict[str, Any]:
    """Load what `save_state` wrote. No code in the file can run, as nothing is unpickled."""
    with _read(path):
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
        saved = json.loads(metadata["state"])
        if "sha256" in metadata:  # older checkpoints: an entry of its own
            saved = {"sha256": metadata["sha256"], "state": saved}
        state = _with_tensors(saved["state"], tensors)
        damaged = saved["sha256"] != _digest(tensors)
    if damaged:
        raise UserError(f"{path}: damaged; its content is not what was written.")
    return state


def load_plain(path: Path) -> dict[str, Any]:
    """What `save_state` wrote, with None in the place of every tensor: no weights are read."""
    with _read(path):
        with safe_open(str(path), framework="pt") as file:
            names, metadata = list(file.keys()), file.metadata() or {}
        saved = json.loads(metadata["state"])
        return _with_tensors(saved if "sha256" in metadata else saved["state"], dict.fromkeys(names))


@contextmanager
def _read(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, LookupError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not a checkpoint of this library ({one_line(error)}).") from error


def _digest(tensors: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)} ".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _without_tensors(value: Any, tensors: dict[str, Any]) -> Any:
    """Plain JSON: every tensor is moved to `tensors`, and types that JSON lacks are tagged.

    A dict becomes `{"items": pairs}`, so its keys keep their types and never look like a tag.
    """
    if isinstance(value, torch.Tensor):
        name = str(len(tensors))
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, Mapping):
        pairs = [[_without_tensors(k, tensors), _without_tensors(v, tensors)] for k, v in value.items()]
        return {"items": pairs}
    if isinstance(value, tuple):
        return {"tuple": [_without_tensors(item, tensors) for item in value]}
    if isinstance(value, list):
        return [_without_tensors(item, tensors) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__} without pickle")


def _with_tensors(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "tuple" in value:
        return tuple(_with_tensors(item, tensors) for item in value["tuple"])
    return {_with_tensors(k, tensors): _with_tensors(v, tensors) for k, v in value["items"]}
