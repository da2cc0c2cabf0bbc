"""Lines of cells as columns of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

SIGNS = "*†‡"  # after a number: what is strong, and footnotes


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as columns: the first to the left, the others to the right, by what a terminal shows.

    Signs after a number hang over the edge, so that the digits stay under each other.
    """
    most = [max(map(_hanging, column)) for column in zip(*lines, strict=True)]
    hung = [
        [one + " " * (hang - _hanging(one)) for one, hang in zip(line, most, strict=True)] for line in lines
    ]
    widths = [max(map(cell_len, column)) for column in zip(*hung, strict=True)]
    return "\n".join(_line(line, widths).rstrip() for line in hung)


def _hanging(text: str) -> int:
    """How many signs there are at its end."""
    return len(text) - len(text.rstrip(SIGNS))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    gaps = [" " * (width - cell_len(one)) for one, width in zip(cells, widths, strict=True)]
    rest = zip(gaps[1:], cells[1:], strict=True)
    return cells[0] + gaps[0] + "".join(f"  {gap}{one}" for gap, one in rest) if cells else ""
