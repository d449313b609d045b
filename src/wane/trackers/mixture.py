# cython: boundscheck=False, wraparound=False
"""A mixture of radii by polynomial weights: how much each would have gained, over how much that swings.

The weights are the positive part of the discounted regret to an expert divided by the discounted sum of its squares, as
in the rule ML-Poly of Gaillard, Stoltz and van Erven (2014), which has no discount. The regret is linearised: so the
mixture may become better than each expert.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import discount_factor, whole
from wane.state.limits import GREATEST
from wane.state.stateful import Stateful
from wane.trackers.room import given

PRIOR = 1e-6  # of regrets and squares: while all agree, their weights are equal, and rounding decides nothing
LARGEST = 1e100  # of one round's regret, in units: its square then fits a float, and so do sums


class Mixture(Stateful):
    """Weights over ``size`` experts.

    Args:
        size: how many.
        discount: ages the regrets.

    >>> mixture = Mixture(2)
    >>> for _ in range(50):     # the truth is 3: the subgradient of the loss is negative below
    ...     mixed = mixture.mix([1.0, 4.0])
    ...     mixture.learn([1.0, 4.0], mixed, -1.0 if mixed < 3.0 else 1.0, 1.0)
    >>> 2.0 < mixture.mix([1.0, 4.0]) < 4.0
    True
    """

    parameters = ("size", "discount")
    memory = ("regrets", "squares")
    extents = ("size",)

    def __init__(self, size: int, discount: float = 0.999, room: Any = None) -> None:
        """All the same, in a room of its own or in one that is given."""
        self.size = whole("size", size, 1)
        self.discount = discount_factor(discount)
        place = given(room, 2 * self.size)
        self.regrets: Any = place.cut(self.size)
        self.squares: Any = place.cut(self.size)
        for k in range(self.size):
            self.regrets[k] = self.squares[k] = PRIOR

    def _fields(self, cells):
        cells.vector(self.regrets)
        cells.vector(self.squares)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Squares are not negative."""
        return {"squares": (0.0, GREATEST)}

    def mix(self, radii: Any) -> float:
        """The weighted mean."""
        return self._mix(np.ascontiguousarray(radii, dtype=float).data)

    def learn(self, radii: Any, mixed: float, gradient: float, unit: float) -> None:
        """What a round says: the subgradient of the loss at the mixture, and the unit that regrets are measured in."""
        self._learn(np.ascontiguousarray(radii, dtype=float).data, mixed, gradient, unit)

    def weights(self) -> np.ndarray:
        """The weights of the next round."""
        found = np.array([self._weight(k) for k in range(self.size)])
        return found / found.sum() if found.sum() > 0.0 else np.full(self.size, 1.0 / self.size)

    def _trust(self, first, rounds):
        """Take it that so many rounds were played, in which the first experts gained a unit each."""
        for k in range(self.size):
            self.squares[k] += rounds
            if k < first:
                self.regrets[k] += rounds
        return 0

    def _weight(self, k):
        """The weight of an expert, not yet divided by their sum."""
        return max(self.regrets[k], 0.0) / self.squares[k] if self.squares[k] > 0.0 else 0.0

    def _mix(self, radii):
        total = weight = plain = 0.0
        for k in range(self.size):
            w = self._weight(k)
            weight += w
            total += w * radii[k]
            plain += radii[k]
        return total / weight if weight > 0.0 else plain / self.size

    def _learn(self, radii, mixed, gradient, unit):
        for k in range(self.size):
            regret = min(max(gradient * (mixed - radii[k]) / unit, -LARGEST), LARGEST)
            self.regrets[k] = self.discount * self.regrets[k] + regret
            self.squares[k] = self.discount * self.squares[k] + regret * regret
        return 0
