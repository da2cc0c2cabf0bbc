"""The Stanford Sentiment Treebank in two classes, with gold words derived from its parse trees.

Reads the Penn Treebank files `train.txt`, `dev.txt` and `test.txt`, one tree a line: `(4 (2 Very) (3 good))`.
The label of a node runs from 0 (very negative) to 4 (very positive), and the root decides the class. Trees
with a neutral root (2) are left out: 6920/872/1821 of 8544/1101/2210 remain.

Nobody highlighted these texts: a word is gold if the node that explains it is not neutral (`sst_tree.Tree`).

The same as JSON, in `{train,dev,test}.json` or `.jsonl`, is read too: records of `text` (words between ASCII
blanks), `rationale` (a number for each word) and `classification` (neg or pos).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from reprlib import repr as short
from typing import Any

from unirex.data.example import SPLIT_NAMES, CharSpan, DatasetInfo, Example, Label, Splits
from unirex.data.rows import json_object, lines
from unirex.data.sst_tree import NEUTRAL, Tree
from unirex.data.validate import check_text, remark, row_at, stands_at
from unirex.errors import UserError, unknown

INFO = DatasetInfo(name="sst", labels=("neg", "pos"), metric="accuracy")
FOLDERS = ("sst/trees", "sst", "trees")
GOLD_FROM = 0.5  # SPEC A2.1

_WORD = re.compile(r"\S+", re.ASCII)  # a no-break space is inside a word

Source = tuple[str, int, Any]  # a text as it stands in its file: its place, its number, its tree or record
Read = tuple[Label | None, str, list[float]]  # the label (None: neutral), the text, a weight for each word


def load(folder: Path, *, seed: int = 0, lowercase: bool = False) -> Splits:
    """The published splits, so `seed` decides nothing; `lowercase` writes all texts in lower case."""
    files = {split: _file(Path(folder), split) for split in SPLIT_NAMES}
    return Splits(INFO, {split: list(_examples(path, split, lowercase)) for split, path in files.items()})


def gold_spans(text: str, weights: Iterable[float]) -> tuple[CharSpan, ...]:
    """Each run of gold words as one span.

    >>> gold_spans("not very good , but fun", [0.5, 0.5, 1, 0, 0, 0.5])
    ((0, 13), (20, 23))
    """
    placed = zip((found.span() for found in _WORD.finditer(text)), weights, strict=True)
    runs = [
        [span for span, _ in run] for gold, run in groupby(placed, lambda one: one[1] >= GOLD_FROM) if gold
    ]
    return tuple((run[0][0], run[-1][1]) for run in runs)


def _file(folder: Path, split: str) -> Path:
    found = [path for suffix in _KINDS if (path := folder / f"{split}{suffix}").is_file()]
    if not found:
        raise UserError(f"{folder}: neither {split}.txt (trees) nor {split}.jsonl; sst needs every split")
    if len(found) > 1:
        raise UserError(f"{folder}: {found[0].name} and {found[1].name} are both {split}; keep one")
    return found[0]


def _examples(path: Path, split: str, lowercase: bool) -> Iterator[Example]:
    _, read = _KINDS[path.suffix]
    for place, number, source in _sources(path):
        with row_at(place):
            label, text, weights = read(source, place)
            text = text.lower() if lowercase else text
            if label is not None:
                stands_at(place, f"sst-{split}-{number}")
                yield Example(f"sst-{split}-{number}", (text,), label, (gold_spans(text, weights),))


def _sources(path: Path) -> Iterator[Source]:
    sources, _ = _KINDS[path.suffix]
    empty = True
    try:
        for source in sources(path):
            empty = False
            yield source
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if empty:
        raise UserError(f"{path}: the file is empty; it needs at least one text")


def _lines(path: Path) -> Iterator[Source]:
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", number, line


def _records(path: Path) -> Iterator[Source]:
    """JSON is one list of all records, or one record a line."""
    if not next((line for line in lines(path) if line.strip()), "").lstrip().startswith("["):
        yield from _lines(path)
        return
    try:
        records = json.loads("".join(lines(path)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: malformed JSON: {error}") from None
    for number, record in enumerate(records, 1):
        yield f"{path}: record {number}", number, record


def _read_tree(line: Any, _: str) -> Read:
    tree = Tree(line)
    label = None if tree.label == NEUTRAL else INFO.labels[tree.label > NEUTRAL]
    return label, " ".join(tree.words), tree.weights


def _read_record(source: Any, place: str) -> Read:
    record = json_object(source) if isinstance(source, str) else source
    if not isinstance(record, dict):
        raise UserError(
            f"a record must be an object with text, rationale and classification, not {short(record)}"
        )
    text, label = check_text(record.get("text")), record.get("classification")
    if label not in INFO.labels:
        raise unknown("classification", label, INFO.labels)
    return label, text, _weights(record.get("rationale"), len(_WORD.findall(text)), place)


def _weights(rationale: object, words: int, place: str) -> list[float]:
    if not isinstance(rationale, list) or not all(
        type(one) in (int, float) and one == one for one in rationale
    ):
        raise UserError(f"'rationale' must be a list of numbers, one for each word, not {short(rationale)}")
    if len(rationale) == words - 1:  # three such are in the published train file (SPEC A2.1)
        remark(place, f"rationale has {words - 1} numbers for {words} words; read as 0 for the last word")
        return [*rationale, 0.0]
    if len(rationale) != words:
        raise UserError(
            f"rationale has {len(rationale)} numbers, but the text has {words} words; give one a word"
        )
    return rationale


_KINDS: dict[str, tuple[Callable[[Path], Iterator[Source]], Callable[[Any, str], Read]]] = {
    ".txt": (_lines, _read_tree),
    ".jsonl": (_records, _read_record),
    ".json": (_records, _read_record),
}
