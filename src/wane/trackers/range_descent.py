"""What ECI, its variants and COP share: P control by the range of recent scores, and a term that looks one round ahead.

A method says with ``_ahead`` what is added to the next radius only.
"""

from __future__ import annotations

from wane.checks import positive, room
from wane.trackers.base import Tracker
from wane.trackers.control import Range
from wane.trackers.losses import missed


class RangeDescent(Tracker):
    r"""The rule :math:`q_{t+1} = q_t + \eta_t (err_t - \alpha)`, played as :math:`r_{t+1} = q_{t+1} + extra_{t+1}`.

    :math:`\eta_t` is the rate times the range of the last ``window`` scores before the round, and the rate itself in
    the first round. With domain "nonnegative" the radius is max(0, q + extra); q itself is never clipped. Discounts are
    ignored.
    """

    memory = ("rounds", "q", "extra", "spread")  # type: tuple[str, ...]
    extents = ("window",)
    atomic = True

    def __init__(
        self,
        alpha: float,
        rate: float,
        window: int,
        tie: str,
        domain: str,
        on_missing: str,
        least: int = 1,
    ) -> None:
        """Start at 0; ``least`` is the smallest window."""
        super().__init__(alpha, domain, on_missing, tie)
        self.rate = positive("rate", rate)
        self.window = room("window", window, least)
        self.q = 0.0
        self.extra = 0.0  # what moves the next radius only
        self.spread = Range(max(1, self.window))

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)
        self.extra = cells.number(self.extra)
        self.spread._fields(cells)

    def _predict(self) -> float:
        q = self.q + self.extra
        return q if self.signed or q > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        eta = self._eta()
        self.q = self.q + eta * (missed(score, played, self.at_tie, self.miss) - self.miss)
        self.extra = self._ahead(score, played, eta)
        self.spread._push(score)

    def _eta(self):
        # The step of this round.
        if self.window > 0 and self.spread.count > 0:
            return self.rate * (self.spread.high - self.spread.low)
        return self.rate

    def _ahead(self, score, played, eta):
        # What is added to the next radius only; q has moved already.
        return 0.0
