r"""The radius as the bet of a universal portfolio on misses (after arXiv 2602.03168; the derivation is our own).

Two assets: a share p on "miss" multiplies the wealth by p / alpha in a missed round and by (1 - p) / (1 - alpha) in a
covered one. Cover's universal portfolio mixes all constant shares by a Beta law, here with parameters kappa alpha and
kappa (1 - alpha), so that after m misses in N rounds the share is p = (m + kappa alpha) / (N + kappa). The radius is
what one unit of gradient wins or loses, :math:`\varepsilon W (p - \alpha) / (\alpha (1 - \alpha))`: on a miss the
wealth :math:`\varepsilon W` grows by 1 - alpha times that, on a cover it shrinks by alpha times that. So misses beyond
the target make wealth and radius grow exponentially, as with the rule of the paper's learners.

Not verified against published code, which was not at hand: the paper (Liu, Dobriban, Orabona 2026) reduces coverage to
a portfolio of two assets too, and its prior and constants may differ.
"""

from __future__ import annotations

import math

from wane.checks import number, positive
from wane.errors import InputError
from wane.state.limits import GREATEST, MOST
from wane.theory.portfolio import portfolio_bounds
from wane.trackers.base import Tracker
from wane.trackers.registry import register

CAP = 345.0  # of the logarithm of the wealth: floats would soon end


class Portfolio(Tracker):
    r"""A universal portfolio that bets on misses; its bet is the radius.

    .. math::
        r = \max\Bigl(0, \varepsilon W \frac{p - \alpha}{\alpha (1 - \alpha)}\Bigr), \quad
        p = \frac{m + \kappa \alpha}{N + \kappa},

    with m misses in N rounds, and the wealth W multiplied by p / alpha in a missed round and by (1 - p) / (1 - alpha)
    in a covered one. Ties are misses. It forgets nothing; discounts are ignored.

    Args:
        alpha: the share of misses.
        epsilon: the initial wealth, a guess of the scale of the scores.
        prior: kappa, how many rounds at the right rate the prior is worth; a small one moves sooner.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> tracker = Portfolio(0.1)
    >>> tracker.run([1.0] * 8).round(3)
    array([0.   , 0.909, 3.03 , 2.202, 1.644, 1.256, 0.977, 2.833])
    >>> abs(tracker.coverage_sum()) <= tracker.coverage_bound()
    True
    """

    parameters = ("alpha", "epsilon", "prior", "domain", "on_missing")
    memory = ("rounds", "misses", "labels", "log_wealth", "largest", "late", "changed")
    atomic = True

    def __init__(
        self,
        alpha: float,
        epsilon: float = 1.0,
        prior: float = 10.0,
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Nothing won or lost."""
        self.misses = 0.0
        self.labels = 0.0
        self.log_wealth = 0.0  # of W
        self.largest = 0.0  # of the scores so far
        self.late = 0.0  # 1 once a label came for another radius than the current one
        self.changed = 0.0  # 1 once alpha has changed
        super().__init__(alpha, domain, on_missing)
        self.epsilon = positive("epsilon", epsilon)
        self.prior = positive("prior", prior)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Labels are counted, and what has happened is 1."""
        counts = dict.fromkeys(("misses", "labels"), (0.0, float(MOST)))
        return super().limits() | counts | {"largest": (0.0, GREATEST), "late": (0.0, 1.0), "changed": (0.0, 1.0)}

    def misfit(self) -> str | None:
        """No more labels are missed than there are."""
        return "misses" if self.misses > self.labels else None

    def level_changed(self, miss: float) -> None:
        """The misses beyond the target stay as many, and with them the edge; the bound was about one alpha.

        Else thousands of rounds at another rate would be bets on the wrong side, and lose all wealth.
        """
        if self.labels > 0.0 and miss != self.miss:
            self.changed = 1.0
            self.misses = min(max(self.misses + (miss - self.miss) * self.labels, 0.0), self.labels)
        self.miss = miss

    def coverage_sum(self) -> float:
        """The number of misses minus alpha times that of rounds."""
        return self.misses - self.miss * self.labels

    def coverage_bound(self, max_score: float | None = None) -> float:
        """A bound on abs(coverage_sum()) for scores up to max_score, by default the largest so far.

        ``wane.theory.portfolio_bounds`` has the proof. It is about labels in time, scores that are not negative and an
        alpha that does not change.
        """
        if self.signed:
            raise InputError("the bound is for scores >= 0: this tracker was made with domain='real'")
        if self.changed:
            raise InputError("the bound is for one alpha, and this tracker's has changed")
        if self.late:
            raise InputError("the bound is for labels in time: a label came late, or for a radius that was lifted")
        top = self.largest if max_score is None else number("max_score", max_score)
        low, high = portfolio_bounds(self.miss, int(self.labels), top, 0.0, self.epsilon, self.prior)
        return max(-low, high)

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.misses = cells.number(self.misses)
        self.labels = cells.number(self.labels)
        self.log_wealth = cells.number(self.log_wealth)
        self.largest = cells.number(self.largest)
        self.late = cells.number(self.late)
        self.changed = cells.number(self.changed)

    def _edge(self):
        """p - alpha."""
        return (self.misses + self.prior * self.miss) / (self.labels + self.prior) - self.miss

    def _predict(self) -> float:
        bet = self.epsilon * math.exp(min(self.log_wealth, CAP)) * (self._edge() / (self.miss * (1.0 - self.miss)))
        return bet if self.signed or bet > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        current = self._predict()
        played = current if radius != radius else radius
        edge = self._edge()
        if played > score:
            self.log_wealth = self.log_wealth + math.log1p(-edge / (1.0 - self.miss))
        else:
            self.log_wealth = self.log_wealth + math.log1p(edge / self.miss)
            self.misses = self.misses + 1.0
        self.labels = self.labels + 1.0
        self.largest = max(self.largest, score)
        if played != current:
            self.late = 1.0


register(
    "portfolio",
    Portfolio,
    "A universal portfolio that bets on misses: its bet is the radius; a derivation of our own.",
    epsilon=1.0,
    prior=10.0,
)
