"""Conformal optimistic prediction, COP (Hu, Wu, Xia, Zou 2025, arXiv 2512.07770).

Verified in the authors' public code: everything below, with ``published=True`` for ties. Their other estimates of the
distribution, by kernels, are not here. Differences from that code:

1. A miss is score >= radius; their code says score > radius (``tie="covered"``, or ``published=True``).
2. With domain "nonnegative" the radius is max(0, q + extra); q itself is never clipped.
"""

from __future__ import annotations

import math

from wane.checks import scalar
from wane.errors import InputError
from wane.trackers.range_descent import RangeDescent
from wane.trackers.registry import register


class OptimisticConformal(RangeDescent):
    r"""P control with a step ahead towards the quantile of the recent scores.

    .. math::
        q_{t+1} = q_t + \eta_t (err_t - \alpha), \quad
        r_{t+1} = q_{t+1} - \sigma \eta_t \bigl( \hat F_t(q_{t+1}) - (1 - \alpha) \bigr),

    with :math:`\hat F_t` the empirical distribution of the last ``window`` scores before round t, once there are so
    many, and :math:`\eta_t` the rate times their range (times 1 in the first round). Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: times the range this is eta.
        strength: sigma, how far the step ahead goes; 0 is P control.
        window: the number of scores in the range and in the distribution.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> OptimisticConformal(0.1, rate=0.5, window=2).run([1.0, 3.0, 2.0, 9.0, 2.0]).round(3)
    array([0.   , 0.45 , 0.45 , 1.55 , 2.025])
    """

    parameters = ("alpha", "rate", "strength", "window", "tie", "domain", "on_missing")

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        strength: float = 0.5,
        window: int = 100,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, rate, window, tie, domain, on_missing)
        self.strength = scalar("strength", strength)
        if not (0.0 <= self.strength and math.isfinite(self.strength)):
            raise InputError(f"must be a number >= 0, got {strength!r}", about="strength", cure="the authors take 0.5")

    def _ahead(self, score, played, eta):
        if self.spread.count < self.window:
            return 0.0
        return -self.strength * eta * (self._share_below(self.q) - (1.0 - self.miss))

    def _share_below(self, q):
        """The share of the scores of the window that are at most q."""
        below = 0
        for i in range(self.window):
            if self.spread.recent[i] <= q:
                below += 1
        return below / float(self.window)


register(
    "cop",
    OptimisticConformal,
    "COP: P control with a step towards the quantile of recent scores; ``published=True`` is the authors' code.",
    published={True: {"tie": "covered"}},
    rate=0.1,
    strength=0.5,
    window=100,
    tie=None,
)
