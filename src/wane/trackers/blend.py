# cython: boundscheck=False, wraparound=False
"""Experts of unlike scales, blended: the radius that ``auto`` corrects.

Three models of the scale give two radii each, and a mixture blends the six: an average that hardly moves, a regression
on averages, seasons and the model's output, and an average of the last few scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import MOST_HEARD, one_of, whole
from wane.trackers.base import DOMAINS, Tracker
from wane.trackers.mixture import Mixture
from wane.trackers.room import Room
from wane.trackers.scale_models import PERIODS, LogScale, RecentScale, SteadyScale, nonnegative, room_for
from wane.trackers.scaled_expert import Scaled, needed

SCALES, RADII = 3, 6
TRUST, LONGEST = 3.0, 100  # rounds of trust in the steady scale for each round that labels are late, up to so many
FAST = 3.0  # the half-life of the fast average
PEAK = 0.999  # the discount of the largest recent score: no expert goes further
UNKNOWN = -1  # no round: what was looked at is not that of the next prediction


class Blend(Tracker):
    """The blend of six radii. It has no guarantee of coverage: ``Calibrated`` adds that.

    No radius is above the largest recent score, which shrinks by a thousandth a round; before the first it is 0.
    Experts learn from every score, whatever was played; discounts are ignored. A late score is learned with what was
    known when its radius was played: features, scales, radii and their mixture, which the note of the prediction holds.
    The later labels are, the longer the steady scale is believed before the others are. Memory is of fixed size.

    Args:
        alpha: the share of misses.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".
        context: how many further numbers are known of each round.

    >>> blend = Blend(0.1)
    >>> radii = blend.run(np.tile([1.0, 2.0, 3.0], 200))
    >>> bool(1.0 < radii[-1] < 4.0), blend.weights().shape
    (True, (6,))
    """

    parameters = ("alpha", "domain", "on_missing", "context")
    added = ("context",)
    removed = ("window",)
    memory = ("rounds", "latest", "peak", "unit", "model", "recent", "steady", "regression", "fast", "mixture")
    atomic = True

    def __init__(self, alpha: float, domain: str = "nonnegative", on_missing: str = "error", context: int = 0) -> None:
        """Nothing seen."""
        signed = one_of("domain", domain, DOMAINS) == "real"
        self.context = whole("context", context, 0, MOST_HEARD + 1)
        room = Room(room_for(PERIODS, self.context) + SCALES * needed(signed) + 3 * RADII + SCALES)
        self.unit = SteadyScale()
        self.model = LogScale(PERIODS, self.context, room)
        self.recent = RecentScale(FAST)
        self.steady = Scaled(alpha, signed, room)
        self.regression = Scaled(alpha, signed, room)
        self.fast = Scaled(alpha, signed, room)
        self.mixture = Mixture(RADII, room=room)
        self.latest = 0  # delay
        self.peak = 0.0  # the largest recent score
        # The round that is predicted. It is no part of the memory, because it can be looked at again.
        self.looked = UNKNOWN
        self.radii: Any = room.cut(RADII)
        self.scales: Any = room.cut(SCALES)
        self.mixed = self.made = 0.0
        super().__init__(alpha, domain, on_missing)

    def limits(self) -> dict[str, tuple[float, float]]:
        """The largest recent score is a size, and the longest delay is counted up to a limit."""
        return super().limits() | nonnegative("peak") | {"latest": (0, LONGEST)}

    @classmethod
    def least_numbers(cls, given: Any) -> int:
        """Those of the regression on the further numbers."""
        return LogScale.least_numbers(given)

    def level_changed(self, miss: float) -> None:
        """All experts move with alpha."""
        self.miss = miss
        self.looked = UNKNOWN
        for expert in (self.steady, self.regression, self.fast):
            expert.alpha = miss

    def weights(self) -> np.ndarray:
        """Of the six radii in the blend: by levels and by quantile, for each of the three scales."""
        return self.mixture.weights()

    def _older(self, memory: Any) -> bool:
        """Take over what version 0.1.0 kept: its last 1,000 scores are learned again."""
        if not isinstance(memory, dict) or "raw" not in memory:
            return False
        past = memory["raw"]["levels"]["past"]
        size, ring, place = int(past["bag"]["size"]), list(past["ring"]), int(past["place"])
        self.run(ring[:size] if size < len(ring) else ring[place:] + ring[:place])
        self.rounds = int(memory["rounds"])
        return True

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.latest = cells.whole(self.latest)
        self.peak = cells.number(self.peak)
        self.unit._fields(cells)
        self.model._fields(cells)
        self.recent._fields(cells)
        self.steady._fields(cells)
        self.regression._fields(cells)
        self.fast._fields(cells)
        self.mixture._fields(cells)
        self.looked = UNKNOWN

    def _note(self, cells):
        self.mixed = cells.number(self.mixed)
        self.made = cells.number(self.made)
        cells.vector(self.scales)
        cells.vector(self.radii)
        self.model._note(cells)
        self.looked = self.rounds if cells.reading and self.mixed == self.mixed else UNKNOWN
        return 0

    def _foresee(self, given, t):
        """Find the radii of a round of which row t says what is known."""
        self.model._look(given, t)
        return self._find()

    def _find(self):
        """Find the radii, and mix them."""
        self.scales[0] = self.unit.scale
        self.scales[1] = self.model.scale
        self.scales[2] = self.recent.scale
        self.steady._put(self.scales[0], self.radii, 0)
        self.regression._put(self.scales[1], self.radii, 2)
        self.fast._put(self.scales[2], self.radii, 4)
        for k in range(self.radii.shape[0]):
            self.radii[k] = min(max(self.radii[k], -self.peak), self.peak)
        self.mixed, self.made = self.mixture._mix(self.radii), self.rounds
        self.looked = self.rounds
        return 0

    def _ahead(self):
        """See to it that the round of the next score has been looked at."""
        if self.looked != self.rounds:
            self.model._look_at(self.rounds)
            self._find()
        return 0

    def _predict(self) -> float:
        self._ahead()
        return self.mixed

    def _update(self, score: float, radius: float, discount: float) -> None:
        self._ahead()
        self.looked = UNKNOWN
        late = min(max(self.rounds - max(self.made, 0.0), 0.0), LONGEST)  # no note is older than the first round
        if late > self.latest:
            self.mixture._trust(2, TRUST * (late - self.latest))
            self.latest = int(late)
        if self.scales[0] > 0.0:
            gradient = self.miss if self.mixed > score else self.miss - 1.0
            self.mixture._learn(self.radii, self.mixed, gradient, self.scales[0])
        self.steady._learn(score, self.scales[0])
        self.regression._learn(score, self.scales[1])
        self.fast._learn(score, self.scales[2])
        self.peak = max(PEAK * self.peak, abs(score))
        self.unit._learn(score)
        self.model._learn(score)
        self.recent._learn(score)
