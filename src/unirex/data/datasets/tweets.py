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
    path = folder / "mapping.txt"
    expected = [f"{number} {name}" for number, name in enumerate(mapping)]
    found = [" ".join(line.split()) for line in _lines(path) if line.strip()]
    if found != expected:
        shown = f"says {', '.join(found)!r}, not {', '.join(expected)!r}"
        raise UserError(f"{path}: {shown}; this is the folder of another task")
    parts = {split: _part(folder, name, info.labels) for split, name in FILES.items()}
    with at(folder):
        check_splits(parts)
    return Splits(info, parts)


def _part(folder: Path, name: str, labels: Sequence[Label]) -> list[Example]:
    texts, numbers = folder / f"{name}_text.txt", folder / f"{name}_labels.txt"
    tweets, classes = _lines(texts), _lines(numbers)
    if len(tweets) != len(classes):
        raise UserError(
            f"{texts}: {len(tweets)} lines, but {numbers.name} has {len(classes)}; "
            "line N of one goes with line N of the other, so get both files again"
        )
    known = {str(number): label for number, label in enumerate(labels)}
    examples: list[Example] = []
    for number, (tweet, line) in enumerate(zip(tweets, classes, strict=True), 1):
        place, found = f"{texts}:{number}", line.strip()
        with row_at(place):
            if found not in known:
                where = f"{numbers.name}:{number}"
                raise UserError(f"its label is {found!r} ({where}); it must be one of {', '.join(known)}")
            note_place(place, f"{name}-{number}")
            segments = (check_text(tweet, column="the tweet"),)
            examples.append(Example(f"{name}-{number}", segments, known[found]))
    return examples


def _lines(path: Path) -> list[str]:
    check_file(path, suffixes=(".txt",))
    return [line.removesuffix("\n").removesuffix("\r") for line in read_lines(path)]
