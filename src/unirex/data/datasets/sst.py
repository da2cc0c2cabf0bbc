"""The Stanford Sentiment Treebank in two classes, with gold words derived from its parse trees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from reprlib import repr as short
from typing import Any

from unirex.data.example import SPLIT_NAMES, CharSpan, DatasetInfo, Example, Label, Splits
from unirex.data.rows import json_object, nonempty, read_lines
from unirex.data.validate import check_text, is_number, note_place, remark, row_at
from unirex.errors import UserError, unknown

INFO = DatasetInfo(name="sst", labels=("neg", "pos"), metric="accuracy")
FOLDERS = ("sst/trees", "sst", "trees")
SUFFIXES = (".txt", ".jsonl", ".json")  # trees, or records with text, rationale and classification
NEUTRAL = 2
GOLD_FROM = 0.5  # spec/data.md#sst

# ASCII blanks only: a no-break space is inside a word (some leaves hold "8 1/2").
_WORD = re.compile(r"\S+", re.ASCII)
_PIECE = re.compile(r"\s*(?:\(([0-4])\s+(?:([^()\s]+)\s*\))?|(\))|\S)", re.ASCII)
_ESCAPE = re.compile(r"-([LR][RSC])B-|\\([/*])")
_BRACKETS = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}

PlacedItem = tuple[str, int, Any]  # place, number, tree or record


def load(folder: Path, *, seed: int = 0, lowercase: bool = False) -> Splits:
    """The published splits; `seed` is not used. With `lowercase`, all texts are in lower case."""
    files: dict[str, Path] = {}
    for split in SPLIT_NAMES:
        found = [path for suffix in SUFFIXES if (path := Path(folder, f"{split}{suffix}")).is_file()]
        if not found:
            raise UserError(f"{folder}: neither {split}.txt (trees) nor {split}.jsonl; sst needs every split")
        if len(found) > 1:
            raise UserError(f"{folder}: {found[0].name} and {found[1].name} are both {split}; keep one")
        files[split] = found[0]
    return Splits(INFO, {split: list(_examples(path, split, lowercase)) for split, path in files.items()})


def _examples(path: Path, split: str, lowercase: bool) -> Iterator[Example]:
    trees = path.suffix == ".txt"
    items = _lines(path) if trees else _records(path)
    for place, number, item in nonempty(items, path, unit="text"):
        with row_at(place):
            if trees:
                tree = Tree(item)
                text, weights = " ".join(tree.words), tree.weights
                label = None if tree.label == NEUTRAL else INFO.labels[tree.label > NEUTRAL]
            else:
                label, text, weights = _parse_record(item, place)
            text = text.lower() if lowercase else text
            if label is not None:
                name = f"sst-{split}-{number}"
                note_place(place, name)
                yield Example(name, (text,), label, (gold_spans(text, weights),))


def gold_spans(text: str, weights: Iterable[float]) -> tuple[CharSpan, ...]:
    """Each run of gold words as one span.

    >>> gold_spans("not very good , but fun", [0.5, 0.5, 1, 0, 0, 0.5])
    ((0, 13), (20, 23))
    """
    weighted = zip((match.span() for match in _WORD.finditer(text)), weights, strict=True)
    spans: list[CharSpan] = []
    for is_gold, run in groupby(weighted, lambda word: word[1] >= GOLD_FROM):
        if is_gold:
            words = [span for span, _ in run]
            spans.append((words[0][0], words[-1][1]))
    return tuple(spans)


def _lines(path: Path) -> Iterator[PlacedItem]:
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield f"{path}:{number}", number, line


def _records(path: Path) -> Iterator[PlacedItem]:
    """The records of a JSON list, or of one record per line."""
    if not next((line for line in read_lines(path) if line.strip()), "").lstrip().startswith("["):
        yield from _lines(path)
        return
    try:
        records = json.loads("".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: malformed JSON: {error}") from None
    for number, record in enumerate(records, 1):
        yield f"{path}: record {number}", number, record


def _parse_record(item: Any, place: str) -> tuple[Label, str, list[float]]:
    """The label and text of a record, and a weight for each word."""
    record = json_object(item) if isinstance(item, str) else item
    if not isinstance(record, dict):
        raise UserError(
            f"a record must be an object with text, rationale and classification, not {short(record)}"
        )
    text, label = check_text(record.get("text")), record.get("classification")
    if label not in INFO.labels:
        raise unknown("classification", label, INFO.labels)
    weights, words = record.get("rationale"), len(_WORD.findall(text))
    if not isinstance(weights, list) or not all(map(is_number, weights)):
        raise UserError(f"'rationale' must be a list of numbers, one for each word, not {short(weights)}")
    if len(weights) == words - 1:  # three such are in the published train file (spec/data.md#sst)
        remark(place, f"rationale has {words - 1} numbers for {words} words; read as 0 for the last word")
        weights = [*weights, 0.0]
    if len(weights) != words:
        raise UserError(
            f"rationale has {len(weights)} numbers, but the text has {words} words; give one a word"
        )
    return label, text, weights


class Tree:
    """The label of a tree, its words, and for each word the sentiment of the node that explains it as weight.

    A node is explanatory if it is a leaf, or if its sentiment |label - 2| / 2 is stronger than that of all
    nodes below it. A word belongs to the first explanatory node on the path from the root to it
    (spec/data.md#sst).

    >>> tree = Tree("(3 (2 It) (3 (2 is) (4 (2 great) (3 fun))))")
    >>> tree.label, tree.words, tree.weights
    (3, ['It', 'is', 'great', 'fun'], [0.0, 0.0, 1.0, 1.0])
    """

    def __init__(self, line: str) -> None:
        self.words: list[str] = []
        self.weights: list[float] = []
        self._open: list[tuple[float, int]] = []  # sentiment and first word of each open node
        self._below = [0.0]  # the strongest sentiment so far at the top level and below each open node
        labels = [self._take(piece) for piece in _PIECE.finditer(line)]  # no recursion: trees may be deep
        if self._open or not labels:
            raise UserError(f"the tree is cut off: {len(self._open)} '(' without ')'")
        self.label = labels[0]

    def _take(self, piece: re.Match[str]) -> int:
        label, word, close = piece.groups()
        sentiment = abs(int(label or NEUTRAL) - NEUTRAL) / 2
        if close and self._open:
            self._close(*self._open.pop(), self._below.pop())
        elif not label or (self.words and not self._open):
            column = piece.end() - len(piece[0].lstrip()) + 1
            raise UserError(
                f"malformed tree at column {column}: unexpected {short(piece[0].strip())}; "
                "a line is one tree of nodes (label word) or (label node node) with labels 0 to 4"
            )
        elif word:
            self.words.append(unescape(word))
            self.weights.append(sentiment)
            self._below[-1] = max(self._below[-1], sentiment)
        else:
            self._open.append((sentiment, len(self.words)))
            self._below.append(0.0)
        return int(label or NEUTRAL)

    def _close(self, sentiment: float, first: int, below: float) -> None:
        if first == len(self.words):
            raise UserError(f"malformed tree: the node after word {first} holds no words")
        if sentiment > below:  # explanatory; an explanatory node above it closes later and overwrites this
            self.weights[first:] = [sentiment] * (len(self.words) - first)
        self._below[-1] = max(self._below[-1], sentiment, below)


def unescape(word: str) -> str:
    r"""A word without the treebank's escapes of brackets, slashes and asterisks.

    >>> unescape("-LRB-"), unescape("1\\/2")
    ('(', '1/2')
    """
    return _ESCAPE.sub(lambda escape: escape[2] or _BRACKETS[escape[1]], word)
