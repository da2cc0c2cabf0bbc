"""One explanation in a terminal: the text with its rationale, the label, and how sure the model is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unirex.explanation import Explanation, Span
from unirex.report.marked_text import LIGHT_INK, TERMINAL, Piece, gold_pieces, rationale_pieces
from unirex.report.markup import printable
from unirex.report.notes import budget, completeness, named, percent, ranked, truncation

BAR = 24  # characters for a probability of 1
FAINTEST = 3  # levels below it would only make the screen restless
NOTHING = "nothing"


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Show one explanation to the person at the terminal."""
    console.print(render(explanation))


def render(explanation: Explanation) -> RenderableType:
    """An explanation as a panel: colour for importance, bold underline for the rationale, words for both."""
    parts: list[RenderableType] = [_text(rationale_pieces(explanation)), Text(), _bars(explanation)]
    parts.append(_named(f"rationale, {budget(explanation)}", explanation.spans))
    if explanation.gold_spans is not None:
        parts += [_named("gold rationale", explanation.gold_spans), _text(gold_pieces(explanation))]
    if explanation.completeness_error is not None:
        parts.append(Text(completeness(explanation), style="dim"))
    if explanation.truncated > 0:
        parts.append(Text(truncation(explanation), style="yellow"))
    return Panel(Group(*parts), title=_title(explanation), title_align="left", padding=(1, 2))


def _title(explanation: Explanation) -> Text:
    """The predicted label, and whether it is right where that is known."""
    title = Text(printable(named(explanation, explanation.label)), style="bold")
    if explanation.gold_label is not None:
        right = explanation.label == explanation.gold_label
        verdict = (
            "✓ correct" if right else f"✗ wrong, gold {printable(named(explanation, explanation.gold_label))}"
        )
        title.append(f" {verdict}", style="green" if right else "red")
    if explanation.id is not None:
        title.append(f" · {printable(explanation.id)}", style="dim")
    return title


def _text(segments: Iterable[Sequence[Piece]]) -> Text:
    """The text itself; data never meets rich's markup, for styles are given beside it."""
    lines = [Text.assemble(*((_kept(p.text), _style(p)) for p in pieces)) for pieces in segments]
    return Text("\n\n").join(lines)


def _style(piece: Piece) -> str:
    """How a piece looks: graded background, bold underline when selected, cyan when a person marked it."""
    if piece.gold:
        return "cyan underline"
    shade = f"{LIGHT_INK} on {TERMINAL[piece.level - 1]}" if piece.level >= FAINTEST else ""
    return f"bold underline {shade}".strip() if piece.selected else shade


def _bars(explanation: Explanation) -> Table:
    """A bar per label, as long as its probability."""
    table = Table.grid(padding=(0, 1))
    for label, probability in ranked(explanation):
        bar = Text("█" * round(BAR * probability), style="cyan" if label == explanation.label else "dim")
        table.add_row(
            Text(printable(named(explanation, label))), bar, Text(percent(probability), justify="right")
        )
    return table


def _named(title: str, spans: Sequence[Span]) -> Text:
    """The words of a rationale in plain words, for terminals and readers without colour."""
    words = " · ".join(printable(span.text) for span in spans) or NOTHING
    return Text.assemble("\n", (f"{title}: ", "dim"), words)


def _kept(text: str) -> str:
    """Harmless text that keeps its lines."""
    return printable(text.replace("\r\n", "\n"), keep="\n\t")
