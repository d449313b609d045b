# cython: boundscheck=False, wraparound=False
"""One side of one step of AcMCP (Wang, Hyndman 2024, arXiv 2410.13115): PI control around a forecast of the error.

``wane.Horizons(steps, "acmcp", alpha=...)`` makes these, and ``wane.conformal.acmcp`` forecasts the errors, which links
the steps. Verified by reading the authors' R package conformalForecast: all of this. Differences from it:

1. The integral is in units of the largest error of the step so far; theirs (``KI``) is that of the whole series.
2. The saturation is 5; theirs, 0.545 for 1,000 rounds, asks for infinite radii in the first rounds, which they hide.
3. A miss is score >= radius; their code says score > radius (``published=True``).
"""

from __future__ import annotations

import math

from wane.checks import one_of, positive, room
from wane.trackers.base import Tracker
from wane.trackers.context import further
from wane.trackers.control import Range
from wane.trackers.losses import missed

INFINITY = float("inf")
HALF_PI = 1.5707963267948966
SATURATION = 5.0  # so that no radius is infinite in the first rounds
SIDES = {"lower": -1.0, "upper": 1.0}


class StepControl(Tracker):
    r"""The radius of one side: a quantile that is tracked, an integral of the misses, and a forecast of the error.

    .. math::
        q_{t+1} = q_t + \eta_t (err_t - \alpha), \qquad
        radius_{t+1} = q_{t+1} + K \tan\Bigl(\frac{x_t \log t}{C t}\Bigr) \pm forecast

    with t the labels so far, :math:`x_t` the sum of err - alpha over all of them, and :math:`\eta_t` the rate times the
    range of the errors so far, the newest among them (the rate itself after the first label). The sign of the forecast,
    which comes with each round as a context, is that of the side. Discounts are ignored.

    Args:
        alpha: the share of misses of this side.
        side: "lower" or "upper".
        rate: the package's ``lr``.
        gain: K, of the size of the scores; None is the largest one so far, and 0 leaves the integral out.
        saturation: C, the package's ``Csat``; the smaller, the stronger the integral.
        window: the number of errors in the range; 0 is all of them.
        tie: what score = radius is, a "miss" or "covered".
        domain: "real", since errors have a sign.
        on_missing: "error" or "skip".

    >>> StepControl(0.05, "upper", gain=0.0).run([1.0, 2.0, 1.0, 3.0]).round(3)
    array([0.   , 0.095, 0.19 , 0.285])
    """

    parameters = ("alpha", "side", "rate", "gain", "saturation", "window", "tie", "domain", "on_missing")
    memory = ("rounds", "q", "total", "largest", "spread")
    extents = ("window",)
    context = 1
    atomic = True

    def __init__(
        self,
        alpha: float,
        side: str,
        rate: float = 0.1,
        gain: float | None = None,
        saturation: float = SATURATION,
        window: int = 0,
        tie: str = "miss",
        domain: str = "real",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, domain, on_missing, tie)
        self.side = one_of("side", side, tuple(SIDES))
        self.sign = SIDES[side]
        self.rate = positive("rate", rate)
        self.gain = gain if not gain else positive("gain", gain)
        self.unit = -1.0 if self.gain is None else float(self.gain)
        self.saturation = positive("saturation", saturation)
        self.window = room("window", window, 0)
        self.q = 0.0
        self.total = 0.0  # of err - alpha
        self.largest = 0.0  # score
        self.spread = Range(self.window)
        self.forecast = 0.0  # of the round that is predicted next

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)
        self.total = cells.number(self.total)
        self.largest = cells.number(self.largest)
        self.spread._fields(cells)

    def _foresee(self, given, t):
        self.forecast = further(given, t, 0)
        return 0

    def _note(self, cells):
        # A late label needs nothing but the radius, which is kept elsewhere; the desk is cleared all the same.
        self.forecast = cells.number(self.forecast)
        if not cells.reading:
            self.forecast = 0.0
        return 0

    def _predict(self) -> float:
        q = self.q + self._integral() + self.sign * self.forecast
        return q if self.signed or q > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        miss = missed(score, played, self.at_tie, self.miss)
        self.spread._push(score)  # the newest is part of the range
        eta = self.rate if self.spread.count == 1 else self.rate * (self.spread.high - self.spread.low)
        self.q = self.q + eta * (miss - self.miss)
        self.total = self.total + (miss - self.miss)
        self.largest = max(self.largest, abs(score))
        self.forecast = 0.0

    def _integral(self):
        if self.unit == 0.0 or self.rounds == 0:
            return 0.0
        angle = self.total * math.log(self.rounds) / (self.saturation * self.rounds)
        if angle >= HALF_PI:
            return INFINITY
        if angle <= -HALF_PI:
            return -INFINITY
        return (self.largest if self.unit < 0.0 else self.unit) * math.tan(angle)
