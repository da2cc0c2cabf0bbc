"""Reader for TweetEval folders, shared by Irony and OffensEval.

`{train,val,test}_text.txt` holds one tweet per line, `{train,val,test}_labels.txt` the number of its class,
and `mapping.txt` the names of the classes. The splits are the published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unirex.data.example import DatasetInfo, Example, Label, Splits
from unirex.data.rows import read_lines
from unirex.data.validate import at, check_file, check_splits, check_text, note_place, row_at
from unirex.errors import UserError

FILES = {"train": "train", "dev": "val", "test": "test"}


def load_tweets(folder: Path, info: DatasetInfo, *, mapping: Sequence[str]) -> Splits:
    """The tweets of a task; `mapping` are the class names that `mapping.txt` must have."""
    _check_mapping(folder / "mapping.txt", mapping)
    parts = {split: _part(folder, name, info.labels) for split, name in FILES.items()}
    with at(folder):
        check_splits(parts)
    return Splits(info, parts)


def _check_mapping(path: Path, names: Sequence[str]) -> None:
    """Raise a `UserError` if the folder is of another task, or its classes are numbered differently."""
    expected = [f"{number} {name}" for number, name in enumerate(names)]
    found = [" ".join(line.split()) for line in _lines(path) if line.strip()]
    if found != expected:
        shown = f"says {', '.join(found)!r}, not {', '.join(expected)!r}"
        raise UserError(f"{path}: {shown}; this is the folder of another task")


def _part(folder: Path, name: str, labels: Sequence[Label]) -> list[Example]:
    texts, numbers = folder / f"{name}_text.txt", folder / f"{name}_labels.txt"
    tweets, classes = _lines(texts), _lines(numbers)
    if len(tweets) != len(classes):
        raise UserError(
            f"{texts}: {len(tweets)} lines, but {numbers.name} has {len(classes)}; "
            "line N of one goes with line N of the other, so get both files again"
        )
    examples: list[Example] = []
    for number, (tweet, class_number) in enumerate(zip(tweets, classes, strict=True), 1):
        with row_at(f"{texts}:{number}"):
            label = _label(class_number.strip(), labels, f"{numbers.name}:{number}")
            note_place(f"{texts}:{number}", f"{name}-{number}")
            examples.append(Example(f"{name}-{number}", (check_text(tweet, column="the tweet"),), label))
    return examples


def _lines(path: Path) -> list[str]:
    check_file(path, suffixes=(".txt",))
    return [line.removesuffix("\n").removesuffix("\r") for line in read_lines(path)]


def _label(class_number: str, labels: Sequence[Label], place: str) -> Label:
    known = {str(number): label for number, label in enumerate(labels)}
    if class_number not in known:
        raise UserError(f"its label is {class_number!r} ({place}); it must be one of {', '.join(known)}")
    return known[class_number]
