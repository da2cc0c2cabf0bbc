"""What another tool says of an example, made into a record: gold, selections and targets are added here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from reprlib import repr as short
from typing import Literal

from unirex.budgets import BUDGETS, top_k
from unirex.data.example import Example, Label, choice_label
from unirex.eraser.parsing import is_number
from unirex.eraser.strict import TOLERANCE
from unirex.errors import UserError, unknown
from unirex.records import Distributions, Floats, Record, Scored, Views

Missing = Literal["error", "skip"]
Token = tuple[int, int, int]  # segment, start, end

REMOVAL = "external"  # how the other tool took tokens out is its own affair


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says of one example; what it does not say is None or empty."""

    tokens: tuple[Token, ...] | None = None  # in the order of the text
    scores: Floats = ()  # one a token
    chosen: tuple[int, ...] | None = None  # numbers of the tokens it selects
    predicted: Label | None = None
    probabilities: Floats = ()
    budgets: Floats = ()  # of the next two, in per cent
    removed: Distributions = ()
    kept: Distributions = ()


def record_of(example: Example, said: Said, labels: Sequence[Label], *, above: float | None = None) -> Record:
    """The record of an example.

    Selections are made for the budgets of the probabilities without rationales, else for the usual ones. A
    tool that scores words but selects none selects those above 0; with `above`, those above that.
    """
    budgets = said.budgets or BUDGETS
    return Record(
        id=example.id,
        segments=example.segments,
        label=example.label,
        predicted=said.predicted,
        labels=tuple(labels),
        probabilities=said.probabilities,
        sequences=() if said.tokens is None else (_scored(example, said, budgets, above),),
        budgets=budgets,
        target=said.predicted,
        views=(Views(REMOVAL, said.removed, said.kept),) if said.budgets else (),
        choices=example.choices,
    )


def _scored(example: Example, said: Said, budgets: Floats, above: float | None) -> Scored:
    tokens, chosen = said.tokens or (), said.chosen
    if chosen is None and above is not None and said.scores:
        chosen = tuple(number for number, score in enumerate(said.scores) if score > above)
    selected = top_k(said.scores, budgets) if said.scores else ()
    return Scored(tokens, said.scores, gold_of(example, tokens), selected, chosen)


def gold_of(example: Example, tokens: Iterable[Token]) -> tuple[bool, ...] | None:
    """Which tokens have a part in what people marked; None if nobody was asked."""
    spans = example.rationale
    if spans is None:
        return None
    return tuple(any(low < end and start < high for low, high in spans[at]) for at, start, end in tokens)


def predicted_label(said: Label | None, probabilities: Floats, labels: Sequence[Label]) -> Label | None:
    """The label a tool gives, or the likeliest if it gives probabilities alone."""
    if said is not None or not probabilities:
        return said
    return labels[max(range(len(labels)), key=probabilities.__getitem__)]


def answers(example: Example, labels: Sequence[Label]) -> tuple[Label, ...]:
    """What can be answered: the labels, or the letters of the choices."""
    if example.choices is None:
        return tuple(labels)
    return tuple(choice_label(number) for number in range(len(example.choices)))


def label_of(value: object, labels: Sequence[Label]) -> Label:
    """The label that is meant; JSON has only text for the keys of an object, so 1 may be "1".

    >>> label_of("1", [0, 1]), label_of("true", [False, True]), label_of("pos", ["neg", "pos"])
    (1, True, 'pos')
    """
    for label in labels:
        if value == label and isinstance(value, bool) == isinstance(label, bool):
            return label
    for label in labels:
        if isinstance(value, str) and value in (str(label), str(label).lower()):
            return label
    raise unknown("label", value, labels)


def distribution(values: object, labels: Sequence[Label], name: str) -> Floats:
    """The probabilities of all labels in their order.

    >>> distribution({"pos": 0.75, "neg": 0.25}, ["neg", "pos"], "probabilities")
    (0.25, 0.75)
    """
    if not isinstance(values, Mapping) or not all(map(is_number, values.values())):
        raise UserError(f"'{name}' must be an object with a probability for each label, not {short(values)}")
    given = {label_of(key, labels): float(value) for key, value in values.items()}
    lacking = [label for label in labels if label not in given]
    if lacking:
        raise UserError(f"'{name}' has no probability for {lacking[0]!r}; give one for each label")
    total = sum(given.values())
    if min(given.values()) < 0 or abs(total - 1) > TOLERANCE:
        raise UserError(f"'{name}' {short(dict(values))} adds up to {total:.6g}; give probabilities, sum 1")
    return tuple(given[label] for label in labels)


def by_id(
    path: Path, named: Iterable[tuple[str, str]], examples: Iterable[Example], missing: Missing
) -> dict[str, Example]:
    """The examples by id, once it is known that every line has its own and, unless skipped, every one a line.

    `named` are the places and the ids of the lines.
    """
    if missing not in ("error", "skip"):
        raise unknown("way with missing lines", missing, ("error", "skip"))
    known, seen = {example.id: example for example in examples}, dict[str, str]()
    for place, name in named:
        if name not in known:
            near = get_close_matches(name, list(known)[:10_000], n=1)
            hint = f"did you mean '{near[0]}'?" if near else "are they of another split?"
            raise UserError(f"{place}: no example '{name}' in the data; {hint}")
        if name in seen:
            raise UserError(f"{place}: '{name}' is there twice, first at {seen[name]}; keep one")
        seen[name] = place
    lacking = [name for name in known if name not in seen]
    if lacking and missing == "error":
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise UserError(
            f"{path}: no line for example '{lacking[0]}'{others}; add them, or skip them with --missing skip"
        )
    return known


def consistent(placed: Iterable[tuple[str, Record]]) -> Iterator[Record]:
    """The records, as long as all have the same budgets: their means would be of different things."""
    first: tuple[str, Record] | None = None
    for place, record in placed:
        first = first or (place, record)
        if (record.budgets, bool(record.views)) != (first[1].budgets, bool(first[1].views)):
            ours, theirs = (_sizes(one) for one in (record, first[1]))
            raise UserError(
                f"{place}: probabilities at {ours}, but {theirs} at {first[0]}; give the same to all"
            )
        yield record


def _sizes(record: Record) -> str:
    return ", ".join(f"{one:g} %" for one in record.budgets) if record.views else "no budget"
