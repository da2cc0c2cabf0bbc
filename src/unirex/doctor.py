"""What this machine offers to unirex: versions, extras, devices, accelerations, encoder, folders."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from unirex.data.cache import cache_folder
from unirex.data.catalogue import ROOT_VARIABLE
from unirex.errors import UserError, one_line
from unirex.scale.cores import usable_cores

OK, NOTE, BROKEN = "ok", "note", "broken"
REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?$")
EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
BOUND = re.compile(r"(>=|==|<=|<|>|!=|~=)\s*([\w.*]+)")
INTERNAL = ("dev", "bench")  # extras for working on the project
FLASH = "flash_attn"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: fine, worth knowing, or broken though it is needed."""

    part: str
    name: str
    state: str  # OK, NOTE or BROKEN
    said: str


def examined(run: str | Path | None = None, encoder: str = "minilm") -> list[Finding]:
    """Everything about this machine; with the folder of a run, about that too."""
    found = [
        *machine(),
        *packages(),
        *extras(),
        *folders(),
        *accelerations(),
        *encoders(encoder, run is None),
    ]
    return [*found, *saved_run(run)] if run is not None else found


def as_json(findings: list[Finding]) -> dict[str, Any]:
    """The findings as plain values."""
    broken = any(finding.state == BROKEN for finding in findings)
    return {"broken": broken, "findings": [asdict(finding) for finding in findings]}


def machine() -> Iterator[Finding]:
    """Cores, memory and threads."""
    python = sys.version_info[:2]
    said = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding(
        "machine", "python", OK if python >= (3, 11) else BROKEN, f"{said}; 3.11 or newer is needed"
    )
    yield Finding("machine", "cores", OK, f"{usable_cores()} usable of {os.cpu_count()}")
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = (page * os.sysconf(name) / 1e9 for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
        yield Finding("machine", "memory", OK, f"{total:.1f} GB, {free:.1f} GB free")
    except (AttributeError, ValueError, OSError):
        yield Finding("machine", "memory", NOTE, "the system does not say")
    names = ("UNIREX_THREADS", "OMP_NUM_THREADS")
    given = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    yield Finding(
        "machine", "threads", OK, ", ".join(given) or "as torch chooses; --threads or UNIREX_THREADS"
    )


def packages() -> Iterator[Finding]:
    """The packages that are always needed, against the supported versions."""
    for name, bounds, extra in _requirements():
        if extra is None:
            yield _package("packages", name, bounds, missing=BROKEN, install=f"pip install '{name}{bounds}'")


def extras() -> Iterator[Finding]:
    """The optional packages, with the line that installs them."""
    for name, bounds, extra in _requirements():
        if extra is not None and extra not in INTERNAL:
            install = f"pip install 'unirex[{extra}]'"
            yield _package("extras", name, bounds, missing=NOTE, install=install, label=f"{extra}: {name}")


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """Name, bounds and extra of every package that unirex asks for."""
    for line in requires("unirex") or ():
        parts = REQUIREMENT.match(line)
        if parts is not None:
            extra = EXTRA.search(parts[3] or "")
            yield parts[1], parts[2].strip(), extra[1] if extra else None


def _package(
    part: str, name: str, bounds: str, *, missing: str, install: str, label: str | None = None
) -> Finding:
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Finding(part, label or name, missing, f"not installed; {install}")
    if not within(installed, bounds):
        return Finding(part, label or name, BROKEN, f"{installed}, but {bounds} is needed; {install}")
    return Finding(part, label or name, OK, f"{installed} ({bounds})" if bounds else installed)


def within(installed: str, bounds: str) -> bool:
    """Whether a version satisfies bounds such as `>=2.6,<3`; only numbers are compared.

    >>> within("2.13.0+cpu", ">=2.6"), within("2.5.1", ">=2.6,<3"), within("0.1.0", "==0.1.0")
    (True, False, True)
    """
    here = _numbers(installed)
    tests = {
        ">=": lambda bound: here >= bound,
        "<=": lambda bound: here <= bound,
        ">": lambda bound: here > bound,
        "<": lambda bound: here < bound,
        "==": lambda bound: here == bound,
        "!=": lambda bound: here != bound,
        "~=": lambda bound: here >= bound and here[: len(bound) - 1] == bound[:-1],
    }
    return all(tests[sign](_numbers(bound)) for sign, bound in BOUND.findall(bounds))


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", text)
    numbers = [int(number) for number in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:  # 2.6 and 2.6.0 are equal
        numbers.pop()
    return tuple(numbers)


def folders() -> Iterator[Finding]:
    """Where data is read and the cache is written."""
    root = os.environ.get(ROOT_VARIABLE)
    if not root:
        yield Finding("folders", "data", NOTE, f"{ROOT_VARIABLE} is not set; name the folder with --root")
    elif Path(root).expanduser().is_dir():
        yield Finding("folders", "data", OK, f"{ROOT_VARIABLE}={root}")
    else:
        yield Finding(
            "folders", "data", BROKEN, f"{ROOT_VARIABLE}={root}: no such folder; correct or unset it"
        )
    cache = cache_folder()
    if cache is None:
        yield Finding("folders", "cache", NOTE, "off: data is parsed and encoded at every start")
        return
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
        yield Finding("folders", "cache", OK, str(cache))
    except OSError as error:
        said = f"{cache}: cannot be written ({one_line(error)}); set UNIREX_CACHE to another folder, or off"
        yield Finding("folders", "cache", BROKEN, said)


def accelerations() -> Iterator[Finding]:
    """Devices, and which of their accelerations training uses here, or why not."""
    try:
        import torch
    except Exception as error:  # a damaged installation fails in many ways
        yield Finding("accelerations", "devices", BROKEN, f"torch cannot be imported ({one_line(error)})")
        return
    count = torch.cuda.device_count()
    names = [torch.cuda.get_device_name(number) for number in range(count)]
    apple = torch.backends.mps.is_available()
    threads = f"the CPU, {torch.get_num_threads()} threads"
    yield Finding("accelerations", "devices", OK, ", ".join(names) or ("Apple GPU" if apple else threads))
    yield _precision(torch, count)
    yield _attention(count)
    pinned = "batches are copied from pinned memory while the device computes"
    yield Finding("accelerations", "pinned memory", *((OK, pinned) if count else (NOTE, "no GPU to copy to")))
    why = "texts run at many lengths, and each would be compiled or captured anew"
    yield Finding("accelerations", "compile", NOTE, f"torch.compile is not used: {why}")
    graphs = f"not used: {why}" if count else "not used: they need a GPU"
    yield Finding("accelerations", "CUDA graphs", NOTE, graphs)


def _precision(torch: Any, gpus: int) -> Finding:
    """Whether the GPU computes in bf16 itself, and a product in it comes out right; emulation is slower."""
    if not gpus:
        said = "32-true; bf16-mixed saves time on GPUs that have it, and here none does"
        return Finding("accelerations", "precision", NOTE, said)
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        said = "32-true or 16-mixed; the GPU has no bf16 (it would be emulated)"
        return Finding("accelerations", "precision", NOTE, said)
    try:
        ones = torch.ones(64, 64, dtype=torch.bfloat16, device="cuda")
        right = bool((ones @ ones == 64).all())
    except RuntimeError as error:  # a driver that does not fit, no memory
        said = f"the GPU should have bf16, but a product in it fails ({one_line(error)})"
        return Finding("accelerations", "precision", BROKEN, said)
    if not right:
        return Finding("accelerations", "precision", BROKEN, "a product in bf16 on the GPU comes out wrong")
    return Finding("accelerations", "precision", OK, "bf16-mixed: the GPU has bf16, and a product was tried")


def _attention(gpus: int) -> Finding:
    """Which attention a training runs: flash attention needs a GPU, half precision and its package."""
    why = "flash attention needs a GPU"
    if gpus:
        try:
            import_module(FLASH)
            if _transformers_uses_flash():
                said = f"flash_attention_2 in half precision, else sdpa ({FLASH} was imported)"
                return Finding("accelerations", "attention", OK, said)
            why = f"transformers does not take this {FLASH}; it needs 2.3.3 or newer"
        except ModuleNotFoundError as error:
            missing = error.name == FLASH
            why = f"{FLASH} is " + ("not installed; pip install flash-attn" if missing else _unusable(error))
        except Exception as error:  # one that was built for another torch or CUDA fails in many ways
            why = f"{FLASH} is {_unusable(error)}"
    return Finding("accelerations", "attention", NOTE, f"sdpa, eager for second derivatives; {why}")


def _unusable(error: Exception) -> str:
    return f"installed, but cannot be imported ({one_line(error)})"


def _transformers_uses_flash() -> bool:
    from transformers.utils import is_flash_attn_2_available

    return bool(is_flash_attn_2_available())


def encoders(name: str, needed: bool) -> Iterator[Finding]:
    """Whether the encoder is there and is what it should be; `minilm` is compared with its checksum."""
    from unirex.models.encoders import MINILM_SHA256, encoder_source

    missing = BROKEN if needed and name != "minilm" else NOTE
    try:
        place = encoder_source(name).place
    except UserError as error:
        damaged = BROKEN if "damaged" in str(error) else missing
        yield Finding("encoder", name, damaged, str(error))
        return
    checked = f"; sha256 {MINILM_SHA256[:12]}… as published" if name == "minilm" else ""
    if Path(place).is_dir():
        yield Finding("encoder", name, OK, f"{place}{checked}")
    else:
        yield Finding(
            "encoder", name, NOTE, f"a name on the Hub; whether {place} is there shows when it is loaded"
        )


def saved_run(run: str | Path) -> Iterator[Finding]:
    """Whether a run is finished and whole: its digests, and the versions it was trained with."""
    import json

    from unirex.files import check_sums
    from unirex.models.saved import check_saved

    try:
        folder = Path(check_saved(run))
        check_sums(folder)
    except UserError as error:
        yield Finding("run", str(run), BROKEN, str(error))
        return
    yield Finding("run", str(run), OK, "its files are what was written")
    try:
        trained = json.loads((folder / "run.json").read_text("utf-8")).get("versions", {})
    except (OSError, ValueError, AttributeError):
        return
    for name, before in sorted(trained.items()) if isinstance(trained, dict) else ():
        try:
            now = version(name)
        except PackageNotFoundError:
            now = "not installed"
        if now != before:
            yield Finding("run", name, NOTE, f"trained with {before}, now {now}; last digits may differ")
