# cython: boundscheck=False, wraparound=False
"""Quantile tracking as control: P, PI and PID (Angelopoulos, Candes, Tibshirani 2023, arXiv 2307.16895).

Differences from the paper and from the published code:

1. The paper's integral sums the errors up to the last round, the published code those up to the round before it.
   ``late=True``, the default, is the code; ``late=False`` is the paper.
2. The published code forecasts with a Theta model fitted again in every round, after a burn-in. Here any object with
   ``predict()`` and ``update(score)`` forecasts, from the first round on; the default is ``Trend``.
3. With domain "nonnegative" the radius is max(0, q); q itself is never clipped.
4. A miss is score >= radius; the published code says score > radius (``tie="covered"``, or ``published=True``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import described, flag, number, positive, room, scalar
from wane.errors import InputError, InputTypeError
from wane.state.limits import MOST
from wane.state.stateful import Stateful
from wane.trackers.base import Tracker
from wane.trackers.losses import missed
from wane.trackers.registry import register

INFINITY = float("inf")
HALF_PI = 1.5707963267948966


class Range(Stateful):
    """The largest minus the smallest of the last ``window`` scores, or of all scores if ``window`` is 0.

    >>> r = Range(2)
    >>> r.push(5.0), r.push(1.0), r.push(2.0), r.high - r.low
    (None, None, None, 1.0)
    """

    parameters = ("window",)
    memory = ("recent", "count", "high", "low")
    extents = ("window",)

    def __init__(self, window: int) -> None:
        """No score yet."""
        self.window = room("window", window, 0)
        self.recent = zeros(self.window)
        self.count = 0  # of all scores so far
        self.high = 0.0
        self.low = 0.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Scores are counted."""
        return {"count": (0, MOST)}

    def _fields(self, cells):
        self.count = cells.whole(self.count)
        self.high = cells.number(self.high)
        self.low = cells.number(self.low)
        cells.vector(self.recent)

    def push(self, score: float) -> None:
        """Take a score, and drop the oldest when there are too many."""
        self._push(score)

    def _push(self, score):
        full = self.window > 0 and self.count >= self.window
        leaving = score
        if self.window > 0:
            place = self.count % self.window
            leaving = self.recent[place] if full else score
            self.recent[place] = score
        self.count = self.count + 1
        if self.count == 1 or (full and (leaving == self.high or leaving == self.low)):
            self.high = self.low = score
            for i in range(min(self.count, self.window)):
                self.high = max(self.high, self.recent[i])
                self.low = min(self.low, self.recent[i])
        else:
            self.high = max(self.high, score)
            self.low = min(self.low, score)


class Trend(Stateful):
    r"""The default scorecaster: Holt's linear trend, two exponentially weighted averages.

    .. math::
        l_t = a s_t + (1 - a)(l_{t-1} + b_{t-1}), \quad b_t = c (l_t - l_{t-1}) + (1 - c) b_{t-1}

    It forecasts l + b, and 0 before the first score. It is not the published one (a Theta model).

    Args:
        smoothing: a, the weight of the newest score in the level.
        drift: c, the weight of the newest change in the slope; 0 gives a plain exponential average.

    >>> trend = Trend(0.5, 0.5)
    >>> [trend.update(s) for s in (1.0, 2.0)], trend.predict()
    ([None, None], 1.75)
    """

    parameters = ("smoothing", "drift")
    memory = ("seen", "level", "slope")

    def __init__(self, smoothing: float = 0.1, drift: float = 0.01) -> None:
        """No score yet."""
        self.smoothing = share("smoothing", smoothing)
        self.drift = share("drift", drift)
        self.seen = 0
        self.level = 0.0
        self.slope = 0.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Scores are counted."""
        return {"seen": (0, MOST)}

    def predict(self) -> float:
        """The forecast of the next score."""
        return self.level + self.slope

    def update(self, score: float) -> None:
        """Learn a score."""
        before = self.level if self.seen else score
        self.level = self.smoothing * score + (1.0 - self.smoothing) * (before + self.slope)
        self.slope = self.drift * (self.level - before) + (1.0 - self.drift) * self.slope
        self.seen = self.seen + 1


class Control(Tracker):
    r"""The radius is q_t plus an integral and a forecast.

    .. math::
        q_{t+1} = q_t + \eta_t (err_t - \alpha), \qquad
        radius_{t+1} = q_{t+1} + K \tan\Bigl(\frac{x_t \log(t+1)}{C (t+1)}\Bigr) + forecast_{t+1}

    with t from 0, q_0 = 0, x_t the sum of err - alpha over the rounds before t (through t when ``late`` is False), and
    eta_t the rate times the range of the last ``window`` scores before t (the rate itself when t = 0). Beyond
    plus or minus pi/2 the tangent is infinite, so the radius may be infinite. Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: the published lr.
        gain: K, of the size of the scores; 0 is P control.
        saturation: C.
        window: the number of scores in the range.
        scorecaster: None, or an object with ``predict()`` and ``update(score)``. With a ``state_dict`` of its own it is
            saved and restored with the tracker; without, it must be given to ``load`` again.
        late: whether the integral is one round late.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> Control(0.1, rate=0.1).run([1.0, 2.0, 1.0, 3.0]).round(3)
    array([0.  , 0.09, 0.09, 0.18])
    """

    parameters = (
        "alpha",
        "rate",
        "gain",
        "saturation",
        "window",
        "scorecaster",
        "late",
        "tie",
        "domain",
        "on_missing",
    )
    memory = ("rounds", "q", "total", "before", "spread")
    extents = ("window",)

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        gain: float = 0.0,
        saturation: float = 1.0,
        window: int = 100,
        scorecaster: Any = None,
        late: bool = True,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, domain, on_missing, tie)
        self.rate = positive("rate", rate)
        self.gain = gain if gain == 0.0 else positive("gain", gain)
        self.saturation = positive("saturation", saturation)
        self.window = room("window", window, 1)
        for method in () if scorecaster is None else ("predict", "update"):
            if not callable(getattr(scorecaster, method, None)):
                raise InputTypeError(
                    f"needs predict() and update(score), got {described(scorecaster)}", about="scorecaster"
                )
        self.scorecaster = scorecaster
        self.casting = scorecaster is not None
        self.late = flag("late", late)
        self.q = 0.0
        self.total = 0.0  # of err - alpha, over all rounds
        self.before = 0.0  # the same without the last round
        self.spread = Range(window)

    @property
    def atomic(self) -> Any:
        """A scorecaster may fail."""
        return not self.casting

    def _fields(self, cells):
        if self.casting:  # a scorecaster may be anything
            cells.vary()
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)
        self.total = cells.number(self.total)
        self.before = cells.number(self.before)
        self.spread._fields(cells)

    def _predict(self) -> float:
        q = self.q + self._integral()
        if self.casting:
            q = q + self._forecast()
        return q if self.signed or q > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        miss = missed(score, played, self.at_tie, self.miss)
        eta = self.rate if self.spread.count == 0 else self.rate * (self.spread.high - self.spread.low)
        if self.casting:
            self._observe(score)  # a user's: it comes before anything is kept
        self.spread._push(score)
        self.q = self.q + eta * (miss - self.miss)
        self.before = self.total
        self.total = self.total + (miss - self.miss)

    def _integral(self):
        if self.gain == 0.0 or self.rounds == 0:
            return 0.0
        x = self.before if self.late else self.total
        angle = x * math.log(self.rounds) / (self.saturation * self.rounds)
        if angle >= HALF_PI:
            return INFINITY
        if angle <= -HALF_PI:
            return -INFINITY
        return self.gain * math.tan(angle)

    def _forecast(self):
        return number("the scorecaster's forecast", self.scorecaster.predict())

    def _observe(self, score):
        self.scorecaster.update(score)


def zeros(size: int) -> Any:
    """A memory view of zeros."""
    return np.zeros(size).data


def share(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    x = scalar(name, value)
    if not 0.0 <= x <= 1.0:
        raise InputError(f"must lie in [0, 1], got {value!r}", about=name)
    return x


AUTHORS: dict[Any, dict[str, Any]] = {True: {"tie": "covered", "late": True}}

register(
    "p-control",
    Control,
    "P control, the quantile tracker: gradient descent with a rate proportional to the range of recent scores.",
    published=AUTHORS,
    rate=0.1,
    window=100,
    tie=None,
)
register(
    "pi-control",
    Control,
    "PI control: P control plus an integral, of the scale ``gain``, that may make the radius infinite.",
    published=AUTHORS,
    rate=0.1,
    gain=1.0,
    saturation=1.0,
    window=100,
    late=True,
    tie=None,
)
register(
    "pid",
    Control,
    "PID control: PI control plus the forecast of a scorecaster, by default ``Trend()``.",
    published=AUTHORS,
    rate=0.1,
    gain=1.0,
    saturation=1.0,
    window=100,
    scorecaster=Trend,
    late=True,
    tie=None,
)
