"""Tweets in the layout of TweetEval: what its tasks have in common.

`{train,val,test}_text.txt` holds one tweet a line, `{train,val,test}_labels.txt` the number of its class, and
`mapping.txt` what the numbers mean. The splits are the published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unirex.data.example import DatasetInfo, Example, Label, Splits
from unirex.data.rows import lines
from unirex.data.validate import at, check_file, check_splits, check_text, row_at, stands_at
from unirex.errors import UserError

FILES = {"train": "train", "dev": "val", "test": "test"}


def load_tweets(folder: Path, info: DatasetInfo, *, mapping: Sequence[str]) -> Splits:
    """The tweets of a task whose classes `mapping.txt` calls by these names."""
    _check_mapping(folder / "mapping.txt", mapping)
    parts = {split: _part(folder, name, info.labels) for split, name in FILES.items()}
    with at(folder):
        check_splits(parts)
    return Splits(info, parts)


def _check_mapping(path: Path, names: Sequence[str]) -> None:
    """The folder is of this task, and its numbers are in the order known here."""
    wanted = [[str(number), name] for number, name in enumerate(names)]
    found = [line.split() for line in _lines(path) if line.strip()]
    if found != wanted:
        shown, should = (", ".join(" ".join(pair) for pair in pairs) for pairs in (found, wanted))
        raise UserError(f"{path}: says {shown!r}, not {should!r}; this is the folder of another task")


def _part(folder: Path, name: str, labels: Sequence[Label]) -> list[Example]:
    texts, numbers = folder / f"{name}_text.txt", folder / f"{name}_labels.txt"
    tweets, marks = _lines(texts), _lines(numbers)
    if len(tweets) != len(marks):
        raise UserError(
            f"{texts}: {len(tweets)} lines, but {numbers.name} has {len(marks)}; "
            "line N of one goes with line N of the other, so get both files again"
        )
    examples: list[Example] = []
    for number, (tweet, mark) in enumerate(zip(tweets, marks, strict=True), 1):
        with row_at(f"{texts}:{number}"):
            label = _label(mark.strip(), labels, f"{numbers.name}:{number}")
            stands_at(f"{texts}:{number}", f"{name}-{number}")
            examples.append(Example(f"{name}-{number}", (check_text(tweet, column="the tweet"),), label))
    return examples


def _lines(path: Path) -> list[str]:
    check_file(path, suffixes=(".txt",))
    return [line.removesuffix("\n").removesuffix("\r") for line in lines(path)]


def _label(mark: str, labels: Sequence[Label], place: str) -> Label:
    known = {str(number): label for number, label in enumerate(labels)}
    if mark not in known:
        raise UserError(f"its label is {mark!r} ({place}); it must be one of {', '.join(known)}")
    return known[mark]
