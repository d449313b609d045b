"""Right coverage without looking at the data: why coverage alone says nothing (a footnote of the paper's Section 3).

Not a method to use, but a line that every comparison should contain.
"""

from __future__ import annotations

from wane.trackers.base import Tracker
from wane.trackers.registry import register

INFINITY = float("inf")
SLACK = 1e-9  # ten times 0.1 is a whole round, whatever the rounding of its sum


class Trivial(Tracker):
    """Play an infinite radius, except in a share alpha of the rounds, evenly spaced, where it misses for sure.

    There the radius is 0, where every nonnegative score is a miss (a tie is one), or minus infinity with domain "real".
    After T rounds the number of misses is within 1 of alpha T, whatever the scores are. Discounts and scores are
    ignored.

    >>> Trivial(0.25).run([1.0] * 8)
    array([inf, inf, inf,  0., inf, inf, inf,  0.])
    """

    parameters = ("alpha", "domain", "on_missing")
    memory = ("rounds", "debt")
    atomic = True

    def __init__(self, alpha: float, domain: str = "nonnegative", on_missing: str = "error") -> None:
        """No miss due."""
        super().__init__(alpha, domain, on_missing)
        self.debt = 0.0  # the misses that were allowed so far and not taken

    def limits(self) -> dict[str, tuple[float, float]]:
        """The debt is less than a miss."""
        return super().limits() | {"debt": (-1.0, 1.0)}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.debt = cells.number(self.debt)

    def _predict(self) -> float:
        if self.debt + self.miss < 1.0 - SLACK:
            return INFINITY
        return -INFINITY if self.signed else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        due = self.debt + self.miss
        self.debt = due if due < 1.0 - SLACK else due - 1.0


register("trivial", Trivial, "Infinite or 0 in a fixed pattern: right coverage, useless radii.")
