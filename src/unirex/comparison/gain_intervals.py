"""How sure CNRG is: all methods of a table measured on texts that are drawn again, and placed anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unirex.comparison.method import Method
from unirex.metrics.arrays import Floats
from unirex.metrics.bootstrap import percentile_interval
from unirex.metrics.relative_gain import Gains, MethodTable


@dataclass(frozen=True)
class GainIntervals:
    """The CNRG of every method in draws of the texts, the same texts for all of them.

    Args:
        gains: of the whole set.
        drawn: CNRG by method, [draws].
    """

    gains: Mapping[str, Gains]
    drawn: Mapping[str, Floats]

    def interval(self, method: str) -> tuple[float, float]:
        """The 95 % interval over texts of the CNRG of a method; NaN if it has none."""
        return _interval(self.drawn[method])

    def lead(self, first: str, second: str) -> tuple[float, float]:
        """The 95 % interval over texts of how much higher the CNRG of the first is."""
        return _interval(self.drawn[first] - self.drawn[second])

    @property
    def best(self) -> set[str]:
        """The method with the highest CNRG, and all whose distance from it may be chance; none if all may.

        Chance are the texts, at 5 % for each method, without a correction for their number.
        """
        known = {name: gain.cnrg for name, gain in self.gains.items() if not np.isnan(gain.cnrg)}
        top = max(known, key=lambda name: known[name], default="")
        near = {name for name in known if name == top or self.lead(top, name)[0] <= 0}
        return near if near != set(known) else set()


def gain_intervals(
    methods: Sequence[Method],
    keys: Iterable[str],
    gains_of: Callable[[MethodTable], Mapping[str, Gains]],
) -> GainIntervals:
    """CNRG with other texts: in every draw each metric is taken anew, and with it the scale of the table.

    Args:
        methods: all of the table.
        keys: the metrics that count.
        gains_of: the relative gains of a table of metrics.
    """
    values = {method.name: {key: method.resampled(key) for key in keys} for method in methods}
    draws = min(len(column) for columns in values.values() for column in columns.values())
    drawn = {method.name: np.full(draws, np.nan) for method in methods}
    for draw in range(draws):
        table = {
            name: {key: float(of[draw]) for key, of in columns.items()} for name, columns in values.items()
        }
        for name, gain in gains_of(table).items():
            drawn[name][draw] = gain.cnrg
    whole = {method.name: {key: method.value(key) for key in keys} for method in methods}
    return GainIntervals(gains_of(whole), drawn)


def _interval(drawn: Floats) -> tuple[float, float]:
    low, high = percentile_interval(drawn[:, None])
    return float(low[0]), float(high[0])
