"""The dial as a curve: how faithful and how plausible one system is at each position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unirex.metrics.registry import metric
from unirex.report.figures import Figure
from unirex.report.plots import Estimate, LinePanel, Series, lines

SHOWN = ("csd", "auprc", "token_f1")

DialPoint = tuple[float, Mapping[str, float], Mapping[str, tuple[float, float]]]  # dial, metrics, intervals


def dial_figure(name: str, points: Sequence[DialPoint]) -> Figure:
    """The metrics over the dial, each in a panel of its own with its 95 % interval over texts."""
    shown = [key for key in SHOWN if all(key in metrics for _, metrics, _ in points)]
    panels = []
    for key in shown:
        about = metric(key)
        series = Series(name, [_estimate(key, about.scale, point) for point in points], 0)
        ticks = [f"{dial:g}" for dial, _, _ in points]
        panels.append(LinePanel(f"{about.header} {about.arrow}", "dial", "", ticks, [series]))
    caption = "0: as a person would mark; 1: as the classifier went by. Bands: 95 % intervals over texts."
    return Figure("dial", "Dial", caption, lambda: lines(panels))


def _estimate(key: str, scale: float, point: DialPoint) -> Estimate:
    _, metrics, intervals = point
    low, high = intervals.get(key, (float("nan"), float("nan")))
    return scale * metrics[key], scale * low, scale * high
