"""Model folders of strangers: they work or are refused, and nothing in them is ever executed."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import resource
import shutil
import struct
from pathlib import Path

from campaign.mutate import json_bytes, mutated_bytes, mutated_json

LIMIT = 120
MEMORY = 12_000_000_000
TRAP = "import pathlib\npathlib.Path({ran!r}).touch()\nclass Trap:\n    pass\n"
PICKLES = (
    "pytorch_model.bin",
    "model.pt",
    "training_args.bin",
    "pytorch_model-00001-of-00001.bin",
    "optimizer.pkl",
)
AUTO = ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification", "AutoTokenizer")


class Touch:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Damage a folder, lay traps in it, and use it."""
    import unirex
    from unirex.errors import UserError
    from unirex.files import SUMS
    from unirex.models.encoders import load_encoder

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a huge size in a config fails, not the machine
    kind, ran = chance.choice(("system", "system", "classifier", "learner")), folder / "ran"
    place = folder / kind
    shutil.copytree(stock / kind, place)
    for change in chance.sample(CHANGES, chance.randint(1, 2)):
        # What the other change has removed or damaged stays as it is.
        with contextlib.suppress(FileNotFoundError, ValueError, RecursionError, struct.error):
            change(place, ran, chance)
    if chance.random() < 0.8:
        (place / SUMS).unlink(missing_ok=True)
    try:
        if kind == "learner":
            _check_encoder(load_encoder(str(place), pooler=False))
        else:
            _check_answer(unirex.load(place).explain("a good film is the plot"))
        outcome = "works"
    except UserError as error:
        assert "\n" not in str(error), f"more than a line: {error}"
        outcome = "refused"
    finally:
        assert not ran.exists(), "code in the folder was executed"
    return outcome


def _check_encoder(encoder) -> None:
    import torch

    with torch.no_grad():
        states = encoder(input_ids=torch.tensor([[1, 2, 3]])).last_hidden_state
    assert states.isfinite().all()


def _check_answer(explanation) -> None:
    text = json.dumps(explanation.to_dict(), allow_nan=False)
    assert abs(sum(explanation.probabilities.values()) - 1) < 1e-3, text


def _config(place: Path, ran: Path, chance: random.Random) -> None:
    _json_file(place / "config.json", chance)


def _tokenizer(place: Path, ran: Path, chance: random.Random) -> None:
    _json_file(place / chance.choice(("tokenizer.json", "tokenizer_config.json")), chance)


def _json_file(path: Path, chance: random.Random) -> None:
    if chance.random() < 0.75:
        path.write_bytes(json_bytes(mutated_json(json.loads(path.read_bytes()), chance)))
    else:
        path.write_bytes(mutated_bytes(path.read_bytes(), chance))


def _header(place: Path, ran: Path, chance: random.Random) -> None:
    """Change the head of the weights: names, shapes, types and places of the tensors."""
    path = place / "model.safetensors"
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = data[8 : 8 + size]
    if chance.random() < 0.7:
        header = json_bytes(mutated_json(json.loads(header), chance))
    else:
        header = mutated_bytes(header, chance)
    claimed = len(header) if chance.random() < 0.9 else chance.choice((0, 2**40, 2**63, len(header) - 1))
    path.write_bytes(struct.pack("<Q", max(claimed, 0)) + header + data[8 + size :])


def _cut(place: Path, ran: Path, chance: random.Random) -> None:
    path = place / "model.safetensors"
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def _index(place: Path, ran: Path, chance: random.Random) -> None:
    names = chance.choices(
        ("model.safetensors", "../x.safetensors", "pytorch_model.bin", "", "\0", "a/b"), k=3
    )
    index = {"metadata": {}, "weight_map": {f"weights.{number}": name for number, name in enumerate(names)}}
    changed = mutated_json(index, chance) if chance.random() < 0.5 else index
    (place / "model.safetensors.index.json").write_bytes(json_bytes(changed))


def _pickled(place: Path, ran: Path, chance: random.Random) -> None:
    for name in chance.sample(PICKLES, 2):
        (place / name).write_bytes(pickle.dumps(Touch(ran)))
    if chance.random() < 0.7:
        (place / "model.safetensors").unlink(missing_ok=True)


def _code(place: Path, ran: Path, chance: random.Random) -> None:
    """Code beside the model that its configurations ask for."""
    for name in ("trap.py", "configuration_trap.py", "modeling_trap.py", "conftest.py"):
        (place / name).write_text(TRAP.format(ran=str(ran)))
    for name in ("config.json", "tokenizer_config.json"):
        path = place / name
        with contextlib.suppress(ValueError, TypeError):
            found = json.loads(path.read_bytes())
            remote = {
                auto: chance.choice(("trap.Trap", ["trap.Trap", None], "x--trap.Trap")) for auto in AUTO
            }
            path.write_bytes(json_bytes(found | {"auto_map": remote, "trust_remote_code": True}))


CHANGES = (_config, _config, _tokenizer, _tokenizer, _header, _cut, _index, _pickled, _code)
