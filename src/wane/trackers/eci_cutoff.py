"""ECI-cutoff (Wu, Hu, Bao, Xia, Zou 2025, arXiv 2502.00818): error-quantified inference that ignores small errors.

Verified in the authors' public code: everything below, with ``published=True`` for ties. Differences from that code:

1. A miss is score >= radius; their code says score > radius (``tie="covered"``, or ``published=True``).
2. With domain "nonnegative" the radius is max(0, q + extra); q itself is never clipped.
"""

from __future__ import annotations

from wane.checks import positive
from wane.trackers.eci import error_term
from wane.trackers.range_descent import RangeDescent
from wane.trackers.registry import register


class ErrorCutoff(RangeDescent):
    r"""P control whose next radius also feels the last error, if that was large.

    .. math::
        q_{t+1} = q_t + \eta_t (err_t - \alpha), \quad
        r_{t+1} = q_{t+1} + \eta_t\, d_t f'(d_t)\, 1[|d_t| \ge h R_t], \quad d_t = s_t - r_t,

    with R the range of the last ``window`` scores before the round, :math:`\eta_t` the rate times R and f a sigmoid.
    The first score only begins the range. Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: times the range this is eta.
        scale: of the sigmoid 1/(1 + exp(-scale * d)): one over the scale of the scores.
        cutoff: h, in ranges: smaller errors are ignored.
        window: the number of scores in the range.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> ErrorCutoff(0.1, rate=0.5).run([1.0, 3.0, 2.0, 9.0, 2.0]).round(3)
    array([0.   , 0.   , 0.   , 1.11 , 1.803])
    """

    parameters = ("alpha", "rate", "scale", "cutoff", "window", "tie", "domain", "on_missing")

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        scale: float = 1.0,
        cutoff: float = 1.0,
        window: int = 100,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, rate, window, tie, domain, on_missing)
        self.scale = positive("scale", scale)
        self.cutoff = positive("cutoff", cutoff)

    def _eta(self):
        return self.rate * (self.spread.high - self.spread.low) if self.spread.count > 0 else 0.0

    def _ahead(self, score, played, eta):
        if self.spread.count > 0 and abs(score - played) >= self.cutoff * (self.spread.high - self.spread.low):
            return eta * error_term(score - played, self.scale)
        return 0.0


register(
    "eci-cutoff",
    ErrorCutoff,
    "ECI that ignores errors below the range of recent scores; ``published=True`` is the authors' code.",
    published={True: {"tie": "covered"}},
    rate=0.1,
    scale=1.0,
    cutoff=1.0,
    window=100,
    tie=None,
)
