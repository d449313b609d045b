# cython: boundscheck=False, wraparound=False
"""The trackers of one object, level by level: radii that never cross, and what each tracker learns from a label.

The levels of one side form a chain from the narrowest set (the largest alpha) to the widest. Each plays the larger of
its own radius and what the level before it played, and learns at what it played.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.learners import state
from wane.trackers.base import Tracker

INFINITY = float("inf")


class Level:
    """One tracker, and the level of the next wider set."""

    def __init__(self, tracker: Tracker, wider: Level | None) -> None:
        """A link of the chain."""
        self.tracker = tracker
        self.wider = wider

    def _play(self, floor, radii, own, t, column):
        """Radii of round t from this level outwards; none is below ``floor``, nor below the one before."""
        radius = self.tracker._predict()
        own[t, column] = radius
        if radius < floor:
            radius = floor
        radii[t, column] = radius
        if self.wider is not None:
            self.wider._play(radius, radii, own, t, column + 1)

    def _learn(self, score, radii, t, column, discount):
        """Each tracker is told the score and the radius that was played for its level."""
        self.tracker._ingest(score, radii[t, column], discount)
        if self.wider is not None:
            self.wider._learn(score, radii, t, column + 1, discount)


def chain(trackers: list[Tracker]) -> Level:
    """Levels from the narrowest to the widest."""
    link = None
    for tracker in reversed(trackers):
        link = Level(tracker, link)
    assert link is not None
    return link


class Levels:
    """All trackers of one object: ``count`` levels of one side, or of a lower and an upper side.

    Scores and radii have columns: the levels from the narrowest to the widest; with two sides, the lower side's first.
    ``columns[i]`` is the column of the i-th level as the user counts them.
    """

    def __init__(self, trackers: list[Tracker], sides: int, columns: tuple[int, ...]) -> None:
        """Chain the trackers, one a column."""
        self.trackers = trackers
        self.columns = columns
        self.count = len(trackers) // sides
        self.first = chain(trackers[: self.count])
        self.second = chain(trackers[self.count :]) if sides == 2 else None
        self.radii: Any = np.empty((1, len(trackers))).data
        self.own: Any = np.empty((1, len(trackers))).data
        self.fragile = len(trackers) > 1 and any(t.can_fail for t in trackers)

    def predict(self, floor: float) -> tuple[float, ...]:
        """The radii to play in the next round, a column each."""
        self._play(floor, self.radii, self.own, 0)
        if len(self.trackers) == 1:
            return (self.radii[0, 0],)
        return tuple([self.radii[0, c] for c in range(len(self.trackers))])

    def each(self, radii: tuple[float, ...]) -> tuple[Any, ...]:
        """The radius of each level, in the user's order: a number, or a pair."""
        if len(radii) == 1:
            return radii
        if self.second is None:
            return tuple([radii[c] for c in self.columns])
        return tuple([(radii[c], radii[self.count + c]) for c in self.columns])

    def covered(self, lower: float, upper: float, radii: tuple[float, ...]) -> tuple[bool, ...]:
        """The paper's rule at each level, in the user's order: radius > score, on both sides."""
        if len(radii) == 1:
            return (lower < radii[0],)
        if self.second is None:
            return tuple([lower < radii[c] for c in self.columns])
        return tuple([lower < radii[c] and upper < radii[self.count + c] for c in self.columns])

    def bounded(self, radii: tuple[float, ...]) -> bool:
        """Whether every radius is finite."""
        for radius in radii:
            if not -INFINITY < radius < INFINITY:
                return False
        return True

    def cold(self) -> bool:
        """Whether some tracker has seen no score yet."""
        for tracker in self.trackers:
            if tracker.cold:
                return True
        return False

    def own_radii(self) -> tuple[float, ...]:
        """What each tracker would play by itself."""
        return tuple([tracker.predict() for tracker in self.trackers])

    def update(self, lower: float, upper: float, radii: tuple[float, ...], discount: float) -> None:
        """Learn one label: the score of each side (``upper`` is for the second), and the radii that were played."""
        for c in range(len(radii)):
            self.radii[0, c] = radii[c]
        before = [state.snapshot(t) for t in self.trackers] if self.fragile else None
        try:
            self._learn(lower, upper, self.radii, 0, discount)
        except BaseException:
            if before is not None:
                for tracker, taken in zip(self.trackers, before, strict=True):
                    state.put_back(tracker, taken)
            raise

    def _play(self, floor, radii, own, t):
        if self.second is None:
            self.first._play(floor, radii, own, t, 0)
        else:
            below = self.first.tracker._predict()
            above = self.second.tracker._predict()
            lower = upper = -INFINITY
            if below + above < 0.0:  # the ends cross: play the point in the middle
                lower = 0.5 * (below - above)
                upper = -lower
            self.first._play(lower, radii, own, t, 0)
            self.second._play(upper, radii, own, t, self.count)

    def _learn(self, lower, upper, radii, t, discount):
        self.first._learn(lower, radii, t, 0, discount)
        if self.second is not None:
            self.second._learn(upper, radii, t, self.count, discount)


def play(levels, floors, lower, upper, arrivals, discounts, radii, own, played):
    """Whole rounds: predict, then learn the label that arrives.

    A row of the other arrays belongs to a prediction: first come older ones, whose radii are known, then the rounds to
    play, one for each of ``floors``. ``arrivals[t]`` is the row of the label that arrives after round t, or -1.
    """
    with cython.nogil:
        older = radii.shape[0] - floors.shape[0]
        for t in range(floors.shape[0]):
            played[0] = t
            levels._play(floors[t], radii, own, older + t)
            row = arrivals[t]
            if row >= 0:
                levels._learn(lower[row], upper[row], radii, row, discounts[row])
