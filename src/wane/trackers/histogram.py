# cython: boundscheck=False, wraparound=False
"""The recent scores, in units of their scale, as a histogram: a quantile and a rank in 64 numbers.

The bins have equal widths in log(1 + 20 r), so that they are narrow near 0 and a sixth of r wide for large r; within a
bin the scores count as spread evenly. The past is discounted: instead of shrinking all bins in every round, the next
score is given a larger weight, and once in a long while all are divided by a power of two, which is exact. Bins are
also kept as sums of eight, so that neither search is long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.state.limits import GREATEST
from wane.state.stateful import Stateful
from wane.trackers.room import given

BINS = 64  # of one sign; twice as many change the loss by less than a thousandth
GROUP = 8  # bins that are summed up
SHARP = 20.0  # ratios below 1 / SHARP are told apart by their difference, larger ones by their quotient
STEP = 0.171875  # the width of a bin, 11 / 64: the last one ends at a ratio of 3,000
KEPT = 0.999  # the discount: a window of about 1,000 scores
LARGE = float.fromhex("0x1p40")  # a weight at which all are made small again
SMALL = float.fromhex("0x1p-40")
NEARLY = 1e-6  # of all weight: what rounding adds up to is less


def room_for(signed: bool) -> int:
    """How many numbers a histogram holds in its room."""
    return (2 if signed else 1) * (BINS + BINS // GROUP)


class Histogram(Stateful):
    """Ratios of scores to scales, the older ones with less weight.

    Args:
        signed: whether ratios may be negative; then there are bins for both signs.

    >>> past = Histogram()
    >>> for ratio in [1.0, 2.0, 3.0, 4.0] * 100:
    ...     past.add(ratio)
    >>> 1.8 < past.quantile(0.4) < 2.3, round(past.above(2.6), 2)
    (True, 0.48)
    """

    parameters = ("signed",)
    memory = ("bins", "sums", "weight", "total")

    def __init__(self, signed: bool = False, room: Any = None) -> None:
        """Empty, in a room of its own or in one that is given."""
        self.signed = bool(signed)
        self.count = 2 * BINS if self.signed else BINS
        self.middle = BINS if self.signed else 0  # where the ratio 0 is
        place = given(room, room_for(self.signed))
        self.bins: Any = place.cut(self.count)
        self.sums: Any = place.cut(self.count // GROUP)
        self.weight = 1.0  # of the next ratio
        self.total = 0.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Weights are not negative."""
        return dict.fromkeys(("bins", "sums", "weight", "total"), (0.0, GREATEST))

    def misfit(self) -> str | None:
        """The next ratio has a weight, and what is there was added up."""
        if self.weight <= 0.0:
            return "weight"
        if abs(self.total - float(np.sum(self.bins))) > NEARLY * self.total:
            return "total"
        apart = np.asarray(self.sums) - np.asarray(self.bins).reshape(-1, GROUP).sum(axis=1)
        return "sums" if float(np.abs(apart).max()) > NEARLY * self.total else None

    def add(self, ratio: float) -> None:
        """One more ratio."""
        self._add(ratio)

    def above(self, ratio: float) -> float:
        """The share of the past above a ratio; 0 of an empty past."""
        return self._above(ratio)

    def quantile(self, q: float) -> float:
        """The ratio below which a share q of the past lies; 0 of an empty past."""
        return self._quantile(q)

    def _fields(self, cells):
        cells.vector(self.bins)
        cells.vector(self.sums)
        self.weight = cells.number(self.weight)
        self.total = cells.number(self.total)

    def _place(self, ratio):
        """Where a ratio is among the bins: the whole part is the number of its bin."""
        size = math.log1p(SHARP * abs(ratio)) / STEP
        if not size < BINS - 1e-9:  # NaN too, so that no note of a prediction leads out of the bins
            size = BINS - 1e-9
        return self.middle + size if ratio >= 0.0 else max(self.middle - size, 0.0)

    def _ratio(self, place):
        """The ratio at a place."""
        size = STEP * (place - self.middle)
        return math.expm1(size) / SHARP if size >= 0.0 else -math.expm1(-size) / SHARP

    def _add(self, ratio):
        i = int(self._place(ratio))
        self.bins[i] += self.weight
        self.sums[i // GROUP] += self.weight
        self.total = self.total + self.weight
        self.weight = self.weight / KEPT
        if self.weight > LARGE:
            for j in range(self.bins.shape[0]):
                self.bins[j] = self.bins[j] * SMALL
            for j in range(self.sums.shape[0]):
                self.sums[j] = self.sums[j] * SMALL
            self.weight = self.weight * SMALL
            self.total = self.total * SMALL
        return 0

    def _above(self, ratio):
        if not self.total > 0.0:
            return 0.0
        place = self._place(ratio)
        i = int(place)
        below = self.bins[i] * (place - i)
        for j in range(i // GROUP):
            below += self.sums[j]
        for j in range(GROUP * (i // GROUP), i):
            below += self.bins[j]
        return max(1.0 - below / self.total, 0.0)

    def _quantile(self, q):
        wanted, below = q * self.total, 0.0
        j = 0
        while j < self.sums.shape[0] - 1 and below + self.sums[j] < wanted:
            below += self.sums[j]
            j += 1
        top = self.middle  # of the last bin that is not empty, should rounding leave none with so much below it
        for i in range(GROUP * j, self.count):
            if self.bins[i] > 0.0:
                if below + self.bins[i] >= wanted:
                    return self._ratio(i + max(wanted - below, 0.0) / self.bins[i])
                below += self.bins[i]
                top = i + 1
        return self._ratio(top)
