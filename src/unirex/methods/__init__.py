"""Methods: `fit(name, data)` trains any of them. Each is a small YAML file; some train in stages."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.config import Config
from unirex.errors import UserError
from unirex.files import locked, new_folder
from unirex.methods.building import (
    balanced_weights,
    build_system,
    check_method,
    check_multi_label,
    check_trainable,
)
from unirex.methods.catalogue import method_diff, method_names, method_settings
from unirex.methods.presets import dataset_name, preset, preset_names
from unirex.methods.resolving import chosen_preset, resolve
from unirex.methods.spawned import fit_spawned
from unirex.training.processes import SPAWN, check_strategy, is_first_process, processes

if TYPE_CHECKING:
    from unirex.data.example import Splits
    from unirex.methods.stages import Stages
    from unirex.system import System

__all__ = ["fit", "method_diff", "method_names", "method_settings", "preset", "preset_names", "resolve"]


def fit(
    method: str,
    data: Any,
    *,
    dev: Any = None,
    test: Any = None,
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    stages: str | Path | None = None,
    preset: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    progress: bool = True,
    **settings: Any,
) -> System:
    """Train a system.

    Args:
        method: its name; see `unirex list methods`.
        data: splits with at least `train` and `dev`, or whatever `load_dataset` takes: a name, a path, a
            frame, rows. Without splits of its own it is split, or with `dev` it is the training data.
        dev: data to choose the best epoch by, if it is not in `data`.
        test: data that training leaves alone, kept with the rest.
        columns: names of the columns of `data`, `dev` and `test`: `{"text": "review"}`.
        out: a folder for the run; without one only the returned system is kept.
        resume: continue the run in `out`, or just load it if it is finished.
        force: train again what is there already, stages included; the run in `out` is replaced.
        stages: a folder for the stages of methods that have several (default: in `out`). A stage that was
            trained with the same settings and data is loaded from there, whichever run it was made for.
        preset: choices that belong together, by name: `default`, or `parity` for those of the released
            research code; see `unirex list presets`. What `config` and `settings` say wins.
        config: settings as a YAML file or a table.
        progress: show the progress of training.
        settings: single settings by name, tables for nested ones:
            `fit("slm-fp", data, encoder="minilm", training={"epochs": 3})`.

    Returns:
        The system with the weights of the epoch that was best on `dev`.
    """
    chosen, dataset = chosen_preset(config, preset), dataset_name(data)
    resolved = resolve(method, config, settings, preset=preset, dataset=dataset)
    check_method(method, resolved)
    options = chosen.data_options(dataset) if isinstance(data, str) else {}
    data = as_splits(data, dev=dev, test=test, columns=columns, **options)
    chosen.check_read(data)
    check_trainable(data, resolved)
    check_multi_label(method, data, resolved)
    if resolved.class_weights == "balanced":
        resolved = replace(resolved, class_weights=balanced_weights(data))
    if resume and force:
        raise UserError("resume goes on with a run, force begins it anew; choose one.")
    if stages is not None and "stages" not in method_settings(method):
        raise UserError(f"stages: {method} has only one; the option is for fresh, fresh-p and l2e.")
    if stages is not None and Path(stages).exists() and not Path(stages).is_dir():
        raise UserError(f"stages {stages}: is a file; give a folder.")
    if out is None and resume:
        raise UserError("resume needs the folder of the run: out=…")
    check_strategy(resolved.training)
    spawns = resolved.training.strategy == SPAWN
    if out is None and processes(resolved.training).several and not spawns:
        raise UserError("training on several devices needs a folder they share: out=…")
    if spawns and "stages" in method_settings(method):
        raise UserError(f"training.strategy spawn: {method} trains in stages, in one process; leave it out.")
    from unirex.methods.stages import Stages  # loads torch, so after all that can be wrong

    with nullcontext(out) if out is not None else tempfile.TemporaryDirectory(prefix="unirex-") as folder:
        if spawns:
            how = {"resume": resume, "force": force, "preset": chosen.name, "progress": progress}
            return fit_spawned(data, resolved, Path(folder), method=method, **how)
        run = Stages(
            Path(folder),
            Path(folder, "stages") if stages is None else Path(stages),
            method,
            resume=resume,
            progress=progress,
            force=force,
            preset=chosen.name,
        )
        return _train(run, data, resolved) if out is None else _fit_in_folder(run, data, resolved)


def as_splits(data: Any, *, dev: Any, test: Any, columns: Mapping[str, str] | None, **options: Any) -> Splits:
    """The splits of data that may be in parts; `options` are those of a dataset by name."""
    from unirex.data.load import load_dataset

    if dev is None and test is None:
        return load_dataset(data, columns=columns, **options)
    parts = {name: part for name, part in (("train", data), ("dev", dev), ("test", test)) if part is not None}
    strange = [name for name, part in parts.items() if isinstance(part, str | Path | Mapping)]
    if strange:
        raise UserError(
            f"{strange[0]}: with dev or test each part is a frame, a dataset or rows; a name, a path or data "
            "that has splits already is given alone."
        )
    return load_dataset(parts, columns=columns)


def _fit_in_folder(stages: Stages, data: Splits, config: Config) -> System:
    """Train in a folder that is kept, and that no other process uses meanwhile; or load the run there."""
    if not is_first_process():
        return _fit_in_held_folder(stages, data, config)
    if stages.folder.exists() and not stages.folder.is_dir():
        raise UserError(f"{stages.folder}: is a file; give a folder.")
    with new_folder(stages.folder), locked(stages.folder):
        return _fit_in_held_folder(stages, data, config)


def _fit_in_held_folder(stages: Stages, data: Splits, config: Config) -> System:
    from unirex.system import load
    from unirex.training.run_folder import Run
    from unirex.training.train import build_trainer

    run = Run(stages.folder, stages.method, config, data, preset=stages.preset)
    first = is_first_process()
    if first:
        run.check(resume=stages.resume, force=stages.force)
    if run.finished and not stages.force:
        return load(stages.folder)
    # Before the folder is touched, as this finds most mistakes.
    built = build_system(stages.method, data, config, learns="stages" not in method_settings(stages.method))
    build_trainer(config, stages.folder, [])
    if first and stages.force:
        run.clear()
    if first:
        run.open()
    system = _train(stages, data, config, built)
    if first:
        system.save_pretrained(stages.folder)
        run.close()
    return system


def _train(stages: Stages, data: Splits, config: Config, built: System | None = None) -> System:
    """Train the method: one training, or the stages of the method's own module."""
    from unirex.methods.stages import check_devices

    module = method_settings(stages.method).get("stages")
    if module is None:
        return stages.last(built or build_system(stages.method, data, config), data, config)
    check_devices(config)
    return import_module(f"unirex.methods.{module}").fit(stages, data, config)
