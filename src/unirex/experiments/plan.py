"""What a study will take: its cells, passes over texts, memory, and the time on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unirex.config import build_config
from unirex.errors import UserError, one_line
from unirex.experiments.cells import Cell, Data
from unirex.experiments.needs import encoder_config, first_position, with_needs
from unirex.experiments.passes import sample, work_of
from unirex.experiments.study import Study


@dataclass(frozen=True)
class CellPlan:
    """What a cell will take; its `needs` are those of a machine like this one."""

    cell: Cell
    state: str
    passes: float  # over texts, each forward and backward
    seconds: float | None  # here, if it is not done; None: not known


def plan(study: Study, store: Path, *, threads: int | None = None) -> list[CellPlan]:
    """The cells with their passes; the seconds of one are measured here with this number of CPU threads.

    Without one, nothing is timed.
    """
    speeds: dict[tuple[str, str, str], float | None] = {}
    planned, work = [], work_of(study.cells)
    for cell in with_needs(study.cells, work):
        item = work[cell.key]
        kind = (item.config.encoder, item.data.name, str(item.config.max_length))
        if threads is not None and kind not in speeds:
            speeds[kind] = sample(item.config, item.data, threads=threads)
        found = speeds.get(kind)
        seconds = None if found is None else item.passes * found
        planned.append(CellPlan(cell, cell.state(store), item.passes, seconds))
    return planned


def checked(study: Study, store: Path | None = None, *, failed: bool = True) -> list[str]:
    """What would make cells that are not done fail, found before any is run: one line for every reason.

    Without `failed`, those that have failed before, which are not run again, are left out.
    """
    failing: dict[str, list[str]] = {}
    for cell in study.cells if store is None else _to_come(study, store, failed=failed):
        try:
            _check_training(cell) if cell.work == "train" else _check_measurement(cell)
        except UserError as error:
            failing.setdefault(one_line(error), []).append(f"{cell.work} {cell.name}")
    also = {reason: f" and {len(names) - 1} more" if names[1:] else "" for reason, names in failing.items()}
    return [f"{names[0]}{also[reason]}: {reason}" for reason, names in failing.items()]


def too_large(study: Study, store: Path, *, workers: int = 1, failed: bool = True) -> list[str]:
    """The cells to come that need more memory than this machine has, a line each; `failed` as in `checked`.

    With several workers, also whether the largest ones fit beside one another.
    """
    from unirex.models.plan import memory, share_memory

    there, left = memory("cpu"), _to_come(study, store, failed=failed)
    with share_memory(workers):
        needed = [cell for cell in with_needs(left, work_of(study.cells)) if not cell.needs.gpus]
    lines = [
        f"{cell.work} {cell.name}: takes about {cell.needs.memory / 1e9:.0f} GB of memory, this machine has "
        f"{there / 1e9:.0f} GB; a smaller training.batch_size takes less."
        for cell in needed
        if cell.needs.memory > there
    ]
    for work, things in (("train", "trainings"), ("measure", "measurements")) if not lines else ():
        largest = sorted(cell.needs.memory for cell in needed if cell.work == work)[-workers:]
        if sum(largest) > there:
            lines.append(
                f"the {len(largest)} largest {things}, side by side: take about {sum(largest) / 1e9:.0f} GB "
                f"of memory, this machine has {there / 1e9:.0f} GB; fewer --workers take less."
            )
    return lines


def _to_come(study: Study, store: Path, *, failed: bool) -> list[Cell]:
    """The cells that are not done, with or without those that have failed."""
    settled = {"done"} if failed else {"done", "failed"}
    return [cell for cell in study.cells if cell.state(store) not in settled]


def _check_training(cell: Cell) -> None:
    from unirex.methods.building import check_method, check_trainable
    from unirex.models.task import check_length

    config = build_config(cell.content["config"])
    encoder, missing = encoder_config(config.encoder)
    if missing:
        raise UserError(missing)
    if config.max_length is not None:
        check_length(config.max_length, encoder, offset=first_position(config.encoder))
    check_method(cell.content["method"], config)
    check_trainable(Data.read(cell.content["data"]).load(), config)


def _check_measurement(cell: Cell) -> None:
    from unirex.extractors import check_options, extractor_name

    options = cell.content["options"]
    if options.get("extractor"):
        check_options(extractor_name(options["extractor"]), options.get("extractor_options", {}))
