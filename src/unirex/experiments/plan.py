"""What a study will take: its cells, passes over texts, and the time on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from unirex.config import Config, build_config
from unirex.errors import UserError, one_line
from unirex.experiments.cells import Cell, Data
from unirex.experiments.study import Study
from unirex.training.cost import ATTRIBUTION, ATTRIBUTIONS, FORWARD, POINTS, passes_per_text

TIMED = 3  # batches timed
TEXTS = 32  # in each


@dataclass(frozen=True)
class CellPlan:
    """What a cell will take."""

    cell: Cell
    state: str
    passes: float  # over texts, each forward and backward
    seconds: float | None  # here, if it is not done; None: not known
    peak: int | None = None  # bytes a training holds at most, here


def plan(study: Study, store: Path, *, timed: bool = True) -> list[CellPlan]:
    """The cells with their passes; with `timed`, the seconds of one pass are measured on this machine."""
    speeds: dict[tuple[str, str, str], Sample | None] = {}
    planned = []
    for cell in study.cells:
        passes, data, config = _passes(cell, study)
        kind = (config.encoder, data.name, str(config.max_length))
        if timed and kind not in speeds:
            speeds[kind] = sample(config, data)
        found = speeds.get(kind)
        seconds = None if found is None else passes * found.seconds
        peak = found.peak(config) if found is not None and cell.work == "train" else None
        planned.append(CellPlan(cell, cell.state(store), passes, seconds, peak))
    return planned


def _passes(cell: Cell, study: Study) -> tuple[float, Data, Config]:
    trained = cell if cell.work == "train" else _trained(cell, study)
    config = build_config(trained.content["config"])
    if cell.work == "train":
        data = next(data for data in study.data if data.source == cell.content["data"]["source"])
        return training_passes(config, len(data.load()["train"])), data, config
    data = next(data for data in [*study.data, *study.on] if data.source == cell.content["data"]["source"])
    texts = cell.content["options"].get("number") or len(data.load()[cell.content["split"]])
    return measuring_passes(config, cell.content["options"], texts), data, config


def _trained(cell: Cell, study: Study) -> Cell:
    return next(other for other in study.cells if other.key == cell.after[0])


def training_passes(config: Config, texts: int) -> float:
    """Passes over texts of a training, were it to take all its epochs."""
    training = config.training
    seen = min(texts, (training.max_batches or texts) * training.batch_size) * training.epochs
    return seen * passes_per_text(config)


def measuring_passes(config: Config, options: Mapping[str, Any], texts: int) -> float:
    """Passes over texts of a measurement."""
    budgets = len(options.get("budgets") or config.budgets)
    views = budgets * (1 + options.get("draws", 5) + len(options.get("beside") or [0]))
    extractor = options.get("extractor") or config.extractor
    scoring = 0.0
    if extractor in ATTRIBUTIONS:
        steps = (options.get("extractor_options") or config.extractor_options).get("steps", POINTS)
        scoring = ATTRIBUTION * steps
    return texts * (FORWARD * (1 + views) + scoring)


@dataclass(frozen=True)
class Sample:
    """What some texts of a dataset took here."""

    seconds: float  # of one training pass over a text
    model: Any
    longest: int  # tokens in the longest text

    def peak(self, config: Config) -> int:
        """Bytes a training with these settings holds at most."""
        from unirex.training.memory import model_peak

        return model_peak(self.model, config, self.longest)


def sample(config: Config, data: Data) -> Sample | None:
    """Time a plain classifier on texts of this data; None if the encoder cannot be had here."""
    from unirex.methods.building import build_system
    from unirex.methods.stages import classifier_config

    splits = data.load()
    try:
        system = build_system("vanilla", splits, classifier_config(config))
    except UserError:
        return None
    seconds, longest = _timed(system, _spread(splits["train"], TIMED * TEXTS))
    return Sample(seconds, system.model, longest)


def _timed(system: Any, examples: Sequence[Any]) -> tuple[float, int]:
    """Seconds of a pass over a text, and the tokens of the longest."""
    from unirex.encoding.batch import collate

    encoded = list(system.text_encoder.encode(examples))
    pad, model = int(system.tokenizer.pad_token_id), system.model.train()
    begin = time.perf_counter()
    for number, batch in enumerate(_batches(encoded)):
        model(**vars(collate(batch, pad))).loss.backward()
        if number == 0:
            begin = time.perf_counter()  # the first one warms up
    seconds = (time.perf_counter() - begin) / max(1, len(encoded) - TEXTS)
    return seconds, collate(encoded, pad).input_ids.shape[1]


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, TEXTS)):
        yield part


def _spread(items: Sequence[Any], number: int) -> list[Any]:
    return [items[int(index * len(items) / number)] for index in range(min(number, len(items)))]


def checked(study: Study) -> list[str]:
    """What would make trainings fail, found before any is begun: one line for every row."""
    from unirex.methods.building import check_method, check_trainable

    problems = []
    for cell in study.cells:
        if cell.work == "train":
            config = build_config(cell.content["config"])
            data = next(data for data in study.data if data.source == cell.content["data"]["source"])
            try:
                check_method(cell.content["method"], config)
                check_trainable(data.load(), config)
            except UserError as error:
                problems.append(f"{cell.name}: {one_line(error)}")
    return problems
