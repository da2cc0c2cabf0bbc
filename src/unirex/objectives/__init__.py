"""The terms of the loss: each objective is a frozen dataclass `(step) -> losses`, whose mean is its term.

The classes are also the configuration (their fields are options of the command line), so they import nothing
heavy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import ClassVar, Protocol

from unirex.objectives.agreement import Agreement
from unirex.objectives.base import Step, Tensor
from unirex.objectives.comprehensiveness import Comprehensiveness
from unirex.objectives.imitation import Imitation
from unirex.objectives.ordering import Ordering
from unirex.objectives.plausibility import Plausibility
from unirex.objectives.soft_task import SoftTask
from unirex.objectives.sparsity import Sparsity
from unirex.objectives.sufficiency import Sufficiency
from unirex.objectives.task import Task


class Objective(Protocol):
    """One term of the loss; `views` names the views it needs beside the whole text: kept, dropped."""

    views: ClassVar[tuple[str, ...]]

    @property
    def weight(self) -> float: ...  # noqa: D102

    def __call__(self, step: Step) -> Tensor: ...  # noqa: D102


@dataclass(frozen=True)
class Objectives:
    """The terms of the loss; one with weight 0 is never computed.

    Args:
        task: predict the gold label.
        comprehensiveness: the text without its rationale should not give the label away.
        sufficiency: the rationale alone should.
        plausibility: the rationale should be what a person marked.
        ordering: the scores should rank tokens as the classifier's own attributions do.
        imitation: the scores should fall in the classes of a teacher's (L2E).
        agreement: the predictors from the rationale and from the weighed text should say the same (A2R).
        soft_task: the predictor from the weighed text should find the label (A2R).
        sparsity: the rationale should be a given share of the text, in few runs (HardKuma).
    """

    task: Task = field(default_factory=Task)
    comprehensiveness: Comprehensiveness = field(default_factory=Comprehensiveness)
    sufficiency: Sufficiency = field(default_factory=Sufficiency)
    plausibility: Plausibility = field(default_factory=Plausibility)
    ordering: Ordering = field(default_factory=Ordering)
    imitation: Imitation = field(default_factory=Imitation)
    agreement: Agreement = field(default_factory=Agreement)
    soft_task: SoftTask = field(default_factory=SoftTask)
    sparsity: Sparsity = field(default_factory=Sparsity)

    def active(self) -> Iterator[tuple[str, Objective]]:
        """The objectives with a weight, by name."""
        for part in fields(self):
            objective = getattr(self, part.name)
            if objective.weight:
                yield part.name, objective

    @property
    def warmup(self) -> float:
        """The share of the training after which all active objectives have begun."""
        return max((getattr(objective, "warmup", 0.0) for _, objective in self.active()), default=0.0)

    def views(self, progress: float = 1.0) -> tuple[str, ...]:
        """The views that the active objectives need beside the whole texts, so far into the training."""
        begun = [part for _, part in self.active() if progress >= getattr(part, "warmup", 0.0)]
        views = [view for objective in begun for view in objective.views]
        return tuple(dict.fromkeys(views))


OBJECTIVES: dict[str, type] = {name: type(objective) for name, objective in vars(Objectives()).items()}
