"""The Stanford Sentiment Treebank in two classes, with gold words derived from its parse trees."""

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
from unirex.data.validate import check_text, remark, row_at, stands_at
from unirex.errors import UserError, unknown

NEUTRAL = 2

# ASCII blanks only: a no-break space is inside a word (some leaves hold "8 1/2").
_PIECE = re.compile(r"\s*(?:\(([0-4])\s+(?:([^()\s]+)\s*\))?|(\))|\S)", re.ASCII)
_ESCAPE = re.compile(r"-([LR][RSC])B-|\\([/*])")
_BRACKETS = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}


class Tree:
    """The label of a tree, its words, and the weight of each: the sentiment of the node that explains it.

    A node is explanatory if it is a leaf, or if its sentiment |label - 2| / 2 is stronger than any below it.
    A word belongs to the first explanatory node on its way down from the root (SPEC A2.1).

    >>> tree = Tree("(3 (2 It) (3 (2 is) (4 (2 great) (3 fun))))")
    >>> tree.label, tree.words, tree.weights
    (3, ['It', 'is', 'great', 'fun'], [0.0, 0.0, 1.0, 1.0])
    """

    def __init__(self, line: str) -> None:
        self.words: list[str] = []
        self.weights: list[float] = []
        self._open: list[
            tuple[float, int]
        ] = []  # of each open node, its sentiment and its first word's number
        self._below = [0.0]  # the strongest sentiment so far below each open node, and outside of all
        labels = [self._take(piece) for piece in _PIECE.finditer(line)]  # no recursion: trees may be deep
        if self._open or not labels:
            raise UserError(f"the tree is cut off: {len(self._open)} '(' without ')'")
        self.label = labels[0]

    def _take(self, piece: re.Match[str]) -> int:
        label, word, close = piece.groups()
        if close and self._open:
            self._close(*self._open.pop(), self._below.pop())
        elif not label or (self.words and not self._open):
            raise _misplaced(piece)
        elif word:
            self._put(word, _sentiment(label))
        else:
            self._open.append((_sentiment(label), len(self.words)))
            self._below.append(0.0)
        return int(label or NEUTRAL)

    def _put(self, word: str, sentiment: float) -> None:
        self.words.append(unescape(word))
        self.weights.append(sentiment)
        self._below[-1] = max(self._below[-1], sentiment)

    def _close(self, sentiment: float, first: int, below: float) -> None:
        if first == len(self.words):
            raise UserError(f"malformed tree: the node after word {first} holds no words")
        if sentiment > below:  # explanatory; should a node above it be so too, that one has the last word
            self.weights[first:] = [sentiment] * (len(self.words) - first)
        self._below[-1] = max(self._below[-1], sentiment, below)


def unescape(word: str) -> str:
    r"""A word as it was before the treebank escaped its brackets, slashes and asterisks.

    >>> unescape("-LRB-"), unescape("1\\/2")
    ('(', '1/2')
    """
    return _ESCAPE.sub(lambda escape: escape[2] or _BRACKETS[escape[1]], word)


def _sentiment(label: str) -> float:
    return abs(int(label) - NEUTRAL) / 2


def _misplaced(piece: re.Match[str]) -> UserError:
    column = piece.end() - len(piece[0].lstrip()) + 1
    return UserError(
        f"malformed tree at column {column}: unexpected {short(piece[0].strip())}; "
        "a line is one tree of nodes (label word) or (label node node) with labels 0 to 4"
    )


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
