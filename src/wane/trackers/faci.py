# cython: boundscheck=False, wraparound=False
"""FACI and DtACI (Gibbs and Candes, arXiv 2208.08401, first and last version), and FACI-S, FACI on radii (2302.07869).

Experts with steps gamma_k follow the misses as ACI does; exponential weights with sharing mix what they say.

Differences from the paper and from published code:

1. FACI: the step of the weights is the paper's; the published code (arXiv 2302.07869) divides by 3 under the root, so
   its step is sqrt(3) times larger. ``published=True`` restores that, and the radius 0 before the first score.
2. FACI-S: the scale is ``max_score``, or the largest score so far; the published code ignores the one it is given and
   takes 1. ``published=True`` restores that, and its gradient 0 at a tie.
3. A tie is a miss (``tie="miss"``); the authors count it as covered. ``published=True`` restores that.
4. DtACI: the authors' code works on given ranks beta, with a step of 2.72, which is the formula below at alpha = 0.1 to
   three digits; ``published=True`` takes it. It draws one expert at random, or plays the mean, which is done here.
5. Experts learn after more than 1 / alpha scores, as in the code for FACI: a rank among fewer says nothing.

Differences of DtACI from the R package AdaptiveConformal; ``published="adaptiveconformal"`` restores 6 to 9:

6. Its experts learn from the first round on, in which the radius is 0.
7. Each of its experts follows the misses of its own radius, ``inverted_cdf`` at its own level, where a tie is covered;
   beta, which the weights follow, counts a tie as a miss.
8. It keeps 1 minus the levels, and rounding decides on whole ranks and on ties, as in ACI (``wane.trackers.aci``).
9. ``interval`` is 100, and the step of the weights is that of FACI.
10. R sums in extended precision, so the mean level may differ in its last bits. That decides on the rank where n times
    it is a whole number, which happens when all experts are back at alpha. What the experts do does not depend on it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import described, flag, one_of, positive, whole
from wane.errors import InputError, InputTypeError
from wane.trackers.aci import PACKAGE
from wane.trackers.base import Tracker
from wane.trackers.history import History, inverted_cdf
from wane.trackers.registry import chosen_preset, register

INFINITY = float("inf")
NAN = float("nan")
GAMMAS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)  # the authors'
WEIGHTS = (math.ulp(0.0), 1.0 + 1e-9)  # limits of shares that are never 0, up to rounding
DTACI: dict[Any, dict[str, Any]] = {True: {"tie": "covered", "clip": False}, PACKAGE: {}}


class QuantileExperts(Tracker):
    r"""The radius is the quantile of all past scores at a mean of levels, each following the misses at its own step.

    With :math:`\beta_t` the share of the past scores above (``tie="miss"``) or not below the new one, that is the
    largest level that would have covered it, and :math:`\ell` the pinball loss of :math:`\beta_t - \alpha_t^k`,

    .. math::
        w^k &\propto (1-\sigma)\, w^k e^{-\eta\, \ell(\beta_t - \alpha_t^k)} + \sigma / K \cdot \mathrm{(sum)} \\
        \alpha_{t+1}^k &= \alpha_t^k + \gamma_k (\alpha - 1[\alpha_t^k > \beta_t])

    and the radius is ``inverted_cdf`` at :math:`1 - \sum_k w^k \alpha_t^k`. It is infinite, and ``cold``, before the
    first score. Experts are judged by ranks, not by the radius that was played; discounts are ignored. When alpha is
    changed, all levels move by as much. Memory grows by one number a round, because any quantile of the past may be
    asked for; with a window it is bounded.

    Args:
        alpha: the share of misses.
        method: "faci", whose levels are clipped to [0, 1], or "dtaci", whose levels are free.
        gammas: the steps.
        interval: the length I of the stretches on which regret is to be small; None is 500 for DtACI, and 100 for FACI
            and in the R package.
        sigma: the share; None is 1 / (2 I).
        eta: the step of the weights; None is the paper's formula at this alpha, :math:`\sqrt{3/|I|}
            \sqrt{(\log(K|I|)+2) / ((1-\alpha)^2\alpha^3 + \alpha^2(1-\alpha)^3)}`, with
            :math:`\log(2K|I|)+1` for DtACI.
        clip: where the mean level is 0 or less, play the largest score (True) or infinity.
        tie: whether radius = score is a "miss" or "covered".
        published: True for difference 1, "adaptiveconformal" for 6 to 9, where ``tie`` is the rule of beta alone.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".
        window: how many scores to look back, which bounds the memory; None for all.

    >>> tracker = QuantileExperts(0.1)
    >>> tracker.run([1.0, 2.0, 3.0] * 20)[[0, 1, 20, 40, 59]]
    array([inf,  1.,  3.,  3.,  3.])
    """

    parameters = (
        "alpha", "method", "gammas", "interval", "sigma", "eta", "clip", "tie", "published", "domain", "on_missing",
        "window",
    )  # fmt: skip
    added = ("window",)
    memory = ("rounds", "levels", "weights", "past")
    extents = ("window",)
    atomic = True

    def __init__(
        self,
        alpha: float,
        method: str = "faci",
        gammas: Any = GAMMAS,
        interval: int | None = 100,
        sigma: float | None = None,
        eta: float | None = None,
        clip: bool = True,
        tie: str = "miss",
        published: bool | str = False,
        domain: str = "nonnegative",
        on_missing: str = "error",
        window: int | None = None,
    ) -> None:
        """Nothing seen; every level is alpha."""
        self.method = one_of("method", method, ("faci", "dtaci"))
        self.bounded = method == "faci"
        self.gammas, self.rates = steps(gammas)
        self.eta = None if eta is None else positive("eta", eta)
        self.clip = flag("clip", clip)
        self.published = chosen_preset(published, DTACI)
        self.authors, self.own = self.published is True, self.published == PACKAGE
        if self.own and self.bounded:
            raise InputError(f"published={PACKAGE!r} is a preset of dtaci, got method 'faci'", argument="published")
        if interval is None:
            interval = 100 if self.bounded or self.own else 500
        self.interval, self.sigma, self.share = sharing(interval, sigma)
        self.origin = 1.0 if self.own else 0.0
        self.levels: Any = np.full(len(self.gammas), 0.0 - self.origin).data  # less the origin, as in ACI
        self.weights: Any = np.full(len(self.gammas), 1.0 / len(self.gammas)).data
        self.losses: Any = np.zeros(len(self.gammas)).data
        self.past = History(window)
        self.window = self.past.window
        self.miss = 0.0
        super().__init__(alpha, domain, on_missing, tie)

    def level_changed(self, miss: float) -> None:
        """The levels move with alpha, and the step of the weights follows it."""
        for k in range(len(self.gammas)):
            self.levels[k] += miss - self.miss
        self.miss = miss
        self.aim = (miss - self.origin) + self.origin  # alpha, rounded as the levels are
        self.speed = self._speed() if self.eta is None else self.eta

    def _speed(self):
        """The paper's eta, or that of the authors' code for DtACI."""
        if self.authors and not self.bounded:
            return 2.72
        n = len(self.gammas) * self.interval
        top = math.log(n) + 2.0 if self.bounded or self.own else math.log(2.0 * n) + 1.0
        eta = paper_eta(self.miss, self.interval, top)
        return eta * math.sqrt(3.0) if self.authors and self.bounded else eta

    @property
    def cold(self) -> bool:
        """Whether there is no score yet."""
        return self.past.bag.n == 0

    @property
    def level(self) -> float:
        """The mean level that the next radius is taken at."""
        return mean(self.weights, self.levels) + self.origin

    def limits(self) -> dict[str, tuple[float, float]]:
        """Every expert has a weight."""
        return super().limits() | {"weights": WEIGHTS}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        cells.vector(self.levels)
        cells.vector(self.weights)
        self.past._fields(cells)

    def _predict(self) -> float:
        level = mean(self.weights, self.levels)
        if level + self.origin <= 0.0 and not self.clip:
            return INFINITY
        return self._radius(level)

    def _radius(self, level):
        """The radius at a level less the origin."""
        if self.past.bag.n == 0:
            return 0.0 if self.own or (self.authors and self.bounded) else INFINITY
        return inverted_cdf(self.past.bag, (1.0 - self.origin) - level)

    def _update(self, score: float, radius: float, discount: float) -> None:
        if self.own or self.past.bag.n > math.floor(1.0 / self.miss):
            self._learn(self._rank(score), score if self.own else NAN)
        self.past.push(score)

    def _rank(self, score):
        """The paper's beta."""
        below = self.past.bag.count_below(score) if self.at_tie == 0.0 else self.past.bag.count_at_most(score)
        return (self.past.bag.n - below) / max(self.past.bag.n, 1.0)

    def learn(self, beta):
        """One round of the experts at a given beta, for ranks that come from elsewhere."""
        return self._learn(beta, NAN)

    def _learn(self, beta, score):
        """One round at a beta; experts miss a score by their own radius, or by beta where the score is NaN."""
        beta = beta - self.origin
        judge(self.weights, self.levels, self.losses, beta, self.miss, self.speed, self.share)
        for k in range(self.levels.shape[0]):
            missed = self.levels[k] > beta if score != score else score > self._radius(self.levels[k])
            u = self.levels[k] + self.rates[k] * (self.aim - (1.0 if missed else 0.0))
            self.levels[k] = min(max(u, 0.0), 1.0) if self.bounded else u
        return 0


def mean(weights, values):
    """The weighted mean.

    >>> mean(np.array([1.0, 3.0]).data, np.array([0.0, 1.0]).data)
    0.75
    """
    total = weight = 0.0
    for k in range(weights.shape[0]):
        total += weights[k] * values[k]
        weight += weights[k]
    return total / weight


def reweigh(weights, losses, eta, sigma):
    """Exponential weights with sharing, in place; the best expert's loss is taken from all, which changes nothing.

    >>> w = np.array([0.5, 0.5])
    >>> _ = reweigh(w.data, np.array([0.0, 1.0]).data, 1000.0, 0.1)
    >>> w
    array([0.95, 0.05])
    """
    n = weights.shape[0]
    least = losses[0]
    for k in range(n):
        least = min(least, losses[k])
    total = 0.0
    for k in range(n):
        weights[k] *= math.exp(-eta * (losses[k] - least))
        total += weights[k]
    for k in range(n):
        weights[k] = (1.0 - sigma) * weights[k] / total + sigma / n
    return 0


def judge(weights, levels, losses, beta, miss, eta, sigma):
    """Weigh experts by the pinball losses of their levels at beta, in place; ``losses`` is scratch space.

    >>> w = np.array([0.5, 0.5])
    >>> _ = judge(w.data, np.array([0.1, 0.9]).data, np.zeros(2).data, 0.1, 0.1, 1e4, 0.0)
    >>> w
    array([1., 0.])
    """
    for k in range(levels.shape[0]):
        u = beta - levels[k]
        losses[k] = miss * u if u >= 0.0 else (miss - 1.0) * u
    return reweigh(weights, losses, eta, sigma)


def paper_eta(miss: float, interval: int, top: float) -> float:
    """The paper's step of the weights, with ``top`` the term that depends on the number of experts.

    >>> round(paper_eta(0.1, 100, math.log(800.0) + 2.0), 3)
    5.671
    """
    a, b = miss, 1.0 - miss
    return math.sqrt(3.0 / interval) * math.sqrt(top / (b * b * a * a * a + a * a * b * b * b))


def steps(gammas: Any) -> tuple[tuple[float, ...], Any]:
    """The steps, checked, as a tuple and as an array."""
    if isinstance(gammas, str) or not hasattr(gammas, "__iter__") or getattr(gammas, "ndim", 1) != 1:
        raise InputTypeError(f"must be several steps, got {described(gammas)}", about="gammas", cure="[0.5] is one")
    given = tuple(positive("gammas", g) for g in gammas)
    if not given:
        raise InputError("must hold at least one step", about="gammas")
    return given, np.array(given).data


def sharing(interval: Any, sigma: Any) -> tuple[int, float | None, float]:
    """The length of a stretch, the share as given, and the share to use."""
    length = whole("interval", interval, 1)
    if sigma is None:
        return length, None, 1.0 / (2.0 * length)
    share = positive("sigma", sigma)
    if share > 1.0:
        raise InputError(f"is a share, at most 1, got {sigma!r}", about="sigma")
    return length, share, share


register(
    "faci",
    QuantileExperts,
    "FACI; ``published=True`` has the larger step of the code behind the published table and its rule for ties.",
    published={True: {"tie": "covered"}},
    gammas=GAMMAS,
    interval=100,
    sigma=None,
    eta=None,
    tie=None,
)
register(
    "dtaci",
    QuantileExperts,
    """DtACI; ``published=True`` has the authors' step 2.72, their rule for ties and an infinite radius at level 0.

    ``published="adaptiveconformal"`` is the R package of that name, where an interval of None is 100 and not 500.
    """,
    fixed={"method": "dtaci"},
    published=DTACI,
    gammas=GAMMAS,
    interval=None,
    sigma=None,
    eta=None,
    clip=True,
    tie=None,
)
