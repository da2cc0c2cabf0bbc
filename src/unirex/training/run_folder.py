"""Run folders: the settings, progress and results of one training."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from unirex.config import DEFAULT_PRESET, Config, merge, plain, read_settings
from unirex.data.cache import fingerprint
from unirex.data.example import Splits
from unirex.errors import UserError, one_line
from unirex.files import DRAFT, LOCK, SUMS, write_file
from unirex.models.encoders import encoder_digest

HARDWARE = tuple(  # a run may go on elsewhere
    f"training.{name}" for name in ("accelerator", "devices", "nodes", "strategy", "activation_checkpointing")
)
NOT_INSTALLED = "not installed"
PACKAGES = ("unirex", "torch", "transformers", "tokenizers", "lightning", "numpy", "safetensors")
WRITTEN = (  # by a run, removed with it; stages are named after their content and stay
    "run.json",
    "settings.yaml",
    "metrics.csv",
    "gold.json",
    "checkpoints",
    "evaluation",
    "config.json",
    "model.safetensors",
    SUMS,
    "special_tokens_map.json",
)


@dataclass(frozen=True)
class Run:
    """One training in its folder.

    ```
    settings.yaml   the resolved settings, complete: `unirex train --config` takes them again
    run.json        method, preset, data, versions, git revision, whether it is finished
    metrics.csv     one line per epoch
    gold.json       which training examples kept their gold, if not all did
    checkpoints/    while training: the last epoch and a part of the next (to resume), and the best epoch
    config.json, model.safetensors, tokenizer*   the system, once finished
    evaluation/     records and metrics per split
    stages/         of methods that have several: each a run of its own, named after what went into it
    ```
    """

    folder: Path
    method: str
    config: Config
    data: Splits
    preset: str = DEFAULT_PRESET

    @property
    def finished(self) -> bool:
        """Whether training was completed."""
        return bool(self._saved().get("finished"))

    def check(self, *, resume: bool, force: bool = False) -> None:
        """Refuse a folder that is in use, unless its run is to be replaced, or is this run to be resumed."""
        saved = self._saved()
        if saved and force:
            return
        if saved and not resume:
            raise UserError(
                f"{self.folder} already holds a run; --resume goes on with it, --force replaces it, "
                "or choose another --out."
            )
        if saved:
            self._check_same(saved)
        elif self.folder.exists() and not self._is_unused():
            raise UserError(f"{self.folder} is already in use; choose an empty or new folder for --out.")

    def open(self) -> None:
        """Create the run in the folder, unless it is there already."""
        if not self._saved():
            self.folder.mkdir(parents=True, exist_ok=True)
            settings = yaml.safe_dump(self._settings(), sort_keys=False)
            write_file(self.folder / "settings.yaml", settings)
            self._write(finished=False)

    def _is_unused(self) -> bool:
        """Whether the folder holds nothing, or only what a run that was killed at its very start left."""
        if not self.folder.is_dir():
            return False
        names = {path.name for path in self.folder.iterdir() if DRAFT not in path.name}
        return names <= {"settings.yaml", LOCK}

    def clear(self) -> None:
        """Remove the run in the folder, with its evaluations."""
        if not self._saved():
            return
        for path in [self.folder / name for name in WRITTEN] + list(self.folder.glob("tokenizer*")):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Mark the run finished and delete its checkpoints; the system has been saved before."""
        self._write(finished=True)
        shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)

    def _names(self) -> dict[str, str]:
        """Method and preset; the usual preset is not noted."""
        preset = {} if self.preset == DEFAULT_PRESET else {"preset": self.preset}
        return {"method": self.method, **preset}

    def _settings(self) -> dict[str, Any]:
        return {**self._names(), **plain(self.config)}

    def _saved(self) -> dict[str, Any]:
        """The content of `run.json`; empty if there is none."""
        file = self.folder / "run.json"
        try:
            saved = json.loads(file.read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, RecursionError) as error:
            raise UserError(f"{file} is damaged ({one_line(error)}); choose another --out.") from error
        if not isinstance(saved, dict) or not isinstance(saved.get("data", {}), dict):
            raise UserError(f"{file} is damaged; choose another --out.")
        return saved

    def _write(self, *, finished: bool) -> None:
        content = {
            **self._names(),
            "finished": finished,
            "data": {
                "name": self.data.info.name,
                "fingerprint": fingerprint(self.data),
                "read": dict(self.data.origin),
            },
            "python": platform.python_version(),
            "versions": versions(),
            "git": git_revision(),
        }
        write_file(self.folder / "run.json", json.dumps(content, indent=2) + "\n")

    def _check_same(self, saved: Mapping[str, Any]) -> None:
        """Refuse to resume a run of another method, other data or other settings."""
        file = self.folder / "settings.yaml"
        if not {"method", "data", "finished"} <= saved.keys() or not file.is_file():
            raise UserError(f"{self.folder} is not complete enough to resume; choose another --out.")
        if saved["method"] != self.method:
            raise UserError(f"{self.folder} was begun with method '{saved['method']}', not '{self.method}'.")
        begun_with = saved.get("preset", DEFAULT_PRESET)
        if begun_with != self.preset:
            raise UserError(f"{self.folder} was begun with preset '{begun_with}', not '{self.preset}'.")
        if saved["data"].get("fingerprint") != fingerprint(self.data):
            raise UserError(
                f"{self.folder} was begun with other data ('{saved['data'].get('name')}' has changed since)."
            )
        # Older versions had fewer settings: the others were as their defaults are.
        begun = merge(plain(Config()), read_settings(file))
        for key, (before, now) in differences(begun, self._settings()).items():
            if key in HARDWARE or (key == "encoder" and encoder_digest(before) == encoder_digest(now)):
                continue  # the same files, elsewhere
            raise UserError(
                f"{self.folder} was begun with {key} = {before!r}, not {now!r}; choose another folder."
            )


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], place: str = ""
) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, by dotted name.

    >>> differences({"a": {"x": 1}, "b": 2}, {"a": {"x": 3}, "b": 2})
    {'a.x': (1, 3)}
    """
    differing: dict[str, tuple[Any, Any]] = {}
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            differing |= differences(old, new, f"{place}{key}.")
        elif old != new:
            differing[place + key] = (old, new)
    return differing


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The installed versions of packages, by default of those that results depend on."""
    return {name: _installed(name) for name in packages}


def made_with() -> dict[str, Any]:
    """What results made by this process depend on beside their settings: versions and the revision."""
    return {"versions": versions(), "git": git_revision()}


@cache
def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


@cache  # of the code that was loaded, which does not change while the process lives
def git_revision() -> str | None:
    """The revision of the source checkout this code runs from, marked if it was changed; None elsewhere."""
    package = Path(__file__).resolve().parents[1]
    try:
        if Path(_git(package, "rev-parse", "--show-toplevel")) / "src" / "unirex" != package:
            return None
        return _git(package, "describe", "--always", "--dirty", "--abbrev=40") or None
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=5, check=True
    )
    return done.stdout.strip()
