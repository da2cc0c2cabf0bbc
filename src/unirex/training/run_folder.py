"""Run folders: where a training keeps what it was, what it did and what came out."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from unirex.config import Config, merge, plain
from unirex.data.example import Splits
from unirex.data.fingerprint import fingerprint
from unirex.errors import UserError
from unirex.files import write_file

PACKAGES = ("unirex", "torch", "transformers", "tokenizers", "lightning", "numpy", "safetensors")


WRITTEN = (  # by a run; its stages are kept apart, under the name of their content
    "run.json",
    "settings.yaml",
    "metrics.csv",
    "gold.json",
    "checkpoints",
    "evaluation",
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
)


@dataclass(frozen=True)
class Run:
    """One training in its folder.

    ```
    settings.yaml   the resolved settings, complete: `unirex train --config` takes them again
    run.json        method, data, versions, git revision, whether it is finished
    metrics.csv     one line per epoch
    gold.json       which training examples kept their gold, if not all did
    checkpoints/    while training: the last epoch (to resume) and the best
    config.json, model.safetensors, tokenizer*   the system, once finished
    evaluation/     records and metrics per split
    stages/         of methods that have several: each a run of its own, named after what went into it
    ```
    """

    folder: Path
    method: str
    config: Config
    data: Splits

    @property
    def finished(self) -> bool:
        """Whether training came to its end."""
        return bool(self._saved().get("finished"))

    def check(self, *, resume: bool, force: bool = False) -> None:
        """The folder is free, or holds a run that is to be replaced, or this very run to be resumed."""
        if self._saved() and force:
            return
        if self._saved() and not resume:
            raise UserError(
                f"{self.folder} already holds a run; --resume goes on with it, --force replaces it, "
                "or choose another --out."
            )
        if self._saved():
            self._check_same()
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise UserError(f"{self.folder} is already in use; choose an empty or new folder for --out.")

    def open(self) -> None:
        """Take the folder into use; a run that is there already goes on."""
        if not self._saved():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_file(
                self.folder / "settings.yaml",
                yaml.safe_dump({"method": self.method, **plain(self.config)}, sort_keys=False),
            )
            self._write(finished=False)

    def clear(self) -> None:
        """Remove the run that is there, and what it was evaluated to."""
        if not self._saved():
            return
        for path in [self.folder / name for name in WRITTEN] + list(self.folder.glob("tokenizer*")):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Mark the run finished and drop its checkpoints; the system itself has been saved."""
        self._write(finished=True)
        shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)

    def _saved(self) -> dict[str, Any]:
        try:
            return json.loads((self.folder / "run.json").read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except ValueError as error:
            raise UserError(
                f"{self.folder / 'run.json'} is damaged ({error}); choose another --out."
            ) from error

    def _write(self, *, finished: bool) -> None:
        content = {
            "method": self.method,
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

    def _check_same(self) -> None:
        saved = self._saved()
        if (
            not {"method", "data", "finished"} <= saved.keys()
            or not (self.folder / "settings.yaml").is_file()
        ):
            raise UserError(f"{self.folder} is not complete enough to resume; choose another --out.")
        if saved["method"] != self.method:
            raise UserError(f"{self.folder} was begun with method '{saved['method']}', not '{self.method}'.")
        if saved["data"]["fingerprint"] != fingerprint(self.data):
            raise UserError(
                f"{self.folder} was begun with other data ('{saved['data']['name']}' has changed since)."
            )
        saved_settings = yaml.safe_load((self.folder / "settings.yaml").read_text("utf-8"))
        begun = merge(plain(Config()), saved_settings)  # an older version knew fewer settings
        now_asked = {"method": self.method, **plain(self.config)}
        for key, (before, now) in differences(begun, now_asked).items():
            raise UserError(
                f"{self.folder} was begun with {key} = {before!r}, not {now!r}; choose another folder."
            )


def differences(
    one: Mapping[str, Any], other: Mapping[str, Any], place: str = ""
) -> dict[str, tuple[Any, Any]]:
    """Settings that differ, by dotted name.

    >>> differences({"a": {"x": 1}, "b": 2}, {"a": {"x": 3}, "b": 2})
    {'a.x': (1, 3)}
    """
    found: dict[str, tuple[Any, Any]] = {}
    for key in {**one, **other}:
        left, right = one.get(key), other.get(key)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            found |= differences(left, right, f"{place}{key}.")
        elif left != right:
            found[place + key] = (left, right)
    return found


def versions() -> dict[str, str]:
    """What the results were obtained with."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def git_revision() -> str | None:
    """The revision of the source checkout this code runs from, marked if it was changed; None elsewhere."""
    here = Path(__file__).resolve().parent
    try:
        root = subprocess.run(
            ["git", "rev-parse", "--show-toplevel"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
        if Path(root.stdout.strip()) / "src" / "unirex" != here:
            return None
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
