"""`unirex doctor`: what is found on a machine that is well, and on one that is not."""

import json
import subprocess
import sys

import commands
from unirex import doctor


def test_a_machine_that_is_well(capsys, learner, monkeypatch, tmp_path):
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path / "cache"))
    out = json.loads(commands.succeeds(capsys, "doctor", "--json", "--encoder", learner))
    found = {(finding["part"], finding["name"]): finding for finding in out["findings"]}
    assert not out["broken"]
    assert found["packages", "torch"]["state"] == "ok" and ">=2.6" in found["packages", "torch"]["said"]
    assert found["folders", "cache"]["said"] == str(tmp_path / "cache")
    assert found["encoder", str(learner)]["state"] == "ok"
    assert {"devices", "precision", "attention"} <= {name for part, name in found if part == "accelerations"}


def test_what_is_broken_is_named_with_what_to_do(capsys, learner, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("UNIREX_CACHE", str(tmp_path / "file"))
    monkeypatch.setenv("UNIREX_DATA", str(tmp_path / "nowhere"))
    found = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: "1.0" if name == "torch" else found(name))
    code, out, _ = commands.run(capsys, "doctor", tmp_path / "run", "--encoder", learner)
    broken = [line.split()[1] for line in out.splitlines() if line.startswith("  ✗")]
    assert code == 1 and out.endswith("\n4 broken\n")
    assert broken == ["torch", "data", "cache", str(tmp_path / "run")]
    assert "1.0, but >=2.6 is needed; pip install 'torch>=2.6'" in out
    assert "set UNIREX_CACHE to another folder" in out and "not a unirex system" in out


def test_the_command_needs_no_torch_to_be_parsed():
    code = "import sys, unirex.cli, unirex.doctor; unirex.cli.parse(['doctor'])"
    code += "; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_gpus_are_described_as_they_are(monkeypatch):
    """A stand-in for a GPU: what would be used on it, and what is missing for more."""
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "A GPU")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    found = {finding.name: finding for finding in doctor.accelerations()}
    assert found["devices"].said == "A GPU" and found["precision"].state == "ok"
    assert found["pinned memory"].state == "ok" and "pip install flash-attn" in found["attention"].said
