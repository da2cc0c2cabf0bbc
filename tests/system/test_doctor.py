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


class Cuda:
    """torch with a stand-in for a GPU, whose products are computed here."""

    def __init__(self, torch, *, native: bool, factor: int = 1, error: str = "") -> None:
        self.torch, self.native, self.factor, self.error = torch, native, factor, error
        self.cuda, self.bfloat16 = self, torch.bfloat16

    def is_bf16_supported(self, including_emulation=True):
        return self.native or including_emulation

    def ones(self, *shape, dtype, device):
        if self.error:
            raise RuntimeError(self.error)
        return self.factor * self.torch.ones(*shape, dtype=dtype)


def test_bf16_is_said_to_work_only_where_a_product_in_it_does():
    import torch

    found = doctor._precision(Cuda(torch, native=True), 1)
    assert found.state == "ok" and "a product was tried" in found.said
    assert doctor._precision(Cuda(torch, native=False), 1).state == "note"  # emulated
    assert doctor._precision(Cuda(torch, native=True), 0).state == "note"
    assert "comes out wrong" in doctor._precision(Cuda(torch, native=True, factor=2), 1).said
    broken = doctor._precision(Cuda(torch, native=True, error="no kernel image"), 1)
    assert broken.state == "broken" and "no kernel image" in broken.said


def test_gpus_are_described_as_they_are(monkeypatch):
    """A stand-in for a GPU: what would be used on it, and what is missing for more."""
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "A GPU")
    found = {finding.name: finding for finding in doctor.accelerations()}
    assert found["devices"].said == "A GPU" and found["pinned memory"].state == "ok"
    assert "pip install flash-attn" in found["attention"].said
    for name in ("compile", "CUDA graphs"):
        assert found[name].state == "note" and "at many lengths" in found[name].said


def test_flash_attention_is_imported_before_it_is_said_to_work(monkeypatch):
    def broken(name):
        raise ImportError("undefined symbol")

    monkeypatch.setattr(doctor, "import_module", broken)
    assert "installed, but cannot be imported (undefined symbol)" in doctor._attention(1).said
    monkeypatch.setattr(doctor, "import_module", lambda name: None)
    monkeypatch.setattr(doctor, "_transformers_uses_flash", lambda: False)
    assert doctor._attention(1).state == "note" and "2.3.3" in doctor._attention(1).said
    monkeypatch.setattr(doctor, "_transformers_uses_flash", lambda: True)
    assert doctor._attention(1).state == "ok" and doctor._attention(0).state == "note"
