"""The work in a cell, as passes over texts, and the time that it takes on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from unirex.config import Config, build_config
from unirex.encoding.gold import gold_share, gold_size
from unirex.errors import UserError
from unirex.experiments.cells import Cell, Data
from unirex.extractors import extractor_name
from unirex.scale.cores import threads_used
from unirex.training.cost import FORWARD, SECOND_ENCODER, VIEWS, attribution_passes, passes_per_text

TIMED = 3  # batches timed
TEXTS = 32  # in each
WORTH_TIMING = 20_000  # passes; fewer are done before an estimate is of use


@dataclass(frozen=True)
class Work:
    """What a cell does."""

    passes: float  # over texts, each forward and backward
    data: Data
    config: Config  # of what is trained or measured


def work_of(cells: Sequence[Cell]) -> dict[str, Work]:
    """The work in every cell, by key; trainings stand among the cells that measure them."""
    trained = {cell.key: build_config(cell.content["config"]) for cell in cells if cell.work == "train"}
    found = {}
    for cell in cells:
        data, config = (
            Data.read(cell.content["data"]),
            trained[cell.key if cell.work == "train" else cell.after[0]],
        )
        if cell.work == "train":
            sizes = {name: len(data.load().get(name, ())) for name in ("train", "dev")}
            passes = training_passes(config, sizes["train"]) + stage_passes(
                cell.content["method"], config, sizes
            )
        else:
            texts = len(data.load()[cell.content["split"]])
            options = cell.content["options"]
            passes = measuring_passes(config, options, min(texts, options.get("number") or texts))
        found[cell.key] = Work(passes, data, config)
    return found


def paces(cells: Sequence[Cell], store: Path, work: Mapping[str, Work], *, threads: int) -> dict[str, float]:
    """Seconds of a pass by kind of cell, from cells that are done; if none is and much is to do, timed."""
    found: dict[str, float] = {}
    for kind in dict.fromkeys(cell.work for cell in cells):
        done = [cell for cell in cells if cell.work == kind and cell.state(store) == "done"]
        passes = sum(work[cell.key].passes for cell in done)
        if passes:
            found[kind] = sum(cell.result(store)["seconds"] for cell in done) / passes
    if found or sum(item.passes for item in work.values()) < WORTH_TIMING:
        return found
    first = work[cells[0].key]
    timed = sample(first.config, first.data, threads=threads)
    return {} if timed is None else {cell.work: timed for cell in cells}


def training_passes(config: Config, texts: int) -> float:
    """Passes over texts of a training, were it to take all its epochs."""
    training, seen = config.training, texts
    if training.gold_fraction < 100:  # texts with gold are drawn again and again
        others = texts - gold_size(texts, training.gold_fraction)
        room = training.batch_size - gold_share(training.batch_size, training.gold_factor)
        seen = -(-others // room) * training.batch_size  # rounded up
    if training.max_batches:
        seen = min(seen, training.max_batches * training.batch_size)
    return seen * training.epochs * passes_per_text(config)


def stage_passes(method: str, config: Config, sizes: Mapping[str, int]) -> float:
    """Passes by which a method with stages scores whole splits, for another stage to learn from."""
    if method == "l2e":
        return sizes["train"] * _scoring_passes(config.l2e.teacher, config.l2e.teacher_options)
    if not method.startswith("fresh"):
        return 0.0
    support = _scoring_passes(config.fresh.saliency, config.fresh.saliency_options)
    if config.extractor != "dual-lm":
        return sum(sizes.values()) * support
    taught_by_support = not config.objectives.plausibility.weight
    return sum(sizes.values()) * _scoring_passes("dual-lm", {}) + taught_by_support * sizes["train"] * support


def _scoring_passes(extractor: str, options: Mapping[str, Any]) -> float:
    """Passes that it takes to predict and score a text."""
    return FORWARD * (1 + (extractor in SECOND_ENCODER)) + attribution_passes(extractor, options)


def measuring_passes(config: Config, options: Mapping[str, Any], texts: int) -> float:
    """Passes over texts of a measurement."""
    budgets = len(options.get("budgets") or config.budgets)
    active = [name for name, _ in config.objectives.active()]
    usual = 1 + any(name in active for name in VIEWS)  # the removal of training, and one it never saw
    beside = options.get("beside")
    views = budgets * (1 + options.get("draws", 5) + (usual if beside is None else len(beside)))
    extractor = extractor_name(options.get("extractor") or config.extractor)
    own = extractor == config.extractor and "extractor_options" not in options
    scoring = attribution_passes(
        extractor, config.extractor_options if own else options.get("extractor_options", {})
    )
    return texts * (FORWARD * (1 + views) + scoring)


def sample(config: Config, data: Data, *, threads: int) -> float | None:
    """Seconds of a pass of a plain classifier over a text of this data; None if there is no encoder here."""
    from unirex.methods.building import build_system
    from unirex.methods.stage_keys import classifier_config

    splits = data.load()
    try:
        system = build_system("vanilla", splits, classifier_config(config))
    except UserError:
        return None
    with threads_used(threads):
        return _timed(system, _spread(splits["train"], TIMED * TEXTS))


def _timed(system: Any, examples: Sequence[Any]) -> float:
    from unirex.encoding.batch import collate

    encoded = list(system.text_encoder.encode(examples))
    pad, model = int(system.tokenizer.pad_token_id), system.model.train()
    begin, counted = time.perf_counter(), len(encoded)
    for number, batch in enumerate(_batches(encoded)):
        model(**vars(collate(batch, pad))).loss.backward()
        if number == 0 and len(encoded) > TEXTS:
            begin, counted = time.perf_counter(), len(encoded) - TEXTS  # the first one warms up
    return (time.perf_counter() - begin) / max(1, counted)


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, TEXTS)):
        yield part


def _spread(items: Sequence[Any], number: int) -> list[Any]:
    return [items[int(index * len(items) / number)] for index in range(min(number, len(items)))]
