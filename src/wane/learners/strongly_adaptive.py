"""Coin betting for changing environments: any learner, started anew on every interval of a covering.

Jun, Orabona, Wright, Willett, "Improved strongly adaptive online learning using coin betting" (2017). The geometric
covering has at level j the intervals [i 2^j, (i+1) 2^j - 1], i = 1, 2, ... (Daniely, Gonen, Shalev-Shwartz 2015), so a
round t lies in one interval of each level up to log2 t. A copy of the base learner plays each interval; coin betting
(Krichevsky-Trofimov) on the regret to each copy weighs them.

Differences from the paper:

1. Losses are linear, <g_t, .>, divided by lipschitz * diameter, where the paper has losses in [0, 1].
2. There are finitely many levels; the highest starts anew every 2^(levels - 1) rounds.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from wane.checks import positive, whole
from wane.domains import Domain
from wane.errors import InputError
from wane.learners.base import Learner
from wane.learners.constrained import checked
from wane.learners.starting_point import known_diameter
from wane.state.data import parts_of
from wane.state.limits import GREATEST, MOST
from wane.vectors import dot, norm

TINIEST = math.ulp(0.0)  # the least positive number
ROUNDING = 1e-9  # what a regret may exceed its range by without being an error


class StronglyAdaptive(Learner):
    r"""Any base learner made good on every interval, hence for every discount at once (CBCE).

    In round t = 1, 2, ... the copy that plays an interval from round b on has the weight p proportional to

    .. math::
        \frac{\max(0, w)}{b^2 (1 + \lfloor\log_2 b\rfloor)}, \qquad
        w = \frac{\sum_{i=b}^{t-1} c_i}{t - b + 1} \Bigl(1 + \sum_{i=b}^{t-1} c_i w_i\Bigr), \qquad
        c_i = \frac{\langle g_i, x_i - x_i^{copy}\rangle}{G D}

    with c cut to be positive where w <= 0; without a positive w the priors alone weigh. A round costs O(log t) rounds
    of the base.

    Proved (``theory.strongly_adaptive_bound``, with the constants of this file; the order is that of Jun et al.): on
    every interval I its regret is the base's plus :math:`O(GD\sqrt{|I| \log T})`, and therefore for every discount at
    once (``theory.interval_regrets_to_discounted``) that of the base plus
    :math:`O(GD\sqrt{\log T/(1-\lambda)})`. This needs what is an argument here: a bounded domain and a bound on the
    gradients. Measured: it is slower to settle than the sum over discounts.

    A ``discount`` given to ``update`` or ``run`` goes to the copies in the place of their own; the betting knows none.

    Args:
        base: the learner to copy; a copy starts as the base does after ``reset``.
        lipschitz: G, a bound on the norm of the gradients; a larger gradient is an error.
        diameter: D, a bound on the distance between two predictions of the base; None takes it from the domain of the
            base.
        levels: the number of levels of the covering: intervals are up to 2^(levels - 1) rounds long.

    >>> from wane.domains import Ball
    >>> from wane.learners import GradientDescent
    >>> base = GradientDescent(domain=Ball(1.0), schedule="horizon")
    >>> StronglyAdaptive(base).run([-1.0] * 500 + [1.0] * 6)[[499, 500, 501, 502, 503, 504]].round(2)
    array([ 1.  ,  1.  ,  0.87, -0.9 , -1.  , -1.  ])
    """

    parameters = ("base", "lipschitz", "diameter", "levels")

    def __init__(self, base: Learner, lipschitz: float = 1.0, diameter: float | None = None, levels: int = 24) -> None:
        """Copies for all levels, nothing seen."""
        checked(base)
        super().__init__(base.discount, base.dim)
        found = getattr(base, "domain", None)
        domain = found if isinstance(found, Domain) else None
        self.base = base
        self.lipschitz = positive("lipschitz", lipschitz)
        self.diameter = positive("diameter", known_diameter(diameter, domain, self))
        self.levels = whole("levels", levels, 1, 62)
        self.rounds = 0
        self.sums = np.zeros(self.levels)  # of the coins c of the present interval
        self.wealth = np.ones(self.levels)
        self.copies = [started_anew(base) for _ in range(self.levels)]
        self.memory = ("rounds", "sums", "wealth", *self._name_learners())

    def _name_learners(self) -> list[str]:
        """An attribute for each learner inside: what a state is made of."""
        names = []
        for level, learner in enumerate(self.copies):
            for i, part in enumerate(family(learner)):
                names.append(f"copy_{level}_{i}" if i else f"copy_{level}")
                setattr(self, names[-1], part)
        return names

    def limits(self) -> dict[str, tuple[float, float]]:
        """Wealth is positive."""
        return {"rounds": (0, MOST), "wealth": (TINIEST, GREATEST)}

    def misfit(self) -> str | None:
        """Coins are at most 1."""
        return "sums" if (np.abs(self.sums) > self.rounds).any() else super().misfit()

    def components(self) -> np.ndarray:
        """What the copies play in the next round, shortest interval first, (levels in use,) or (levels in use, dim)."""
        return np.array([learner.predict() for learner in self.copies[: self._in_use()]])

    def weights(self) -> np.ndarray:
        """The share of each copy in the next prediction."""
        return self._weights(self._bets())

    def _in_use(self) -> int:
        return min((self.rounds + 1).bit_length(), self.levels)

    def _born(self, level: int) -> int:
        """The first round of the interval of this level that holds the next round."""
        return (self.rounds + 1) >> level << level

    def _bets(self) -> list[float]:
        t = self.rounds + 1
        return [float(self.sums[j]) / (t - self._born(j) + 1) * float(self.wealth[j]) for j in range(self._in_use())]

    def _weights(self, bets: list[float]) -> np.ndarray:
        priors = [prior(self._born(j)) for j in range(len(bets))]
        stakes = [p * max(0.0, w) for p, w in zip(priors, bets, strict=True)]
        stakes = stakes if max(stakes) > 0.0 else priors
        return np.array(stakes) / np.cumsum(stakes)[-1]  # added in order; sum() does so only before Python 3.12

    def _predict(self) -> Any:
        return mixture(self.weights(), self.components(), self.dim)

    def _update(self, gradient: Any, discount: float) -> None:
        g = np.array(gradient, dtype=float, ndmin=1)
        size = norm(g.data)
        if size > self.lipschitz * (1.0 + 1e-14):  # a few roundings are no debt
            raise InputError(
                f"the gradient's norm {size!r} exceeds lipschitz={self.lipschitz!r}, so nothing was learned",
                argument="gradient",
                cure="give a larger lipschitz, or use MultiscaleLearner, which needs none",
            )
        bets, points = self._bets(), self.components()
        apart = (mixture(self._weights(bets), points, self.dim) - points).reshape(len(points), self.n)
        regrets = [dot((g / self.lipschitz).data, row.data) / self.diameter for row in apart]
        if max(map(abs, regrets)) > 1.0 + ROUNDING:
            raise InputError(
                f"the copies of {self.base!r} play points further apart than diameter={self.diameter!r}, so nothing "
                "was learned",
                argument="diameter",
                cure="give a larger diameter, or a base that is kept in a domain",
            )
        for learner in self.copies[: len(points)]:
            learner.update(gradient, discount)
        self._settle(bets, regrets)

    def _settle(self, bets: list[float], regrets: list[float]) -> None:
        """Bets are won and lost; the intervals that end make way for new ones."""
        for j, (w, r) in enumerate(zip(bets, regrets, strict=True)):
            coin = min(max(r, -1.0 if w > 0.0 else 0.0), 1.0)
            self.sums[j] += coin
            self.wealth[j] += coin * w
        self.rounds += 1
        for j in range(self._in_use()):
            if self._born(j) == self.rounds + 1:
                self.sums[j], self.wealth[j] = 0.0, 1.0
                self.copies[j].reset()


def prior(born: int) -> float:
    """1 / (b^2 (1 + floor(log2 b))): over all intervals of the covering these sum to at most pi^2 / 6.

    >>> prior(1), prior(4)
    (1.0, 0.020833333333333332)
    """
    return 1.0 / (float(born) * float(born) * born.bit_length())


def mixture(weights: np.ndarray, points: np.ndarray, dim: int | None) -> Any:
    """The weighted sum of the points."""
    return float((weights * points).sum()) if dim is None else (weights[:, None] * points).sum(axis=0)


def started_anew(base: Learner) -> Learner:
    """A copy that has seen nothing."""
    made: Learner = copy.deepcopy(base)
    made.reset()
    return made


def family(learner: Any) -> list[Any]:
    """A learner and the learners it wraps."""
    return [learner, *(inner for part in parts_of(learner) for inner in family(part))]
