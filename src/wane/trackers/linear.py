# cython: boundscheck=False, wraparound=False
"""The linear quantile tracker ("Online conformal prediction via online optimization", ICML 2025, conformalopt).

Verified in the authors' public code: the update, the features (past scores and a bias; all 0 until there are enough
scores), the start at 1/order, the decay t^-0.6, and that score > radius is a miss.

Differences from that code:

1. The weights start at 0; ``published=True`` starts them at 1/max(order, 1) and covers ties.
2. Features of the user's own may come with each round (``set_features``).
3. Its rate "proportional" to the range of the last scores is not here.
4. With domain "nonnegative" the radius is max(0, theta.x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import number, positive, scalar, vector, whole
from wane.errors import InputError, TooLargeError
from wane.trackers.base import Tracker
from wane.trackers.control import zeros
from wane.trackers.losses import missed
from wane.trackers.registry import register
from wane.vectors import copy, dot, within

LARGE = 1e150  # of weights and features: their products are finite


class LinearTracker(Tracker):
    r"""The radius is linear in features, :math:`r_t = \theta_t \cdot x_t`, learned by gradient descent.

    .. math::
        \theta_{t+1} = \theta_t + \eta t^{-p} (err_t - \alpha)\, x_t

    The features are the user's (``set_features``, kept until it is called again; 0 before), the last ``order`` scores
    with the oldest first, and a bias. While there are fewer scores, all features are 0. Discounts are ignored.
    A late label is learned with the features of the current round.

    Args:
        alpha: the share of misses.
        rate: eta.
        order: the number of past scores among the features.
        features: the number of the user's features.
        bias: the constant feature.
        exponent: p; 0 is a constant rate.
        start: every weight at the start; "order" is 1/max(order, 1), as in their code.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> tracker = LinearTracker(0.1, rate=0.01, features=1)
    >>> for x in [1.0, 2.0, 1.0, 2.0] * 1000:
    ...     tracker.set_features([x])
    ...     tracker.update(3.0 * x)
    >>> tracker.set_features([2.0])
    >>> round(tracker.predict(), 1)
    6.0
    """

    parameters = (
        "alpha",
        "rate",
        "order",
        "features",
        "bias",
        "exponent",
        "start",
        "tie",
        "domain",
        "on_missing",
    )
    memory = ("rounds", "theta", "x")
    extents = ("order", "features")

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        order: int = 0,
        features: int = 0,
        bias: float = 1.0,
        exponent: float = 0.0,
        start: float | str = 0.0,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Every weight is ``start``."""
        super().__init__(alpha, domain, on_missing, tie)
        self.rate = positive("rate", rate)
        self.order = whole("order", order, 0)
        self.features = whole("features", features, 0)
        self.bias = number("bias", bias)
        self.exponent = scalar("exponent", exponent)
        if not 0.0 <= self.exponent <= 1.0:
            raise InputError(f"must lie in [0, 1], got {exponent!r}", about="exponent", cure="0 is a constant rate")
        self.start = 1.0 / max(self.order, 1) if start == "order" else number("start", start)
        self.size = self.features + self.order + 1
        self.theta = np.full(self.size, self.start).data
        self.next = zeros(self.size)
        self.x = zeros(self.size)
        self.x[self.size - 1] = self.bias

    def set_features(self, values: Any) -> None:
        """The user's features of the next round."""
        given = vector("features", values, self.features)
        if not within(given.data, LARGE):
            raise InputError(f"must be at most {LARGE:g}, got {given}", about="features")
        for i in range(self.features):
            self.x[i] = given[i]

    def limits(self) -> dict[str, tuple[float, float]]:
        """Weights that would be larger were refused."""
        return super().limits() | {"theta": (-LARGE, LARGE)}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        cells.vector(self.theta)
        cells.vector(self.x)

    def _predict(self) -> float:
        q = dot(self.theta, self.x) if self.rounds >= self.order else 0.0
        return q if self.signed or q > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        miss = missed(score, played, self.at_tie, self.miss)
        step = self.rate * math.exp(-self.exponent * math.log(self.rounds + 1.0)) * (miss - self.miss)
        self._learn(step if self.rounds >= self.order else 0.0, score)

    def _learn(self, step, score):
        for i in range(self.size):
            self.next[i] = self.theta[i] + step * self.x[i]
        if not within(self.next, LARGE):
            self._overflow()
        copy(self.next, self.theta)
        if self.order > 0:
            for i in range(self.features, self.size - 2):
                self.x[i] = self.x[i + 1]
            self.x[self.size - 2] = score

    def _overflow(self):
        raise TooLargeError(
            "a weight would overflow, so nothing was learned",
            argument="features",
            cure="divide the features and scores by a scale",
        )


register(
    "linear-tracker",
    LinearTracker,
    "The linear quantile tracker; by default an intercept alone, ``order`` adds past scores, ``features`` yours.",
    published={True: {"start": "order", "tie": "covered"}},
    rate=0.1,
    order=0,
    features=0,
    bias=1.0,
    exponent=0.0,
    start=0.0,
    tie=None,
)
