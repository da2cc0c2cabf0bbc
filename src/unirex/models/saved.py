"""What is in the folder of a saved model, seen without loading it."""

from __future__ import annotations

import json
from pathlib import Path

from unirex.errors import UserError, nearest, one_line
from unirex.models.encoders import PICKLES, SAFE, quiet_transformers

CONFIG = "config.json"  # every saved model has one
SHOWN = 5  # systems that a message names


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
        _find_on_hub(str(folder), path)
        return str(folder)
    if not (path / CONFIG).is_file():
        unfinished = (path / "checkpoints").is_dir()
        hint = "its training is not finished: unirex train --resume" if unfinished else f"no {CONFIG} in it"
        raise UserError(f"{path}: not a unirex system ({hint}).")
    if not list(path.glob("*.safetensors")):
        raise UserError(f"{path}: no model.safetensors in it; pickled weights are never loaded.")
    return str(path)


def _find_on_hub(name: str, path: Path) -> None:
    """Refuse a name that is neither a folder nor a model of the Hub, before anything heavy is imported."""
    like_an_id = len(path.parts) == 2 and not path.is_absolute() and not path.parent.exists()
    fault = _fault_of_hub(name) if like_an_id else ""  # `runs/typo` is no id if there is a folder `runs`
    if fault or not like_an_id:
        raise UserError(f"{path}: no such folder{fault}; {_advice(path)}")


def _fault_of_hub(name: str) -> str:
    """Why there is no model of this name on the Hub; empty if there is one."""
    from huggingface_hub import file_exists, is_offline_mode, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, HFValidationError

    try:
        if isinstance(try_to_load_from_cache(name, CONFIG), str):
            return ""
        if is_offline_mode():
            return ", and no such model in the cache of the Hub, which is all that is asked offline"
        return "" if file_exists(name, CONFIG) else ", and no such model on the Hub"
    except HFValidationError:
        return " (and this is no name of a model on the Hub)"
    except GatedRepoError:
        return ""  # it is there; loading it says what it asks for
    except Exception as error:  # whatever a connection may lead to
        return f", and the Hub cannot be asked ({one_line(error)})"


def _advice(path: Path) -> str:
    """What to do about a folder that is not there: take one that is, or train."""
    files = (
        file for place in (path.parent, Path(), Path("runs")) for file in sorted(place.glob(f"*/{CONFIG}"))
    )
    systems = list(dict.fromkeys(str(file.parent) for file in files))
    if meant := nearest(str(path), systems):
        return f"did you mean '{meant}'?"
    if systems:
        return f"here are: {', '.join(systems[:SHOWN])}{', …' if len(systems) > SHOWN else ''}"
    return f"train a system first: unirex train --out {path} (a model on the Hub is named owner/name)"


def saved_kind(path: str) -> str:
    """The family of the model there: `unirex`, or that of a third-party classifier."""
    from transformers import AutoConfig

    file = Path(path) / CONFIG
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
