# cython: boundscheck=False, wraparound=False
"""Coin betting with the Krichevsky-Trofimov bettor (Orabona and Pal 2016), the best known parameter-free learner.

A learner with reward c = -g/G in [-1, 1] bets a fraction of its wealth; KT bets the mean of the past coins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import positive
from wane.errors import InputError
from wane.learners.base import VectorLearner
from wane.learners.rule import capped_exp
from wane.vectors import dot, norm

MOST_COINS = 1e12  # beyond it, rounding could make the fraction exceed 1


class CoinBetting(VectorLearner):
    r"""KT betting: :math:`x_t = W_{t-1} \frac1t \sum_{i<t} c_i` with coins :math:`c = -g/G` and wealth W from epsilon.

    The published rule has no discount. Here a discount ages the sum of the coins, their number and the logarithm of
    the wealth, so that 1 is KT exactly and 0 starts anew. The factor of the wealth saturates at 1e150.

    Args:
        epsilon: the initial wealth.
        lipschitz: G, a bound on the norm of the gradients; a larger gradient is an error, since it could cost more
            than all.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.

    >>> CoinBetting().run([-1.0, -1.0, -1.0])     # wealth 1, 1, 3/2; fractions 0, 1/2, 2/3
    array([0. , 0.5, 1. ])
    """

    parameters = ("epsilon", "lipschitz", "discount", "dim")
    memory = ("s", "count", "log_wealth")

    def __init__(
        self, epsilon: float = 1.0, lipschitz: float = 1.0, discount: float = 1.0, *, dim: int | None = None
    ) -> None:
        """No coin seen."""
        super().__init__(discount, dim)
        self.epsilon = positive("epsilon", epsilon)
        self.lipschitz = positive("lipschitz", lipschitz)
        self.s = np.zeros(self.n).data
        self.count = 0.0
        self.log_wealth = 0.0  # of wealth / epsilon

    def limits(self) -> dict[str, tuple[float, float]]:
        """Coins are counted."""
        return {"count": (0.0, MOST_COINS)}

    def misfit(self) -> str | None:
        """Coins have a length of at most 1."""
        return "s" if norm(self.s) > self.count * (1.0 + 1e-9) else super().misfit()

    def _fields(self, cells):
        self.epsilon = cells.number(self.epsilon)
        cells.vector(self.s)
        self.count = cells.number(self.count)
        self.log_wealth = cells.number(self.log_wealth)

    def _point(self, out: Any) -> None:
        wealth = self.epsilon * capped_exp(self.log_wealth)
        for i in range(self.n):
            out[i] = wealth * (self.s[i] / (self.count + 1.0))

    def _learn(self, gradient: Any, discount: float) -> None:
        if norm(gradient) > self.lipschitz * (1.0 + 1e-14):  # a few roundings are no debt
            self._too_large(norm(gradient))
        count = discount * self.count + 1.0
        if count > MOST_COINS:  # by discounts above 1
            self._overflow()
        won = -dot(gradient, self.s) / (self.lipschitz * (self.count + 1.0))  # <coin, fraction>, above -1
        self.log_wealth = discount * self.log_wealth + math.log1p(won)
        self.count = count
        for i in range(self.n):
            self.s[i] = discount * self.s[i] - gradient[i] / self.lipschitz

    def _too_large(self, size: float) -> None:
        raise InputError(
            f"the gradient's norm {size!r} exceeds lipschitz={self.lipschitz!r}, so nothing was learned",
            argument="gradient",
            cure="give a larger lipschitz, or use MagnitudeLearner or AdaptiveLearner, which need none",
        )
