"""Which evaluations are seeds of one method, and what to call methods that share a name."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any

from unirex.comparison.places import Place
from unirex.settings import flat

SEEDS = ("seed", "training.gold_seed")  # settings in which runs of one method may differ
FACTS = ("extractor", "extractor_options")  # evaluation may choose others than the run's
SAID = 2  # so many differences fit into a name

Group = list[Place]


def named(places: Sequence[Place]) -> dict[str, Group]:
    """The evaluations of each method, by its name, in the order they were given.

    Evaluations under one name that the user gave belong together. So do runs whose settings are equal but
    for the seed. Methods of the same name are told apart by what differs, or else by their folders.
    """
    groups: dict[Hashable, Group] = {}
    for number, place in enumerate(places):
        groups.setdefault(_key(place, number), []).append(place)
    apart = [one for group in groups.values() for one in _without_repeats(group)]
    return dict(zip(_names(apart), apart, strict=True))


def _key(place: Place, number: int) -> Hashable:
    """What evaluations of one method have in common."""
    if place.name is not None:
        return "name", place.name
    if not place.settings:
        return "alone", number
    return "settings", json.dumps(described(place), sort_keys=True, default=str)


def _without_repeats(group: Group) -> list[Group]:
    """The group, or its runs one by one if they are no seeds of one thing: a seed comes twice."""
    seeds = [one.seed for one in group]
    if group[0].name is None and len(set(map(str, seeds))) < len(seeds):
        return [[one] for one in group]
    return [group]


def described(place: Place) -> dict[str, Any]:
    """All settings a method is told apart by, as dotted names."""
    facts = place.saved.get("settings") or {}
    settings = {**place.settings, **{name: facts[name] for name in FACTS if name in facts}}
    return {name: value for name, value in flat(settings).items() if name not in SEEDS}


def _names(groups: Sequence[Group]) -> list[str]:
    plain = [_plain_name(group[0]) for group in groups]
    found: list[str] = []
    for group, name in zip(groups, plain, strict=True):
        rivals = [other for other, theirs in zip(groups, plain, strict=True) if theirs == name]
        wanted = name if len(rivals) == 1 else f"{name} ({_apart(group, rivals)})"
        found.append(_free(wanted, found))
    return found


def _plain_name(place: Place) -> str:
    """What the user calls it, or else its method, or what its evaluation calls it, or its file."""
    told = place.name or place.settings.get("method") or place.saved.get("system")
    return str(told or (place.folder.stem if place.folder else place.said))


def _apart(group: Group, rivals: Sequence[Group]) -> str:
    """What sets a method off against others of its name."""
    tables = [described(other[0]) for other in rivals]
    keys = dict.fromkeys(key for table in tables for key in table)
    differing = [key for key in keys if len({str(table.get(key)) for table in tables}) > 1]
    ours = described(group[0])
    if 1 <= len(differing) <= SAID:
        return ", ".join(_said(key, ours.get(key)) for key in differing)
    return group[0].folder.name if group[0].folder else group[0].said


def _said(key: str, value: object) -> str:
    """A setting in a few words; what is a word already says enough.

    >>> _said("extractor", "deeplift"), _said("training.epochs", 9), _said("stride", None)
    ('deeplift', 'epochs 9', 'stride none')
    """
    if isinstance(value, str):
        return value
    shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.rpartition('.')[2]} {shown}"


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with a number if it is taken."""
    number = 2
    while name in taken:
        name = f"{name} {number}" if number == 2 else f"{name.rpartition(' ')[0]} {number}"
        number += 1
    return name
