# cython: boundscheck=False, wraparound=False
"""FACI-S, FACI on radii (Bhatnagar, Wang, Xiong and Bai, arXiv 2302.07869).

``wane.trackers.faci`` lists the differences from the published code (2 and 3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import positive
from wane.state.limits import GREATEST
from wane.trackers.base import Tracker
from wane.trackers.faci import GAMMAS, WEIGHTS, mean, reweigh, sharing, steps
from wane.trackers.losses import missed
from wane.trackers.registry import register

LARGEST = 1e300  # of a squared loss that is kept: their sum stays finite


class RadiusExperts(Tracker):
    r"""FACI-S: experts follow the misses with radii in place of levels, and their mean is played.

    With :math:`\ell` the pinball loss, D the scale, and the step of the weights from the last I mean squared losses
    (before there are any, :math:`(D(1-\alpha))^2`),

    .. math::
        w^k &\propto (1-\sigma)\, w^k e^{-\eta\, \ell(r_t^k, s_t)} + \sigma / K \cdot \mathrm{(sum)}, \qquad
        \eta = \sqrt{\frac{\log(K |I|) + 2}{|I|\ \mathrm{mean}(\sum_k w^k \ell^2)}} \\
        r_{t+1}^k &= r_t^k + \gamma_k D (1[r_t^k \le s_t] - \alpha)

    Experts are judged by their own radii, not by the one that was played; discounts are ignored.

    Args:
        alpha: the share of misses.
        max_score: the scale D; None is the largest absolute score so far.
        gammas: the steps.
        interval: the length I of the stretches on which regret is to be small.
        sigma: the share; None is 1 / (2 I).
        tie: whether radius = score is a "miss", "covered", or "neither", which moves nothing.
        domain: "nonnegative", where the radius is projected to [0, inf), or "real".
        on_missing: "error" or "skip".

    >>> RadiusExperts(0.1, max_score=1.0).run([1.0] * 60)[[0, 20, 40, 59]].round(3)
    array([0.   , 0.977, 1.017, 1.03 ])
    """

    parameters = ("alpha", "max_score", "gammas", "interval", "sigma", "tie", "domain", "on_missing")
    memory = ("rounds", "largest", "radii", "weights", "squares")
    extents = ("interval",)
    atomic = True
    ties = ("miss", "covered", "neither")

    def __init__(
        self,
        alpha: float,
        max_score: float | None = None,
        gammas: Any = GAMMAS,
        interval: int = 100,
        sigma: float | None = None,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Every radius is 0."""
        super().__init__(alpha, domain, on_missing, tie)
        self.max_score = None if max_score is None else positive("max_score", max_score)
        self.given = self.max_score or 0.0  # 0: follow the scores
        self.gammas, self.rates = steps(gammas)
        self.interval, self.sigma, self.share = sharing(interval, sigma)
        self.largest = 0.0
        self.radii: Any = np.zeros(len(self.gammas)).data
        self.weights: Any = np.full(len(self.gammas), 1.0 / len(self.gammas)).data
        self.losses: Any = np.zeros(len(self.gammas)).data
        self.squares: Any = np.zeros(self.interval).data  # by round, modulo the interval

    def limits(self) -> dict[str, tuple[float, float]]:
        """Every expert has a weight, and squares are not negative."""
        return super().limits() | {"largest": (0.0, GREATEST), "weights": WEIGHTS, "squares": (0.0, LARGEST)}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.largest = cells.number(self.largest)
        cells.vector(self.radii)
        cells.vector(self.weights)
        cells.vector(self.squares)

    def _predict(self) -> float:
        radius = mean(self.weights, self.radii)
        return radius if self.signed or radius > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        self._learn(score)

    def _learn(self, score):
        self.largest = max(self.largest, abs(score))
        scale = self.given if self.given > 0.0 else self.largest
        square = 0.0
        for k in range(self.radii.shape[0]):
            u = score - self.radii[k]
            self.losses[k] = (1.0 - self.miss) * u if u >= 0.0 else -self.miss * u
            square += self.weights[k] * min(self.losses[k] * self.losses[k], LARGEST)
        total = self._sum_of_squares(scale)
        if total > 0.0:
            count = self.radii.shape[0] * self.interval
            reweigh(self.weights, self.losses, math.sqrt((math.log(count) + 2.0) / total), self.share)
        self.squares[self.rounds % self.interval] = square
        for k in range(self.radii.shape[0]):
            self.radii[k] += self.rates[k] * scale * (missed(score, self.radii[k], self.at_tie, self.miss) - self.miss)

    def _sum_of_squares(self, scale):
        """I times the mean of the squared losses of the last I rounds, or of a guess."""
        n = min(self.rounds, self.interval)
        total = 0.0
        for i in range(n):
            total += self.squares[i]
        if n > 0:
            return total * (self.interval / (n + 0.0))
        return self.interval * min(scale * (1.0 - self.miss) * (scale * (1.0 - self.miss)), LARGEST)


register(
    "faci-s",
    RadiusExperts,
    "FACI on radii; ``published=True`` has the scale 1, whatever ``max_score`` is, and does not move at a tie.",
    published={True: {"max_score": 1.0, "tie": "neither"}},
    max_score=None,
    gammas=GAMMAS,
    interval=100,
    sigma=None,
    tie=None,
)
