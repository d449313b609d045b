# cython: boundscheck=False, wraparound=False
"""Experts of unlike scales, blended: the radius that ``auto`` corrects.

Five models of the scale (none; a regression on averages with seasons, and without; averages over 3 and over 10 rounds)
give two radii each, and a mixture blends the ten. The average over 3 rounds is also a guard: when its radius is twice
the blend, the scale has jumped, and the guard is played at once, as long as that has paid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.trackers.base import Tracker
from wane.trackers.mixture import Mixture
from wane.trackers.scale_models import LogScale, NoScale, RecentScale, SteadyScale
from wane.trackers.scaled_expert import Scaled

FAST, SLOW = 3.0, 10.0  # half-lives
JUMP = 2.0  # how many times the blend the guard must be
CREDIT = 5.0  # what the guard may lose before it is not believed, in mean scores
TRUST = 0.999  # ages what the guard has gained, in the rounds in which it speaks
PARDON = 0.9995  # and in the others
LIMIT = 2.0  # times the largest score so far: no expert goes further
MOST = 1e6  # that one round can gain or lose the guard
SETTLED = 20  # rounds before the guard may speak
GUARD = 6  # where it is among the radii


class Blend(Tracker):
    """The blend of ten radii, with the guard. It has no guarantee of coverage: ``Calibrated`` adds that.

    Nothing is infinite, and no radius is more than twice the largest score so far; before the first it is 0. Experts
    learn from every score, whatever was played; discounts are ignored. Memory is bounded.

    Args:
        alpha: the share of misses.
        window: how many scores each expert keeps.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> blend = Blend(0.1)
    >>> radii = blend.run(np.tile([1.0, 2.0, 3.0], 200))
    >>> bool(1.0 < radii[-1] < 4.0), blend.weights().shape
    (True, (10,))
    """

    parameters = ("alpha", "window", "domain", "on_missing")
    memory = (
        "rounds", "raw", "seasonal", "smooth", "fast", "slow", "mixture", "radii", "mixed", "radius", "gain", "unit"
    )  # fmt: skip
    extents = ("window",)
    atomic = True

    def __init__(
        self, alpha: float, window: int = 1000, domain: str = "nonnegative", on_missing: str = "error"
    ) -> None:
        """Nothing seen."""
        signed = domain == "real"
        self.raw = Scaled(alpha, NoScale(), window, signed)
        self.seasonal = Scaled(alpha, LogScale(), window, signed)
        self.smooth = Scaled(alpha, LogScale(()), window, signed)
        self.fast = Scaled(alpha, RecentScale(FAST), window, signed)
        self.slow = Scaled(alpha, RecentScale(SLOW), window, signed)
        self.window = self.raw.levels.window
        self.mixture = Mixture(10)
        self.radii: Any = np.zeros(10).data
        self.mixed = self.radius = 0.0
        self.gain = 0.0  # of the guard over the blend
        self.unit = SteadyScale()
        super().__init__(alpha, domain, on_missing)

    def level_changed(self, miss: float) -> None:
        """All experts move with alpha."""
        self.miss = miss
        for expert in (self.raw, self.seasonal, self.smooth, self.fast, self.slow):
            expert.alpha = miss

    def weights(self) -> np.ndarray:
        """Of the ten radii in the blend: by levels and by quantile, for each of the five scales."""
        return self.mixture.weights()

    def _predict(self) -> float:
        return self.radius

    def _update(self, score: float, radius: float, discount: float) -> None:
        if self.unit.scale > 0.0:
            gradient = self.miss if self.mixed > score else self.miss - 1.0
            self.mixture._learn(self.radii, self.mixed, gradient, self.unit.scale)
        if self._speaks():
            gain = (
                pinball(self.mixed, score, self.miss) - pinball(self.radii[GUARD], score, self.miss)
            ) / self.unit.scale
            self.gain = TRUST * self.gain + min(max(gain, -MOST), MOST)
        else:
            self.gain = PARDON * self.gain
        self.raw._learn(score)
        self.seasonal._learn(score)
        self.smooth._learn(score)
        self.fast._learn(score)
        self.slow._learn(score)
        self.unit._learn(score)
        self._blend()

    def _blend(self):
        """The radius of the next round."""
        at = self.raw._put(self.radii, 0)
        at = self.seasonal._put(self.radii, at)
        at = self.smooth._put(self.radii, at)
        at = self.fast._put(self.radii, at)
        self.slow._put(self.radii, at)
        for k in range(self.radii.shape[0]):
            self.radii[k] = min(max(self.radii[k], -LIMIT * self.unit.record), LIMIT * self.unit.record)
        self.mixed = self.mixture._mix(self.radii)
        self.radius = self.radii[GUARD] if self._speaks() and self.gain > -CREDIT else self.mixed
        return 0

    def _speaks(self):
        """Whether the guard is far above the blend."""
        return self.rounds > SETTLED and self.unit.scale > 0.0 and self.radii[GUARD] > JUMP * abs(self.mixed)


def pinball(radius, score, miss):
    """The loss of a radius.

    >>> pinball(2.0, 1.0, 0.1), pinball(1.0, 2.0, 0.1)
    (0.1, 0.9)
    """
    return miss * (radius - score) if radius > score else (1.0 - miss) * (score - radius)
