# cython: boundscheck=False, wraparound=False
"""AgACI: ACI at several steps, aggregated by Bernstein online aggregation (Zaffran et al. 2022, arXiv 2202.07282).

The aggregation rule is BOA (Wintenberger, "Optimal learning with Bernstein online aggregation", 2017) with second-order
terms and a doubling guess of the range, as in the code of DtACI (arXiv 2208.08401), which compares with AgACI.

Differences from Zaffran et al.:

1. Levels are aggregated, as in that code, and the radius is one quantile at the mean level. The paper aggregates the
   upper and the lower bounds with the R package opera, whose numbers depend on its version.
2. A tie is a miss (``tie="miss"``); with ``published=True`` it is covered, and the radius is infinite at level 0 or
   less.
3. Experts learn after more than 1 / alpha scores: a rank among fewer says nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import EXTREME, LARGEST, flag
from wane.errors import InputError
from wane.trackers.base import Tracker
from wane.trackers.faci import GAMMAS, mean, steps
from wane.trackers.history import History, inverted_cdf
from wane.trackers.registry import register

INFINITY = float("inf")
GUESS = 1e-3  # added to the range of the regrets before it is rounded up to a power of two; the code's eps


class AggregatedConformal(Tracker):
    r"""The radius is the quantile of all past scores at a mean of levels, weighted by Bernstein online aggregation.

    With :math:`\beta_t` the largest level that would have covered, as in ``QuantileExperts``, :math:`\bar\alpha_t` the
    mean level, and the linear loss :math:`\ell^k = (1[\bar\alpha_t > \beta_t] - \alpha)(\alpha_t^k - \bar\alpha_t)`,

    .. math::
        L^k &\mathrel{+}= \tfrac12 \bigl(\ell^k (1 + \eta^k \ell^k) + E^k\, 1[\eta^k \ell^k > \tfrac12]\bigr), \qquad
        \eta^k = \min\bigl(1/E^k, \sqrt{\log K / \textstyle\sum (\ell^k)^2}\bigr), \qquad
        w^k \propto \eta^k e^{-\eta^k L^k}

    where :math:`E^k` is twice the largest :math:`|\ell^k|` so far, rounded up to a power of two. Experts are judged by
    ranks, not by the radius that was played; discounts are ignored. When alpha is changed, all levels move by as much.
    Memory grows by one number a round, because any quantile of the past may be asked for.

    Args:
        alpha: the share of misses.
        gammas: the steps; at least two.
        clip: where the mean level is 0 or less, play the largest score (True) or infinity.
        tie: whether radius = score is a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> AggregatedConformal(0.1).run([1.0, 2.0, 3.0] * 20)[[0, 1, 20, 40, 59]]
    array([inf,  1.,  3.,  3.,  3.])
    """

    parameters = ("alpha", "gammas", "clip", "tie", "domain", "on_missing")
    memory = ("rounds", "levels", "weights", "etas", "losses", "squares", "ranges", "past")
    atomic = True

    def __init__(
        self,
        alpha: float,
        gammas: Any = GAMMAS,
        clip: bool = True,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Nothing seen; every level is alpha."""
        self.gammas, self.rates = steps(gammas)
        n = len(self.gammas)
        if n < 2:
            raise InputError("must hold at least two steps", about="gammas", cure="with one, use 'aci'")
        self.clip = flag("clip", clip)
        self.levels: Any = np.zeros(n).data
        self.weights: Any = np.full(n, 1.0 / n).data
        self.etas: Any = np.zeros(n).data
        self.losses: Any = np.zeros(n).data  # L
        self.squares: Any = np.zeros(n).data
        self.ranges: Any = np.zeros(n).data
        self.past = History()
        self.miss = 0.0
        super().__init__(alpha, domain, on_missing, tie)

    def level_changed(self, miss: float) -> None:
        """The levels move with alpha."""
        for k in range(len(self.gammas)):
            self.levels[k] += miss - self.miss
        self.miss = miss

    @property
    def cold(self) -> bool:
        """Whether there is no score yet."""
        return self.past.bag.n == 0

    @property
    def level(self) -> float:
        """The mean level that the next radius is taken at."""
        return mean(self.weights, self.levels)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Weights are shares, and no step is larger than that of a range of 0; the rest cannot overflow."""
        return super().limits() | {
            "levels": (-EXTREME, EXTREME),
            "weights": (0.0, 1.0),
            "etas": (0.0, 1.0 / power_of_two(2.0 * GUESS)),
            "losses": (-LARGEST, LARGEST),
            "squares": (0.0, LARGEST),
            "ranges": (0.0, EXTREME),
        }

    def misfit(self) -> str | None:
        """Some expert has a weight."""
        return None if sum(self.weights) > 0.0 else "weights"

    def _predict(self) -> float:
        if self.past.bag.n == 0:
            return INFINITY
        level = mean(self.weights, self.levels)
        if level <= 0.0 and not self.clip:
            return INFINITY
        return inverted_cdf(self.past.bag, 1.0 - level)

    def _update(self, score: float, radius: float, discount: float) -> None:
        if self.past.bag.n > math.floor(1.0 / self.miss):
            self.learn(self._rank(score))
        self.past.push(score)

    def _rank(self, score):
        """The largest level that covers the score."""
        below = self.past.bag.count_below(score) if self.at_tie == 0.0 else self.past.bag.count_at_most(score)
        return (self.past.bag.n - below) / (self.past.bag.n + 0.0)

    def learn(self, beta):
        """One round of the experts at a given beta, for ranks that come from elsewhere."""
        n = self.levels.shape[0]
        middle = mean(self.weights, self.levels)
        slope = (1.0 if middle > beta else 0.0) - self.miss
        least = INFINITY
        for k in range(n):
            loss = slope * (self.levels[k] - middle)
            self.squares[k] += loss * loss
            self.ranges[k] = max(self.ranges[k], abs(loss))
            reach = power_of_two(2.0 * (self.ranges[k] + GUESS))
            late = reach if self.etas[k] * loss > 0.5 else 0.0
            self.losses[k] += 0.5 * (loss * (1.0 + self.etas[k] * loss) + late)
            self.etas[k] = 1.0 / reach
            if self.squares[k] > 0.0:
                self.etas[k] = min(self.etas[k], math.sqrt(math.log(n) / self.squares[k]))
            least = min(least, self.etas[k] * self.losses[k])
            self.levels[k] += self.rates[k] * (self.miss - (1.0 if self.levels[k] > beta else 0.0))
        total = 0.0
        for k in range(n):
            self.weights[k] = self.etas[k] * math.exp(least - self.etas[k] * self.losses[k])
            total += self.weights[k]
        for k in range(n):
            self.weights[k] /= total
        return 0


def power_of_two(x):
    """The least power of two that is not less than x, for x > 0.

    >>> power_of_two(0.3), power_of_two(2.0)
    (0.5, 2.0)
    """
    p = 1.0
    while p < x:
        p *= 2.0
    while p * 0.5 >= x:
        p *= 0.5
    return p


register(
    "agaci",
    AggregatedConformal,
    "AgACI on levels; ``published=True`` counts ties as covered and plays infinity at level 0 or less.",
    published={True: {"tie": "covered", "clip": False}},
    gammas=GAMMAS,
    clip=True,
    tie=None,
)
