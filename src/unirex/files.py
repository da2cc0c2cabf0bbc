"""Files written whole or not at all, and tensors kept without pickle."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unirex.errors import UserError


def write_file(path: Path, content: str | bytes) -> None:
    """Put the content at `path` so that a kill at any moment leaves either the old or the new file."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    replace_file(path, lambda draft: draft.write_bytes(data))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a draft beside `path`, then put it in place in one move."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """A folder to write into; if that fails, no empty folder is left that was not there before."""
    with _writable(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A place that cannot be written is named as it was given, not as a draft beside it."""
    try:
        yield
    except FileExistsError as error:
        raise UserError(f"{path}: is a file, or lies below one; give another place.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}).") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """A nested structure of tensors and plain values as one safetensors file."""
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    plain = _without_tensors(state, tensors)
    metadata = {"state": json.dumps(plain)}
    replace_file(path, lambda draft: save_file(tensors, str(draft), metadata))


def load_state(path: Path) -> dict[str, Any]:
    """The structure `save_state` wrote. Nothing is executed, whatever the file holds."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            plain = json.loads((file.metadata() or {})["state"])
        return _with_tensors(plain, tensors)
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not a checkpoint of this library ({error}).") from error


def _without_tensors(value: Any, tensors: dict[str, Any]) -> Any:
    """Plain JSON with every tensor moved to `tensors` and every type JSON lacks spelt out."""
    import torch

    if isinstance(value, torch.Tensor):
        name = str(len(tensors))
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {
            "items": [[_without_tensors(k, tensors), _without_tensors(v, tensors)] for k, v in value.items()]
        }
    if isinstance(value, tuple):
        return {"tuple": [_without_tensors(one, tensors) for one in value]}
    if isinstance(value, list):
        return [_without_tensors(one, tensors) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__} without pickle")


def _with_tensors(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "tuple" in value:
        return tuple(_with_tensors(one, tensors) for one in value["tuple"])
    return {_with_tensors(k, tensors): _with_tensors(v, tensors) for k, v in value["items"]}
