"""Methods of the paper by name: each a small YAML diff of the default settings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from unirex.config import Config
from unirex.errors import UserError, unknown
from unirex.extractors import known_options
from unirex.settings import build_config, merge, read_settings

if TYPE_CHECKING:
    from unirex.data.example import Splits
    from unirex.system import System


def method_names() -> list[str]:
    """The methods that can be fitted."""
    found = [file.name for file in files(__name__).iterdir() if file.name.endswith(".yaml")]
    order = {"vanilla": 0, "aa": 1, "dlm": 2, "slm": 3}
    names = [name.removesuffix(".yaml") for name in found]
    return sorted(names, key=lambda name: (order.get(name.split("-")[0], 9), name))


def method_settings(name: str) -> dict[str, Any]:
    """What a method sets differently from the defaults, and `about`: what it is."""
    if name not in method_names():
        raise unknown("method", name, method_names())
    return yaml.safe_load((files(__name__) / f"{name}.yaml").read_text("utf-8"))


def resolve(
    method: str, config: str | Path | Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Config:
    """Defaults, then the method, then a configuration file or table, then single settings."""
    diff = {key: value for key, value in method_settings(method).items() if key != "about"}
    given = dict(read_settings(config) if isinstance(config, str | Path) else config or {})
    named = given.pop("method", method)
    if named != method:
        raise UserError(f"the configuration is for method '{named}', not '{method}'.")
    asked = merge(given, settings)
    extractor = asked.get("extractor", diff["extractor"])
    if extractor != diff["extractor"]:  # it may not have all the options of the method's own
        diff["extractor_options"] = known_options(extractor, diff.get("extractor_options", {}))
    return build_config(merge(diff, asked))


def fit(
    method: str,
    data: Splits,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    config: str | Path | Mapping[str, Any] | None = None,
    progress: bool = True,
    **settings: Any,
) -> System:
    """Train a system.

    Args:
        method: its name; see `unirex list methods`.
        data: splits with at least `train` and `dev`.
        out: a folder to keep the run in; without one nothing is kept but the returned system.
        resume: go on with the run in `out`, or just load it if it is finished.
        config: settings as a YAML file or a table.
        progress: show how training goes on.
        settings: single settings by name, tables for nested ones:
            `fit("slm-fp", data, encoder="minilm", training={"epochs": 3})`.

    Returns:
        The system with the weights of the epoch that was best on `dev`.
    """
    resolved = resolve(method, config, settings)
    check_trainable(data, resolved)
    if out is not None:
        return _fit_in(Path(out), method, data, resolved, resume, progress)
    if resume:
        raise UserError("resume needs the folder of the run: out=…")
    if resolved.training.devices not in (1, "1"):
        raise UserError("training on several devices needs a folder they share: out=…")
    with tempfile.TemporaryDirectory(prefix="unirex-") as folder:
        return _train(build_system(method, data, resolved), data, resolved, Path(folder), progress=progress)


def _fit_in(folder: Path, method: str, data: Splits, config: Config, resume: bool, progress: bool) -> System:
    from unirex.runs import Run
    from unirex.system import load
    from unirex.train import build_trainer

    run, first = Run(folder, method, config, data), is_first_process()
    if first:
        run.check(resume=resume)
    if run.finished:
        return load(folder)
    system = build_system(method, data, config)  # before the folder is touched: this finds most mistakes
    build_trainer(config, folder, [])
    if first:
        run.open()
    _train(system, data, config, folder, resume=resume, progress=progress)
    if first:
        system.save_pretrained(folder)
        run.close()
    return system


def is_first_process() -> bool:
    """Whether this is the process that writes: under data parallelism every process runs the same script."""
    return all(int(os.environ.get(name, 0)) == 0 for name in ("NODE_RANK", "LOCAL_RANK"))


def build_system(method: str, data: Splits, config: Config) -> System:
    """The system before training: a pretrained encoder, heads from chance."""
    import torch

    from unirex.data.layout import Layout
    from unirex.modeling import RationaleModel
    from unirex.models.encoders import load_pretrained
    from unirex.system import System

    torch.manual_seed(config.seed)
    model = RationaleModel.from_encoder(config, data.info.labels, layout=Layout.of(data), method=method)
    if any(True for _ in model.extractor.parameters()) and not config.objectives.plausibility.weight:
        raise UserError(
            f"extractor '{config.extractor}' has to learn, and only plausibility teaches it; "
            "set objectives.plausibility.weight or choose an attribution algorithm."
        )
    return System(model, load_pretrained(config.encoder, kind="tokenizer"))


def _train(
    system: System, data: Splits, config: Config, folder: Path, *, resume: bool = False, progress: bool
) -> System:
    from unirex.train import train

    train(system.model, system.text_encoder, data, config, folder=folder, resume=resume, progress=progress)
    return system


def check_trainable(data: Splits, config: Config) -> None:
    """The data have what these settings need."""
    for split in ("train", "dev"):
        if not data.get(split):
            raise UserError(f"dataset '{data.info.name}' has no {split} examples; training needs them.")
    weights = config.class_weights
    if weights is not None and data.info.task == "choice":
        raise UserError("class_weights are for labels; a choice between texts has none.")
    if weights is not None and len(weights) != len(data.info.labels):
        raise UserError(
            f"class_weights: {len(weights)} weights for {len(data.info.labels)} labels {data.info.labels}."
        )
    check_gold(data, config)


def check_gold(data: Splits, config: Config) -> None:
    """Plausibility has gold to learn from and an extractor that can learn."""
    name, plausibility = data.info.name, bool(config.objectives.plausibility.weight)
    if config.extractor in ("gold", "inverse") and not all(one.rationale for one in data["train"]):
        raise UserError(f"extractor '{config.extractor}' needs a gold rationale for every text of '{name}'.")
    if config.extractor in ("gold", "inverse") and config.training.gold_fraction < 100:
        raise UserError(f"extractor '{config.extractor}' needs all gold; set training.gold_fraction to 100.")
    if plausibility and not any(one.rationale and any(one.rationale) for one in data["train"]):
        raise UserError(
            f"dataset '{name}' has no gold rationales in train, which plausibility needs; "
            "use aa-f or vanilla, or add a `rationale` column."
        )
    constant = config.extractor == "gradient" and not config.extractor_options.get("create_graph")
    if plausibility and (constant or config.extractor in ("random", "gold", "inverse")):
        raise UserError(
            f"extractor '{config.extractor}' cannot learn plausibility; set its weight to 0"
            + (", or extractor_options.create_graph." if constant else ".")
        )
