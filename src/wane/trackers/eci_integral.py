"""ECI-integral (Wu, Hu, Bao, Xia, Zou 2025, arXiv 2502.00818): the errors of the past, averaged, move the next radius.

Verified in the authors' public code: everything below, with ``published=True`` for ties. That code leaves the error of
the latest round out of the average, and so does this one. Differences from it:

1. A miss is score >= radius; their code says score > radius (``tie="covered"``, or ``published=True``).
2. With domain "nonnegative" the radius is max(0, q + extra); q itself is never clipped.
"""

from __future__ import annotations

from wane.checks import positive, scalar
from wane.errors import InputError
from wane.state.limits import MOST
from wane.trackers.eci import error_term
from wane.trackers.range_descent import RangeDescent
from wane.trackers.registry import register


class ErrorIntegral(RangeDescent):
    r"""P control whose next radius also feels an average of the errors before the last one.

    .. math::
        q_{t+1} = q_t + \eta_t (err_t - \alpha), \quad
        r_{t+1} = q_{t+1} + \eta_t \frac{\sum_{i < t} \gamma^{t-i} d_i f'(d_i)}{\sum_{i < t} \gamma^{t-i}}, \quad
        d_i = s_i - r_i,

    with :math:`\eta_t` the rate times the range of the last ``window`` scores before the round (times 1 in the first)
    and f a sigmoid. Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: times the range this is eta.
        scale: of the sigmoid 1/(1 + exp(-scale * d)): one over the scale of the scores.
        decay: gamma, the weight of an error beside that of the round after it.
        window: the number of scores in the range.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> ErrorIntegral(0.1, rate=0.5).run([1.0, 3.0, 2.0, 9.0, 2.0]).round(3)
    array([0.   , 0.45 , 0.45 , 1.534, 2.448])
    """

    parameters = ("alpha", "rate", "scale", "decay", "window", "tie", "domain", "on_missing")
    memory = ("rounds", "q", "extra", "errors", "weights", "spread")

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        scale: float = 1.0,
        decay: float = 0.95,
        window: int = 100,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, rate, window, tie, domain, on_missing)
        self.scale = positive("scale", scale)
        self.decay = scalar("decay", decay)
        if not 0.0 <= self.decay <= 1.0:
            raise InputError(f"must lie in [0, 1], got {decay!r}", about="decay", cure="the authors take 0.95")
        self.errors = self.weights = 0.0  # both sums of the average

    def limits(self) -> dict[str, tuple[float, float]]:
        """Weights are not negative."""
        return super().limits() | {"weights": (0.0, float(MOST))}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)
        self.extra = cells.number(self.extra)
        self.errors = cells.number(self.errors)
        self.weights = cells.number(self.weights)
        self.spread._fields(cells)

    def _ahead(self, score, played, eta):
        average = self.errors / self.weights if self.weights > 0.0 else 0.0
        self.errors = self.decay * self.errors + error_term(score - played, self.scale)
        self.weights = self.decay * self.weights + 1.0
        return eta * average


register(
    "eci-integral",
    ErrorIntegral,
    "ECI by an average of past errors; ``published=True`` is the authors' code.",
    published={True: {"tie": "covered"}},
    rate=0.1,
    scale=1.0,
    decay=0.95,
    window=100,
    tie=None,
)
