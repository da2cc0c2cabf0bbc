"""Small studies made by hand: no model, no files of records."""

from __future__ import annotations

from unirex.user_study import Arm, Definition, Item, Showing, UserStudy

ROLES = {"main": 8, "practice": 1, "check": 1, "learning": 3}


def item(number, role="main", *, text=None, arms=("A", "B")):
    """'good' is marked by people, other words by the methods; A is always right and B never."""
    words = text or f"a good film {number}"
    label, other = ("pos", "neg") if number % 2 else ("neg", "pos")
    showings = {"A": Showing(label, (((2, 6),),)), "B": Showing(other, (((7, 11),),))}
    showings = {name: showings[name] for name in arms}
    oracles = {"Gold": Showing(label, (((2, 6),),)), "No Rationale": Showing(label, ((),))}
    return Item(f"{role}-{number}", (words,), {**showings, **oracles}, role)


def definition(*, design="paper", sizes=ROLES, **changes):
    arms = (Arm("A", paper="UNIREX (DLM-FP)"), Arm("B", paper="SGT+P"))
    if design == "paper":
        arms = (
            Arm("No Rationale", oracle=True, paper="No Rationale"),
            *arms,
            Arm("Gold", oracle=True, paper="Gold"),
        )
    values = {
        "title": "films",
        "dataset": "sst",
        "design": design,
        "tasks": ("simulation", "rating") if design == "paper" else ("simulation",),
        "labels": ("neg", "pos"),
        "arms": arms,
        "items": tuple(item(n, role) for role, size in sizes.items() for n in range(size)),
        "rounds": len(arms) if design == "paper" else 1,
        "seed": 0,
    }
    return Definition(**(values | changes))


def study(folder, *, annotators=2, **changes):
    return UserStudy.create(folder, definition(**changes), annotators=annotators)


def joined(made, number=0):
    """A person who has come with a code and agreed to take part."""
    return made.consent(made.join(made.codes()[number]))
