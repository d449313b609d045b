"""Gradient descent with decaying steps (Angelopoulos, Barber, Bates 2024, arXiv 2402.01139).

Differences from the paper and from the published code:

1. The published runs start at the first score, which no player knows in time. ``start="first"`` plays 0 in the first
   round and is the published sequence from the second round on.
2. A miss is score >= radius; the published code says score > radius (``tie="covered"``, or ``published=True``).
3. With domain "nonnegative" the radius is max(0, q); q itself is never clipped.
"""

from __future__ import annotations

import math

from wane.checks import described, number, positive, scalar
from wane.errors import InputError
from wane.trackers.base import Tracker
from wane.trackers.registry import register


class DecayingStep(Tracker):
    r"""Move by a step that decays with time, :math:`q_{t+1} = q_t + \eta t^{-p} (err_t - \alpha)`, t from 1.

    The paper's p is 1/2 plus a small epsilon; then q converges to the quantile when there is one. p = 0 is a constant
    step. Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: eta, of the size of the scores.
        exponent: p.
        start: the first q, or "first" for the first score.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> DecayingStep(0.1, rate=1.0, exponent=0.5).run([1.0, 1.0, 1.0]).round(4)
    array([0.    , 0.9   , 1.5364])
    """

    parameters = ("alpha", "rate", "exponent", "start", "tie", "domain", "on_missing")
    memory = ("rounds", "q")
    atomic = True

    def __init__(
        self,
        alpha: float,
        rate: float = 1.0,
        exponent: float = 0.6,
        start: float | str = 0.0,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at ``start``."""
        super().__init__(alpha, domain, on_missing, tie)
        self.rate = positive("rate", rate)
        self.exponent = scalar("exponent", exponent)
        if not 0.0 <= self.exponent <= 1.0:
            raise InputError(f"must lie in [0, 1], got {exponent!r}", about="exponent", cure="0 is a constant step")
        if isinstance(start, str) and start != "first":
            raise InputError(f"must be a number or 'first', got {described(start)}", about="start")
        self.start = start
        self.from_first = start == "first"
        self.q = 0.0 if self.from_first else number("start", start)

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)

    def _predict(self) -> float:
        return self.q if self.signed or self.q > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        if self.from_first and self.rounds == 0:
            self.q = score
            radius = score
        played = self._predict() if radius != radius else radius
        miss = self._missed(score, played)
        step = self.rate * math.exp(-self.exponent * math.log(self.rounds + 1.0))
        self.q = self.q + step * (miss - self.miss)


register(
    "decaying-ogd",
    DecayingStep,
    "Decaying steps: rate * t^-exponent; ``published=True`` starts at the first score and covers ties.",
    published={True: {"start": "first", "tie": "covered"}},
    rate=1.0,
    exponent=0.6,
    start=0.0,
    tie=None,
)
