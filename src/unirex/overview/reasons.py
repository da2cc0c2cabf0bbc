"""What carries a label and what is behind its errors: counts turned into ranked rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2, sqrt
from typing import TypeVar

from unirex.data.example import Label
from unirex.metrics.paired import holm
from unirex.metrics.proportions import NORMAL_95, chance_of_as_many, wilson_interval
from unirex.overview.tally import SAMPLE, LabelCount, Quotation, Quoted, Tally, WordCount

SIGNIFICANT = 0.05  # p-value of a word that is behind wrong predictions more often than others
FEW = 20  # texts; below, an interval of a mean is too narrow and a habit cannot be told from chance


@dataclass(frozen=True, slots=True)
class Reason:
    """A word or phrase that carries a label."""

    text: str
    carried: int  # predictions of the label whose rationale holds it
    texts: int  # texts that hold it, whatever was predicted
    score: float  # how consistently and how often it carries the label: see `consistency`
    importance: float  # mean over the texts that hold it and were given the label: 1 is the top of its text
    importance_interval: tuple[float, float] | None  # 95 %; None for few texts
    wrong: int  # of `carried`: wrong predictions
    known: int  # of `carried`: predictions whose gold label is known
    marked: int  # of `annotated`: texts in which people marked it, too
    annotated: int  # of `carried`: right predictions of texts that people marked
    examples: tuple[Quotation, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A word that the system goes by and people do not, or the reverse; of right predictions alone."""

    text: str
    selected: int  # of `annotated`: texts in which it is in the rationale
    marked: int  # of `annotated`: texts in which people marked it
    annotated: int  # texts that hold it, were given the label rightly, and were marked by people
    score: float
    examples: tuple[Quotation, ...]


@dataclass(frozen=True, slots=True)
class WrongReason:
    """A word that is in the reasons of wrong predictions more often than in those of right ones."""

    text: str
    label: Label  # what was predicted, wrongly
    wrong: int  # wrong predictions of the label whose rationale holds it
    carried: int  # all predictions of the label whose rationale holds it
    error_rate: float  # of all predictions of the label
    p_value: float  # of as many wrong ones by chance
    corrected: float  # by Holm, for all words that were tested
    examples: tuple[Quotation, ...]


@dataclass(frozen=True, slots=True)
class LabelOverview:
    """What carries one label."""

    label: Label
    predictions: int
    known: int  # predictions whose gold label is known
    wrong: int
    words: tuple[Reason, ...]
    phrases: tuple[Reason, ...]
    hidden: int  # words that carry it, but fewer than `min_count` times
    coverage: float | None  # share of the predictions whose rationale holds one of `words`
    only_model: tuple[Disagreement, ...]
    only_people: tuple[Disagreement, ...]
    notes: tuple[str, ...]


Row = TypeVar("Row", Reason, Disagreement)


def consistency(count: int, of: int) -> float:
    """How consistently and how often something happens: the score that tables are ranked by.

    The lower end of Wilson's 95 % interval of count / of, times log2(1 + count): one-offs have a low end near
    0, and so have words that are everywhere and seldom count.

    >>> [round(consistency(*counts), 2) for counts in [(1, 1), (5, 5), (18, 20), (25, 50), (3, 250)]]
    [0.21, 1.46, 2.97, 1.72, 0.01]
    """
    return wilson_interval(count, of)[0] * log2(1 + count)


def label_overview(name: Label, tally: Tally, *, top: int, min_count: int) -> LabelOverview:
    """The rows of one label."""
    label = tally.labels[name]
    carrying = [_reason(text, word, tally) for text, word in label.words.items() if word.carried]
    often = [reason for reason in carrying if reason.carried >= min_count]
    words = [reason for reason in often if label.words[reason.text].size == 1]
    phrases = _longest([reason for reason in often if label.words[reason.text].size > 1])
    shown = _ranked(words)[:top]
    return LabelOverview(
        label=name,
        predictions=label.predictions,
        known=label.known,
        wrong=label.wrong,
        words=shown,
        phrases=_ranked(phrases)[:top],
        hidden=sum(label.words[reason.text].size == 1 for reason in carrying) - len(words),
        coverage=_coverage(label, shown),
        only_model=_ranked(_disagreements(label, "only_model", min_count))[:top],
        only_people=_ranked(_disagreements(label, "only_people", min_count))[:top],
        notes=tuple(_label_notes(label, min_count, shown=bool(shown))),
    )


def _reason(text: str, word: WordCount, tally: Tally) -> Reason:
    texts = sum(label.words[text].present for label in tally.labels.values() if text in label.words)
    mean = word.importance / word.present
    return Reason(
        text=text,
        carried=word.carried,
        texts=texts,
        score=consistency(word.carried, texts),
        importance=mean,
        importance_interval=_interval(word, mean),
        wrong=word.wrong,
        known=word.known,
        marked=word.both,
        annotated=word.both + word.only_model,
        examples=_examples(word, "carried"),
    )


def _interval(word: WordCount, mean: float) -> tuple[float, float] | None:
    """The 95 % interval of a mean importance, by the normal approximation; None for few texts."""
    if word.present < FEW:
        return None
    variance = max(0.0, word.importance_squared / word.present - mean**2)
    half = NORMAL_95 * sqrt(variance / (word.present - 1))
    return max(0.0, mean - half), min(1.0, mean + half)


def _ranked(rows: Iterable[Row]) -> tuple[Row, ...]:
    """By score; equal ones by name."""
    return tuple(sorted(rows, key=lambda row: (-row.score, row.text)))


def _longest(phrases: Sequence[Reason]) -> list[Reason]:
    """The phrases but for those that are only ever selected as part of a longer one."""
    inside = {(part, phrase.carried) for phrase in phrases for part in _parts(phrase.text)}
    return [phrase for phrase in phrases if (phrase.text, phrase.carried) not in inside]


def _parts(phrase: str) -> Iterator[str]:
    """The shorter runs of words in a phrase.

    >>> list(_parts("far from dull"))
    ['far', 'far from', 'from', 'from dull', 'dull']
    """
    words = phrase.split(" ")
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if end - start < len(words):
                yield " ".join(words[start:end])


def _coverage(label: LabelCount, words: Sequence[Reason]) -> float | None:
    """Share of the predictions, or of a sample of them, whose rationale holds one of these words."""
    if not label.rationales:
        return None
    top = {reason.text for reason in words}
    return sum(not top.isdisjoint(rationale) for rationale in label.rationales) / len(label.rationales)


def _disagreements(label: LabelCount, kind: Quoted, min_count: int) -> Iterator[Disagreement]:
    """Words that one side takes in at least half of their texts, and the other in less than half of these."""
    for text, word in label.words.items():
        count = word.only_model if kind == "only_model" else word.only_people
        usual = 2 * (count + word.both) >= word.annotated and count > word.both
        if word.size == 1 and count >= min_count and usual:
            yield Disagreement(
                text=text,
                selected=word.both + word.only_model,
                marked=word.both + word.only_people,
                annotated=word.annotated,
                score=consistency(count, word.annotated),
                examples=_examples(word, kind),
            )


def wrong_reasons(tally: Tally, min_count: int) -> tuple[list[WrongReason], int]:
    """Words that carry wrong predictions more often than others of their label, and how many were tested."""
    tested = [
        (name, label, text, word)
        for name, label in tally.labels.items()
        for text, word in label.words.items()
        if word.size == 1 and word.known >= min_count and label.wrong
    ]
    p_values = [
        chance_of_as_many(word.wrong, word.known, of_kind=label.wrong, total=label.known)
        for _, label, _, word in tested
    ]
    rows = [
        WrongReason(
            text=text,
            label=name,
            wrong=word.wrong,
            carried=word.known,
            error_rate=label.wrong / label.known,
            p_value=p_value,
            corrected=float(corrected),
            examples=_examples(word, "wrong"),
        )
        for (name, label, text, word), p_value, corrected in zip(
            tested, p_values, holm(p_values), strict=True
        )
        if word.wrong >= min_count and p_value < SIGNIFICANT
    ]
    return sorted(rows, key=lambda row: (row.p_value, row.text)), len(tested)


def _examples(word: WordCount, kind: Quoted) -> tuple[Quotation, ...]:
    return tuple(quotation for _, quotation in word.quotations.get(kind, ()))


def _label_notes(label: LabelCount, min_count: int, *, shown: bool) -> Iterator[str]:
    """What to know before the numbers of a label are believed."""
    if not label.predictions:
        yield "No text was given this label."
    elif label.predictions < FEW:
        yield f"Only {label.predictions} predictions: too few to tell habits from chance."
    if label.predictions and not shown:
        yield f"No word carries it {min_count} times or more."
    if label.predictions > SAMPLE:
        yield f"The share of predictions that these words carry is that of {SAMPLE:,} drawn at random."
