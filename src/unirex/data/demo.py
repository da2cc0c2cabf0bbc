"""The embedded corpus `demo`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from unirex.data.demo_grammar import COMMON, DOMAINS, PERSONS, Rules
from unirex.data.example import CharSpan, DatasetInfo, Example, Splits

LABELS = ("negative", "positive")
INFO = DatasetInfo(name="demo", labels=LABELS)
SIZES = {"train": 3000, "dev": 400, "test": 600}
SHARES = {"plain": 4, "negation": 5, "contrast": 4, "aside": 3, "hedge": 2, "conduct": 2}  # out of 20

WORDS = range(8, 36)  # the lengths a text may have

_SLOT = re.compile(r"\{(\w+)([-~]?)\}")
_SENTENCE_START = re.compile(r"(^|[.!?] )(\[?)([a-z])")
_ECHO = re.compile(r"\b(\w{5,}),? and (?:\w+ ){0,3}\1\b")  # "superb, and the acting is superb"


def load(seed: int = 0) -> Splits:
    """The corpus a seed stands for; no text occurs twice, within or across splits."""
    rng = random.Random(f"demo-{seed}")  # text seeds do not depend on PYTHONHASHSEED
    seen: set[str] = set()
    return Splits(INFO, {split: _split(split, rng, seen) for split in SIZES})


def schedule(size: int) -> Iterator[tuple[str, str]]:
    """The construction and label of each text of a split: every construction praises and blames in turn."""
    constructions = [name for name, share in SHARES.items() for _ in range(share)]
    for index in range(size):
        yield constructions[index // 2 % len(constructions)], LABELS[index % 2]


@dataclass(frozen=True)
class Writer:
    """Somebody with one thing to review, who picks every word at random but keeps to the grammar."""

    rules: Rules
    rng: random.Random
    unseen: bool  # may use the words kept out of training

    def write(self, name: str, positive: bool) -> str:
        """A text of the named rule in the given polarity, gold words in brackets."""
        polar = name + ("+" if positive else "-")
        choices = self.rules[polar if polar in self.rules else name]
        allowed = [choice for choice in choices if self.unseen or not choice.startswith("*")]
        return self.fill(self.rng.choice(allowed).removeprefix("*"), positive)

    def fill(self, pattern: str, positive: bool) -> str:
        """The pattern with every slot written out."""
        return _SLOT.sub(lambda slot: self.write(slot[1], self._polarity(slot[2], positive)), pattern)

    def _polarity(self, sign: str, positive: bool) -> bool:
        return self.rng.random() < 0.5 if sign == "~" else positive != (sign == "-")


def review(construction: str, label: str, rng: random.Random, *, unseen: bool = False) -> str:
    """A short review, gold words in brackets: the deciding sentence among neutral ones, in some style."""
    rules = COMMON | DOMAINS[rng.choice(list(DOMAINS))] | rng.choice(PERSONS)
    writer = Writer(rules, rng, unseen)
    facts = rng.sample(rules["fact"], rng.choice((0, 1, 1, 1, 2)))
    sentences = [writer.fill(fact, True) for fact in facts]
    sentences.insert(rng.randint(0, len(sentences)), writer.write(construction, label == "positive"))
    return _style(" ".join(sentences), rng)


def read_gold(marked: str) -> tuple[str, tuple[CharSpan, ...]]:
    """A text without its brackets, and the character spans they held.

    >>> read_gold("It is [far from dull].")
    ('It is far from dull.', ((6, 19),))
    """
    pieces = re.split(r"[\[\]]", marked)
    ends = [sum(map(len, pieces[: index + 1])) for index in range(len(pieces))]
    return "".join(pieces), tuple(zip(ends[0:-1:2], ends[1::2], strict=True))


def _style(text: str, rng: random.Random) -> str:
    if rng.random() < 0.15:
        return text.lower().rstrip(".")
    return _SENTENCE_START.sub(lambda start: start[1] + start[2] + start[3].upper(), text)


def _split(name: str, rng: random.Random, seen: set[str]) -> list[Example]:
    plan = list(schedule(SIZES[name]))
    rng.shuffle(plan)
    return [
        Example(f"demo-{name}-{index}", (text,), label, (spans,))
        for index, (construction, label) in enumerate(plan)
        for text, spans in [_fresh(construction, label, rng, seen, unseen=name != "train")]
    ]


def _fresh(
    construction: str, label: str, rng: random.Random, seen: set[str], *, unseen: bool
) -> tuple[str, tuple[CharSpan, ...]]:
    while True:
        text, spans = read_gold(review(construction, label, rng, unseen=unseen))
        if text.casefold() not in seen and len(text.split()) in WORDS and not _ECHO.search(text):
            seen.add(text.casefold())
            return text, spans
