"""What a user study asks: its arms, its items with what each arm shows of them, its tasks and their words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from unirex.data.example import Rationale
from unirex.errors import UserError, one_line
from unirex.files import write_file

Task = Literal["simulation", "rating", "reading"]
Part = Literal["practice", "check", "main", "learning", "pre", "post"]
Role = Literal["main", "learning", "practice", "check"]
Design = Literal["paper", "learning"]

FILE = "user-study.json"
GOLD, NO_RATIONALE = "Gold", "No Rationale"  # the paper's oracle methods
CONFIDENCE = {1: "not at all", 2: "slightly", 3: "fairly", 4: "very"}  # Paper: a 4-point scale
ALIGNMENT = {1: "not at all", 2: "slightly", 3: "moderately", 4: "mostly", 5: "completely"}  # and a 5-point
CONSENT = (
    "You are asked to read short texts and to answer questions about a computer program that labels them. "
    "Your answers and the time they take are stored under an anonymous number. Taking part is voluntary: you "
    "can stop at any time, and what you have answered is then deleted if you wish."
)
INSTRUCTIONS: Mapping[str, str] = {
    "simulation": (
        "A program has given each text a label. Where words are marked, they are the program's reasons. "
        "Which label did the program give? Answer for the program, even where you disagree with it, and say "
        "how confident you are of your answer."
    ),
    "rating": (
        "A program has given each text the label shown, and the marked words are its reasons. How well do "
        "the marked words fit the label? Judge the words, not whether the label is right."
    ),
    "reading": (
        "A program has given each text the label shown; where words are marked, they are its reasons. Try to "
        "learn how the program decides. You will be asked later about other texts."
    ),
}


@dataclass(frozen=True, slots=True)
class Showing:
    """What one arm says about an item: a label, and the words marked for it."""

    label: str
    marks: Rationale  # character spans of each segment


@dataclass(frozen=True, slots=True)
class Item:
    """One text, and what each arm shows of it."""

    id: str
    segments: tuple[str, ...]
    showings: Mapping[str, Showing]  # by the name of the arm; Gold and No Rationale are always there
    role: Role = "main"
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """One source of rationales that people see without knowing which it is."""

    name: str
    oracle: bool = False  # Gold and No Rationale: the target label counts as right
    paper: str | None = None  # its row in the published table


@dataclass(frozen=True, slots=True)
class Definition:
    """All that is decided before the first person is asked. It is written once and never changes."""

    title: str
    dataset: str | None
    design: Design
    tasks: tuple[Task, ...]
    labels: tuple[str, ...]  # to choose from; of multiple choice, the most letters
    arms: tuple[Arm, ...]
    items: tuple[Item, ...]
    rounds: int  # how often an annotator sees each text, each time in another arm
    seed: int
    consent: str = CONSENT
    instructions: Mapping[str, str] = field(default_factory=lambda: dict(INSTRUCTIONS))  # by task

    def numbers(self, role: Role) -> list[int]:
        """The numbers of the items of one role."""
        return [number for number, item in enumerate(self.items) if item.role == role]

    def arms_of(self, task: Task) -> list[str]:
        """The names of the arms in a task: without marks there is nothing to rate."""
        return [arm.name for arm in self.arms if task == "simulation" or arm.name != NO_RATIONALE]

    def labels_of(self, item: Item) -> tuple[str, ...]:
        """The labels to choose from for one item."""
        return self.labels if item.choices is None else self.labels[: len(item.choices)]


def write_definition(folder: Path, definition: Definition) -> None:
    """Write the definition of a study into its folder."""
    write_file(folder / FILE, json.dumps(asdict(definition), ensure_ascii=False, indent=1) + "\n")


def read_definition(folder: Path) -> Definition:
    """The definition of the study in a folder."""
    path = folder / FILE
    try:
        return _definition(json.loads(path.read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(
            f"{folder}: no user study here; `unirex study create {folder} …` makes one."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UserError(f"{path}: cannot be read as a user study ({one_line(error)}).") from error


def _definition(plain: Mapping[str, Any]) -> Definition:
    if plain["design"] not in get_args(Design):
        raise ValueError(f"unknown design '{plain['design']}'")
    values = {**plain, "tasks": tuple(plain["tasks"]), "labels": tuple(plain["labels"])}
    values["arms"] = tuple(Arm(**arm) for arm in plain["arms"])
    values["items"] = tuple(_item(item) for item in plain["items"])
    return Definition(**values)


def _item(plain: Mapping[str, Any]) -> Item:
    showings = {
        name: Showing(showing["label"], tuple(tuple(map(tuple, spans)) for spans in showing["marks"]))
        for name, showing in plain["showings"].items()
    }
    choices = None if plain["choices"] is None else tuple(plain["choices"])
    return Item(plain["id"], tuple(plain["segments"]), showings, plain["role"], choices)
