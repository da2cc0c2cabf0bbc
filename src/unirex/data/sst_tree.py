"""A parse tree of the Stanford Sentiment Treebank, and how strongly each of its words speaks."""

from __future__ import annotations

import re
from reprlib import repr as short

from unirex.errors import UserError

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
