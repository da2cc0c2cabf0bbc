"""What is in the folder of a saved model, seen without loading it."""

from __future__ import annotations

import json
from pathlib import Path

from unirex.errors import UserError, one_line
from unirex.models.encoders import PICKLES, SAFE, quiet_transformers


def check_saved(folder: str | Path) -> str:
    """The folder as text, if a system or a classifier can be in it."""
    path = Path(folder).expanduser()
    if path.is_file() and path.suffix in PICKLES:
        raise UserError(
            f"{path}: pickled models are never loaded (they can run code); give a folder of safetensors."
        )
    if path.is_file():
        raise UserError(f"{path}: a system is a folder, as `unirex train --out` writes it, not a file.")
    if not path.exists():
        if len(path.parts) == 2 and not path.is_absolute() and not path.parent.exists():
            return str(folder)  # may be a Hub id; `runs/typo` is not
        raise UserError(
            f"{path}: no such folder; train a system first: unirex train --out {path} (a model on the Hub is "
            "named owner/name)"
        )
    if not (path / "config.json").is_file():
        unfinished = (path / "checkpoints").is_dir()
        hint = "its training is not finished: unirex train --resume" if unfinished else "no config.json in it"
        raise UserError(f"{path}: not a unirex system ({hint}).")
    if not list(path.glob("*.safetensors")):
        raise UserError(f"{path}: no model.safetensors in it; pickled weights are never loaded.")
    return str(path)


def saved_kind(path: str) -> str:
    """The family of the model there: `unirex`, or that of a third-party classifier."""
    from transformers import AutoConfig

    file = Path(path) / "config.json"
    try:
        if file.is_file():
            return str(json.loads(file.read_text("utf-8")).get("model_type"))
        with quiet_transformers():
            return AutoConfig.from_pretrained(path, **SAFE).model_type
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, RecursionError) as error:
        raise UserError(f"{file}: not valid JSON ({one_line(error)}).") from error
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: no folder here, and not to be had from the Hub: {one_line(error)}"
        ) from error
