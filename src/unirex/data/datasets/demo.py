"""The embedded corpus `demo`: short opinions that have to be understood, with the words that decide marked.

2000 / 320 / 480 texts (train / dev / test) about films, restaurants, hotels, phones, books and concerts,
written by the seeded grammar in `demo_grammar`. Half of every split is positive. Each construction below is
as often positive as negative, and the words in brackets are gold:

| construction | share | for example |
|---|---|---|
| plain    | 20 % | The film is [a triumph]. |
| negation | 25 % | The room was [not remotely shabby]. [Nobody could call] this phone [practical]. |
| contrast | 20 % | The cast is superb, but the film is [far from gripping]. (The main clause decides.) |
| aside    | 15 % | My sister hated the parking lot; the meal itself was [a delight]. (The meal counts.) |
| hedge    | 10 % | I [expected to hate it, and I was wrong]. I have read [worse books, but not many]. |
| conduct  | 10 % | We [left after forty minutes]. I [have already booked the same room for next June]. |

Up to two neutral facts surround it. Seed 0: 8 to 35 words a text, 18 on average, 24 % of them gold. Words of
praise stand more often in negative texts than in positive ones (58 : 42), an aside is of either polarity
whatever the label, and some opinion words occur in dev and test only. So, on test,

* a bag of words does not understand: logistic regression reaches 77 % (with TF-IDF bigrams, 75 %);
* an encoder does: see the table in the README;
* the rest tells little: without the gold words logistic regression reaches 55 %. Some hint is in the nature
  of contrast, since a concession announces its opposite.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from unirex.data.datasets.demo_grammar import COMMON, DOMAINS, PERSONS, Rules
from unirex.data.example import CharSpan, DatasetInfo, Example, Splits

LABELS = ("negative", "positive")
INFO = DatasetInfo(name="demo", labels=LABELS)
SIZES = {"train": 2000, "dev": 320, "test": 480}
SHARES = {"plain": 4, "negation": 5, "contrast": 4, "aside": 3, "hedge": 2, "conduct": 2}  # out of 20
WORDS = range(8, 36)  # how long a text may be

_SLOT = re.compile(r"\{(\w+)([-~]?)\}")
_SENTENCE_START = re.compile(r"(^|[.!?] )(\[?)([a-z])")
_ECHO = re.compile(r"\b(\w{5,}),? and (?:\w+ ){0,3}\1\b")  # "superb, and the acting is superb"


def load(seed: int = 0) -> Splits:
    """The corpus generated from a seed; no text occurs twice, within or across splits."""
    rng = random.Random(f"demo-{seed}")  # text seeds do not depend on PYTHONHASHSEED
    seen: set[str] = set()
    parts: dict[str, list[Example]] = {split: [] for split in SIZES}
    for split, examples in parts.items():
        plan = list(schedule(SIZES[split]))
        rng.shuffle(plan)
        for index, (construction, label) in enumerate(plan):
            text, spans = _new_review(construction, label, rng, seen, unseen=split != "train")
            examples.append(Example(f"demo-{split}-{index}", (text,), label, (spans,)))
    return Splits(INFO, parts)


def schedule(size: int) -> Iterator[tuple[str, str]]:
    """The construction and label of each text of a split: each construction alternates between the labels."""
    constructions = [name for name, share in SHARES.items() for _ in range(share)]
    for index in range(size):
        yield constructions[index // 2 % len(constructions)], LABELS[index % 2]


@dataclass(frozen=True)
class Writer:
    """Writes a review of one thing, choosing among the alternatives of the grammar at random."""

    rules: Rules
    rng: random.Random
    unseen: bool  # whether words kept out of training may be used

    def write(self, name: str, positive: bool) -> str:
        """A text by the named rule in the given polarity, with gold words in brackets."""
        polar = name + ("+" if positive else "-")
        choices = self.rules[polar if polar in self.rules else name]
        allowed = [choice for choice in choices if self.unseen or not choice.startswith("*")]
        return self.fill(self.rng.choice(allowed).removeprefix("*"), positive)

    def fill(self, pattern: str, positive: bool) -> str:
        """The pattern with every slot filled."""

        def filling(slot: re.Match[str]) -> str:
            if slot[2] == "~":
                return self.write(slot[1], self.rng.random() < 0.5)
            return self.write(slot[1], positive != (slot[2] == "-"))

        return _SLOT.sub(filling, pattern)


def review(construction: str, label: str, rng: random.Random, *, unseen: bool = False) -> str:
    """A short review with gold words in brackets: the deciding sentence among neutral ones."""
    rules = COMMON | DOMAINS[rng.choice(list(DOMAINS))] | rng.choice(PERSONS)
    writer = Writer(rules, rng, unseen)
    facts = rng.sample(rules["fact"], rng.choice((0, 1, 1, 1, 2)))
    sentences = [writer.fill(fact, True) for fact in facts]
    sentences.insert(rng.randint(0, len(sentences)), writer.write(construction, label == "positive"))
    text = " ".join(sentences)
    if rng.random() < 0.15:  # careless writing
        return text.lower().rstrip(".")
    return _SENTENCE_START.sub(lambda start: start[1] + start[2] + start[3].upper(), text)


def read_gold(marked: str) -> tuple[str, tuple[CharSpan, ...]]:
    """The text without its brackets, and the spans that were in brackets.

    >>> read_gold("It is [far from dull].")
    ('It is far from dull.', ((6, 19),))
    """
    pieces = re.split(r"[\[\]]", marked)
    ends = [sum(map(len, pieces[: index + 1])) for index in range(len(pieces))]
    return "".join(pieces), tuple(zip(ends[0:-1:2], ends[1::2], strict=True))


def _new_review(
    construction: str, label: str, rng: random.Random, seen: set[str], *, unseen: bool
) -> tuple[str, tuple[CharSpan, ...]]:
    while True:
        text, spans = read_gold(review(construction, label, rng, unseen=unseen))
        if text.casefold() not in seen and len(text.split()) in WORDS and not _ECHO.search(text):
            seen.add(text.casefold())
            return text, spans
