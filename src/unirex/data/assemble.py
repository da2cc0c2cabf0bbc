"""Records, wherever they were read, made into a dataset that can be learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Label, Splits, TaskKind, choice_label
from unirex.data.split import carve_dev, stratified_split
from unirex.data.tabular import Record, check_shapes
from unirex.data.validate import at, check_ids, check_label, check_labels, check_splits, label_order, row_at
from unirex.errors import UserError


def assemble(records: Sequence[Record], *, name: str, place: object, seed: int) -> Splits:
    """The splits the records name, or else ones drawn by `seed`, and what is known of them all."""
    labelled = _labelled(records)
    if not labelled:
        raise UserError(f"{place}: no example that could be read; it needs at least one")
    for split in {record.split: None for record in labelled}:
        check_ids((record.place, record.example.id) for record in labelled if record.split == split)
    check_labels((record.place, record.example.label) for record in labelled)
    check_shapes(labelled)
    _all_or_none(labelled)
    with at(place):
        parts = _partition(labelled, seed)
        task = _task(labelled[0].example)
        _check_choices(parts) if task == "choice" else check_splits(parts)
    # Of a choice only the question has reasons: without the answers there would be nothing to choose from.
    reasons = tuple(range(len(labelled[0].example.segments))) if task == "choice" else None
    return Splits(DatasetInfo(name, _labels(parts, task), task, rationale_segments=reasons), parts)


def _labelled(records: Sequence[Record]) -> list[Record]:
    """The records again; one without a label is a mistake."""
    good: list[Record] = []
    for record in records:
        with row_at(record.place):
            check_label(record.example.label)
            good.append(record)
    return good


def _task(example: Example) -> TaskKind:
    if example.choices is not None:
        return "choice"
    return "text" if len(example.segments) == 1 else "segments"


def _labels(parts: Mapping[str, Sequence[Example]], task: TaskKind) -> tuple[Label, ...]:
    if task == "choice":
        most = max(len(example.choices or ()) for part in parts.values() for example in part)
        return tuple(choice_label(number) for number in range(most))
    return label_order(example.label for example in parts["train"] if example.label is not None)


def _check_choices(parts: Mapping[str, Sequence[Example]]) -> None:
    """A letter that training never showed is no mistake: every choice is read by the same head."""
    if not parts.get("train"):
        raise UserError("no training examples; mark some rows as split 'train' or give a train file")


def _all_or_none(records: Sequence[Record]) -> None:
    bare = [record for record in records if record.split is None]
    if bare and len(bare) < len(records):
        raise UserError(f"{bare[0].place}: the row has no split, but others have; give it one")


def _partition(records: Sequence[Record], seed: int) -> Mapping[str, Sequence[Example]]:
    if records[0].split is None:
        return stratified_split([record.example for record in records], seed=seed)
    parts = {
        name: [record.example for record in records if record.split == name]
        for name in SPLIT_NAMES
        if any(record.split == name for record in records)
    }
    return carve_dev(parts, seed=seed)
