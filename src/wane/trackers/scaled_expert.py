"""Two radii from the recent scores in units of a scale: by the levels of FACI, and by the level alpha itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import number, share
from wane.state.limits import MOST
from wane.state.stateful import Stateful
from wane.trackers.faci import judge, mean, paper_eta
from wane.trackers.histogram import Histogram, room_for
from wane.trackers.room import given

STEPS = (0.002, 0.008, 0.032, 0.128)  # every second one of FACI's
SMALLEST, QUOTIENT = STEPS[0], 4.0
INTERVAL = 100  # rounds of the stretches on which FACI's regret is to be small
SHARE = 0.005  # 1 / (2 INTERVAL): what each weight gives to all


def needed(signed: bool) -> int:
    """How many numbers an expert holds in its room."""
    return 3 * len(STEPS) + room_for(signed)


class Scaled(Stateful):
    """An expert that is given the scale, and plays two radii: FACI's and the plain quantile.

    Ranks and quantiles are those of a histogram with discount 0.999. While there is no scale, a score other than 0 is
    its own unit.

    Args:
        alpha: the share of misses.
        signed: whether scores may be negative.

    >>> expert = Scaled(0.1)
    >>> for score in [1.0, 2.0, 3.0] * 200:
    ...     expert.learn(score, 2.0)
    >>> [bool(5.0 < radius < 7.5) for radius in expert.radii(4.0)]     # at twice the scale
    [True, True]
    """

    parameters = ("alpha", "signed")
    memory = ("rounds", "levels", "weights", "past")

    def __init__(self, alpha: float, signed: bool = False, room: Any = None) -> None:
        """Nothing seen, in a room of its own or in one that is given."""
        self.signed = bool(signed)
        self.rounds = 0
        n = len(STEPS)
        place = given(room, needed(self.signed))
        self.levels: Any = place.cut(n)
        self.weights: Any = place.cut(n)
        self.losses: Any = place.cut(n)
        for k in range(n):
            self.weights[k] = 1.0 / n
        self.past = Histogram(self.signed, place)
        self.miss = 0.0
        self.alpha = alpha

    @property
    def alpha(self) -> float:
        """The share of misses; when it is changed, all levels move by as much."""
        return self.miss

    @alpha.setter
    def alpha(self, value: Any) -> None:
        miss = share("alpha", value)
        for k in range(len(STEPS)):
            self.levels[k] += miss - self.miss
        self.miss = miss
        self.speed = paper_eta(miss, INTERVAL, math.log(len(STEPS) * INTERVAL) + 2.0)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Rounds are counted, and every level and weight is a share."""
        return {"rounds": (0, MOST), "levels": (-1.0, 2.0), "weights": (0.0, 1.0 + 1e-9)}

    def misfit(self) -> str | None:
        """Some level has a weight."""
        return None if max(self.weights) > 0.0 else "weights"

    def radii(self, scale: float) -> np.ndarray:
        """Both radii for the next score."""
        found = np.zeros(2)
        self._put(number("scale", scale), found.data, 0)
        return found

    def learn(self, score: float, scale: float) -> None:
        """A score, and the scale that was predicted for it."""
        self._learn(number("score", score), number("scale", scale))

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        cells.vector(self.levels)
        cells.vector(self.weights)
        self.past._fields(cells)

    def _put(self, scale, radii, at):
        """Write both radii, and return the next place."""
        radii[at] = scale * self.past._quantile(1.0 - mean(self.weights, self.levels))
        radii[at + 1] = scale * self.past._quantile(1.0 - self.miss)
        return at + 2

    def _learn(self, score, scale):
        unit = scale if scale > 0.0 else abs(score)
        ratio = score / unit if unit > 0.0 else 0.0
        if self.rounds > math.floor(1.0 / self.miss):  # a rank among fewer says nothing
            beta = self.past._above(ratio)
            judge(self.weights, self.levels, self.losses, beta, self.miss, self.speed, SHARE)
            step = SMALLEST
            for k in range(self.levels.shape[0]):
                u = self.levels[k] + step * (self.miss - (1.0 if self.levels[k] > beta else 0.0))
                self.levels[k] = min(max(u, 0.0), 1.0)
                step *= QUOTIENT
        self.rounds = self.rounds + 1
        self.past._add(ratio)
        return 0
