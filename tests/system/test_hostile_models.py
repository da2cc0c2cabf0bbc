"""A model folder from a stranger: nothing in it is executed, unpickled or read from elsewhere."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import unirex
from unirex.errors import UserError
from unirex.files import SUMS
from unirex.modeling import RationaleModel
from unirex.models.encoders import INDEX, load_encoder, load_pretrained

TRAP = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\nclass Trap:\n    pass\n"
REMOTE = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForSequenceClassification"), "trap.Trap")


@pytest.fixture
def folders(encoders, classifier, tmp_path):
    """An encoder, a system and a plain classifier, each with the function that loads it."""
    shutil.copytree(encoders("bert"), tmp_path / "encoder")
    classifier.save_pretrained(tmp_path / "system")
    (tmp_path / "system" / SUMS).unlink()  # a stranger can leave it out
    return {
        "encoder": (tmp_path / "encoder", lambda place: load_encoder(str(place), pooler=False)),
        "system": (tmp_path / "system", unirex.load),
    }


@pytest.mark.parametrize("kind", ["encoder", "system"])
@pytest.mark.parametrize("named", ["weights.bin", "../weights.safetensors", "/weights.safetensors", "w.pt"])
def test_an_index_names_safetensors_of_its_folder_only(folders, kind, named):
    folder, load = folders[kind]
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": {"some.weight": named}}))
    with pytest.raises(UserError, match=f"names '{named}'; only safetensors files in the folder"):
        load(folder)


@pytest.mark.parametrize("content", ["", "[]", '{"weight_map": 5}', '{"weight_map": null}', "[" * 100_000])
def test_a_damaged_index_is_named(folders, content):
    folder, load = folders["encoder"]
    (folder / INDEX).write_text(content)
    with pytest.raises(UserError, match=f"{INDEX} is damaged"):
        load(folder)


@pytest.mark.parametrize("kind", ["encoder", "system"])
@pytest.mark.parametrize("model_type", ["bert", "unirex", "trap"])
def test_code_beside_a_model_is_neither_run_nor_asked_about(folders, kind, model_type, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked whether to run foreign code"))
    folder, load = folders[kind]
    (folder / "trap.py").write_text(TRAP)
    for name, more in (
        ("config.json", {"auto_map": REMOTE, "model_type": model_type}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["trap.Trap", None]}}),
    ):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | more))
    try:
        load(folder)
        load_pretrained(str(folder), kind="tokenizer")
    except UserError as error:  # refused, or loaded as what it says without its code
        assert "trust_remote_code" not in str(error)
    assert not list(folder.rglob("ran"))
    assert "trust" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["encoder", "system"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(folders, kind, value):
    folder, load = folders[kind]
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("dense.weight") and "pooler" not in name)
    weights[name][0, 0] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"not finite .* diverged"):
        load(folder)


@pytest.mark.parametrize("kind", ["encoder", "system"])
def test_a_setting_that_is_no_number_is_refused(folders, kind):
    folder, load = folders[kind]
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    (saved if kind == "encoder" else saved["encoder"])["hidden_dropout_prob"] = float("nan")
    path.write_text(json.dumps(saved))
    with pytest.raises(UserError, match=r"'hidden_dropout_prob' in config\.json is NaN"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_length", "x"),
        ("class_weights", "x"),
        ("class_weights", [1.0]),
        ("class_weights", ["1", "2"]),
        ("truncation", {}),
        ("separators", "yes"),
        ("temperature", None),
    ],
)
def test_a_setting_of_another_type_is_refused(folders, name, value):
    folder, load = folders["system"]
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(UserError, match=rf"'{name}' in config\.json must be"):
        load(folder)


def test_a_length_of_the_tokenizer_that_is_no_number_is_refused(folders):
    folder, load = folders["system"]
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": "x"}))
    with pytest.raises(UserError, match="'model_max_length' in tokenizer_config"):
        load(folder).explain("a fine film")


def test_an_answer_that_is_no_number_is_an_error(folders):
    folder, load = folders["system"]
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved["encoder"]["layer_norm_eps"] = -1e9  # finite, but its root is not
    path.write_text(json.dumps(saved))
    system = load(folder)
    for answer in (system.explain, system.predict):
        with pytest.raises(UserError, match="answers with NaN"):
            answer("a film")
    with pytest.raises(UserError, match="answers with NaN"):
        unirex.evaluate(system, [unirex.Example("0", ("a film",), system.labels[0])])


def test_an_adapter_is_not_followed_to_another_model(folders):
    folder, load = folders["system"]
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "../elsewhere"}))
    with pytest.raises(UserError, match="merge the two"):
        load(folder)


def test_an_encoder_inside_a_system_is_a_known_one(folders):
    folder, load = folders["system"]
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved["encoder"]["auto_map"] = REMOTE
    path.write_text(json.dumps(saved))
    (folder / "trap.py").write_text(TRAP)
    system = load(folder)
    assert isinstance(system.model, RationaleModel)
    assert torch.isfinite(next(system.model.parameters())).all()
    assert not list(folder.rglob("ran"))


GARBAGE = {"empty": b"", "zeros": b"\0" * 64, "list": b"[1, 2]", "deep": b"[" * 50_000, "text": b"\xff\xfe{"}
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", SUMS)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
def test_a_damaged_file_is_an_error_in_a_line(folders, name, content):
    folder, load = folders["system"]
    (folder / name).write_bytes(content)
    try:
        load(folder)
    except UserError as error:
        assert str(folder) in str(error) and "\n" not in str(error)
