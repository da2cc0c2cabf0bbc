"""How sure distances in CNRG are: methods measured on texts that are drawn again, and placed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unirex.comparison.method import Method, resampled
from unirex.metrics.arrays import Floats
from unirex.metrics.bootstrap import single_interval
from unirex.metrics.relative_gain import Gains, MethodTable


@dataclass(frozen=True)
class GainIntervals:
    """The CNRG of every method in draws of the texts, the same texts for all of them.

    Of two methods the distance is told, of none the place: the ends of the scale are the best and the worst
    of a table, and in draws these are further apart than they are, so that an interval of one place would be
    too low and too narrow. From the distance of two of them most of that is gone in tables of many rows and
    texts; of a handful of rows, or of a few hundred texts, it is still too narrow, and the lead of the
    highest, which is chosen by the same texts, a little too large.

    Args:
        gains: of the whole set.
        drawn: CNRG by method, [draws].
    """

    gains: Mapping[str, Gains]
    drawn: Mapping[str, Floats]

    def lead(self, first: str, second: str) -> tuple[float, float]:
        """The 95 % interval over texts of how much higher the CNRG of the first is."""
        return single_interval([self.drawn[first] - self.drawn[second]])

    @property
    def top(self) -> str:
        """The method with the highest CNRG, "" if none has any."""
        known = {name: gain.cnrg for name, gain in self.gains.items() if not np.isnan(gain.cnrg)}
        return max(known, key=lambda name: known[name], default="")

    @property
    def best(self) -> set[str]:
        """The method with the highest CNRG, and all whose distance from it may be chance; none if all may.

        Chance are the texts, at 5 % for each method, without a correction for their number.
        """
        known = {name for name, gain in self.gains.items() if not np.isnan(gain.cnrg)}
        near = {name for name in known if name == self.top or not self.lead(self.top, name)[0] > 0}
        return near if near != known else set()


def gain_intervals(
    methods: Sequence[Method],
    keys: Sequence[str],
    gains: Mapping[str, Gains],
    gains_of: Callable[[MethodTable], Mapping[str, Gains]],
) -> GainIntervals:
    """CNRG with other texts: in every draw each metric is taken anew, and with it the scale of the table.

    Args:
        methods: all of the table.
        keys: the metrics that count.
        gains: of the whole set.
        gains_of: the relative gains of a table of metrics.
    """
    values = resampled(methods, keys)
    draws = len(next(iter(values.values())))
    drawn = {method.name: np.full(draws, np.nan) for method in methods}
    for draw in range(draws):
        table = {
            method.name: {key: float(values[method.name, key][draw]) for key in keys} for method in methods
        }
        for name, gain in gains_of(table).items():
            drawn[name][draw] = gain.cnrg
    return GainIntervals(gains, drawn)
