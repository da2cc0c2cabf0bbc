"""The words and phrases that carry each label, those behind wrong predictions, and where people disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirex.config import MIN_COUNT, PHRASE_LENGTH, TOP
from unirex.data.example import Splits
from unirex.data.formats.objects import inputs_of
from unirex.errors import UserError
from unirex.explanation import Explanation, read_explanations
from unirex.overview.page import overview_page
from unirex.overview.reasons import LabelOverview, WrongReason, label_overview, wrong_reasons
from unirex.overview.tables import text
from unirex.overview.tally import Tally

if TYPE_CHECKING:
    from unirex.system import System


@dataclass(frozen=True, slots=True)
class Overview:
    """What a system does overall: for each label the words that carry it, and those behind its errors."""

    texts: int
    known: int  # texts whose gold label is known
    wrong: int
    labels: tuple[LabelOverview, ...]
    wrong_reasons: tuple[WrongReason, ...]  # those with a p-value below 5 %
    tested: int  # words that could have been among `wrong_reasons`
    top: int
    min_count: int
    phrase_length: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def table(self) -> str:
        """All tables as text."""
        return text(self)

    def page(self, title: str = "What carries each label") -> str:
        """A page that stands alone: the tables with texts to unfold."""
        return overview_page(self, title=title)


def summarise(
    source: System | Iterable[Explanation] | str | Path,
    data: Any = None,
    *,
    budget: float | None = None,
    top: int = TOP,
    min_count: int = MIN_COUNT,
    phrase_length: int = PHRASE_LENGTH,
) -> Overview:
    """The words and phrases that carry each label, over many texts; in bounded memory.

    Args:
        source: a system, which explains `data`; or explanations: any number of them, or the file that
            `unirex explain --out` wrote.
        data: for a system: texts, examples, a frame or a dataset. Gold labels and marks are compared with.
        budget: for a system: size of the rationales, in per cent of the tokens.
        top: rows of a table, at most.
        min_count: rows with smaller counts are left out.
        phrase_length: words in the longest phrase; 1 for no phrases.
    """
    for name, value in {"top": top, "min_count": min_count, "phrase_length": phrase_length}.items():
        if value < 1:
            raise UserError(f"{name} {value}: must be at least 1.")
    tally = Tally(phrase_length)
    for explanation in _explanations(source, data, budget):
        tally.add(explanation)
    if not tally.texts:
        raise UserError("there is no explanation of a predicted label to count; give at least one.")
    behind_errors, tested = wrong_reasons(tally, min_count)
    counts = tally.labels.values()
    return Overview(
        texts=tally.texts,
        known=sum(label.known for label in counts),
        wrong=sum(label.wrong for label in counts),
        labels=tuple(label_overview(name, tally, top=top, min_count=min_count) for name in tally.labels),
        wrong_reasons=tuple(behind_errors[:top]),
        tested=tested,
        top=top,
        min_count=min_count,
        phrase_length=phrase_length,
        notes=tuple(_notes(tally)),
    )


def _explanations(
    source: System | Iterable[Explanation] | str | Path, data: Any, budget: float | None
) -> Iterable[Explanation]:
    """The explanations themselves: given, read from a file, or made by a system."""
    if isinstance(data, Splits):
        raise UserError(f'give one split of the data, as data["test"]; it has: {", ".join(data)}.')
    if hasattr(source, "explain_all"):
        if data is None:
            raise UserError("a system needs texts to explain: summarise(system, texts).")
        return source.explain_all(inputs_of(data), budget=budget, targets="predicted")
    if data is not None or budget is not None:
        raise UserError("data and budget are for a system; explanations have theirs already.")
    return read_explanations(Path(source)) if isinstance(source, str | Path) else source


def _notes(tally: Tally) -> Iterator[str]:
    """What to know before any of the numbers is believed."""
    if tally.sets:
        yield "Texts have sets of labels here: a text counts once for each of its labels that is explained."
    if tally.left_out:
        yield (
            f"{tally.left_out} explanations are for labels that were not predicted; they are left out, as "
            "they do not say what the system went by."
        )
    if tally.forgotten_up_to:
        yield (
            "There were more words than fit in memory: rare ones were forgotten on the way, and a count may "
            f"be too low by up to {tally.forgotten_up_to}."
        )
