"""Scripted annotators: they fill a study to try it out, and show what a study of some size would find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from unirex.errors import UserError, unknown
from unirex.metrics.arrays import Bools, Floats, Ints
from unirex.paper.published import user_study
from unirex.user_study.definition import ALIGNMENT, CONFIDENCE, GOLD, Definition
from unirex.user_study.study import Annotator, Question, Reply, UserStudy

UNIT = 0.8  # points of a scale for one standard deviation of an answer
USUAL = {"accuracy": 0.8, "confidence": 2.7, "alignment": 3.6}  # about the means of the paper's methods
PAPER = {"accuracy": "forward_simulation_accuracy", "confidence": "confidence", "alignment": "alignment"}
ATTENTIVE = 0.98  # how often an attention check is passed
SECONDS = 12.0  # median of an answer


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviations of what makes answers differ, that of a single answer being 1."""

    person: float = 0.3  # some people are better, or give more points
    item: float = 0.5  # some texts are easier
    person_arm: float = 0.15  # some people get along better with one method
    item_arm: float = 0.5  # a method is better for some texts

    @property
    def total(self) -> float:
        """Standard deviation of all of it, the single answer included."""
        parts = (self.person, self.item, self.person_arm, self.item_arm, 1.0)
        return float(np.sqrt(sum(part**2 for part in parts)))


@dataclass(frozen=True, slots=True)
class Script:
    """The means that scripted annotators have in each arm, and how they vary."""

    accuracy: Mapping[str, float]
    confidence: Mapping[str, float]
    alignment: Mapping[str, float]
    spread: Spread = field(default_factory=Spread)


class Crowd:
    """People and items with their own effects, drawn once; answers vary around them."""

    def __init__(self, shape: tuple[int, int, int], spread: Spread, generator: np.random.Generator) -> None:
        people, items, arms = shape
        self.spread, self.generator = spread, generator
        self._effects = (
            generator.normal(0, spread.person, (people, 1, 1))
            + generator.normal(0, spread.item, (1, items, 1))
            + generator.normal(0, spread.person_arm, (people, 1, arms))
            + generator.normal(0, spread.item_arm, (1, items, arms))
        )  # [people, items, arms]

    def latent(self, people: Ints, items: Ints, arms: Ints) -> Floats:
        """Effects and chance of answers [N], around 0."""
        return self._effects[people, items, arms] + self.generator.normal(size=len(people))

    def correct(self, shares: Floats, latent: Floats) -> Bools:
        """Whether each answer is right, so that on average these shares are."""
        normal = NormalDist()
        bounds = np.array([normal.inv_cdf(min(max(share, 1e-6), 1 - 1e-6)) for share in shares])
        return latent > -bounds * self.spread.total

    def points(self, means: Floats, latent: Floats, top: int) -> Ints:
        """Points from 1 to `top` around these means."""
        return np.clip(np.rint(means + UNIT * latent), 1, top).astype(np.int64)


def make_script(
    definition: Definition, *, spread: Spread | None = None, **means: Mapping[str, float] | None
) -> Script:
    """A script with the `accuracy`, `confidence` and `alignment` given by arm, else the paper's."""
    printed = {row.method: row.metrics for row in user_study()}
    tables: dict[str, dict[str, float]] = {}
    for measure, usual in USUAL.items():
        given = means.get(measure) or {}
        names = [arm.name for arm in definition.arms]
        for name in given:
            if name not in names:
                raise unknown("arm of the study", name, names)
        tables[measure] = {}
        for arm in definition.arms:
            paper = printed.get(arm.paper or "", {}).get(PAPER[measure], (usual, 0.0))[0]
            tables[measure][arm.name] = float(given.get(arm.name, paper))
        tables[measure].setdefault(GOLD, usual)  # practice and checks show it in every study
    return Script(**tables, spread=spread or Spread())


def simulate_answers(study: UserStudy, script: Script, *, seed: int = 0) -> int:
    """Answer every open question of a study by scripted annotators; returns how many.

    They are marked as simulated, and every report says so. A study that a person has joined is refused.
    """
    people = [person for person in study.annotators() if not person.withdrawn]
    if any(person.consented and not person.simulated for person in people):
        raise UserError(f"{study.folder}: people have answered here; simulate in a study of its own.")
    arms = list(script.accuracy)
    shape = (max((person.number for person in people), default=0) + 1, len(study.definition.items), len(arms))
    crowd = Crowd(shape, script.spread, np.random.default_rng(seed))
    return sum(_answer_all(study, person, script, crowd, arms) for person in people)


def _answer_all(
    study: UserStudy, person: Annotator, script: Script, crowd: Crowd, arms: Sequence[str]
) -> int:
    """Answer one person's questions through the interface that a page uses."""
    study.consent(person, simulated=True)
    plan = study.store.rows("SELECT * FROM questions WHERE annotator = ? ORDER BY position", (person.number,))
    answered = 0
    while (question := study.next(person)) is not None:
        row = plan[question.position]
        latent = crowd.latent(
            *(np.array([at]) for at in (person.number, row["item"], arms.index(row["arm"])))
        )
        reply = _reply(question, row["arm"], row["right"], script, crowd, latent)
        if row["part"] == "check" and crowd.generator.random() < ATTENTIVE:
            simulation = question.task == "simulation"
            reply = Reply(row["right"], row["score"]) if simulation else Reply(alignment=row["score"])
        study.answer(person, question, reply, seconds=float(crowd.generator.lognormal(np.log(SECONDS), 0.5)))
        answered += 1
    return answered


def _reply(
    question: Question, arm: str, right: str | None, script: Script, crowd: Crowd, latent: Floats
) -> Reply:
    if question.task == "reading":
        return Reply()
    if question.task == "rating":
        means = np.array([script.alignment[arm]])
        return Reply(alignment=int(crowd.points(means, latent, len(ALIGNMENT))[0]))
    correct = bool(crowd.correct(np.array([script.accuracy[arm]]), latent)[0])
    wrong = [label for label in question.labels if label != right]
    label = str(right) if correct or not wrong else str(crowd.generator.choice(wrong))
    confidence = crowd.points(np.array([script.confidence[arm]]), latent, len(CONFIDENCE))
    return Reply(label, int(confidence[0]))
