"""ACI, adaptive conformal inference (Gibbs and Candes 2021, arXiv 2106.00170).

Differences from the code of conformal PID control (arXiv 2307.16895); ``published=True`` restores its 1, 2, 3 and 5:

1. A tie is a miss (``tie="miss"``); the authors count it as covered.
2. With a window, the radius is infinite where the level is at most 1 / (n + 1), n the scores in the window; their code
   takes n = all rounds so far.
3. With ``clip=True`` a miss of the clipped radius is a miss; their code tests the infinite one, which never misses.
4. Their first 100 rounds play a quantile that is interpolated. Here a round of ``burn_in`` plays as every other, and
   only leaves the level alone.
5. At levels of 1 and more the set is empty, as in the paper; their code plays the smallest score, and where scores
   fall for long it then winds the level up without limit.

Differences from the R package AdaptiveConformal (github.com/herbps10/AdaptiveConformal);
``published="adaptiveconformal"`` restores them all, and then agrees with it where no scores are equal:

6. It takes ``inverted_cdf`` at every level, the largest score at levels below 0, and 0 before the first score.
7. A tie is covered. It compares the outcome with prediction + radius, so that rounding may decide on a tie there.
8. It keeps 1 - alpha_t. Rounding then decides otherwise on the rank where n (1 - alpha_t) is a whole number.

The level, the state of the method, is never clipped: clipping it loses coverage.
"""

from __future__ import annotations

from typing import Any

from wane.checks import flag, positive, whole
from wane.trackers.base import Tracker
from wane.trackers.history import History, higher, inverted_cdf
from wane.trackers.losses import missed
from wane.trackers.registry import chosen_preset, register

INFINITY = float("inf")
PACKAGE = "adaptiveconformal"  # of R
PRESETS: dict[Any, dict[str, Any]] = {
    True: {"tie": "covered"},
    PACKAGE: {"tie": "covered", "finite_sample": False, "clip": True},
}


class AdaptiveConformal(Tracker):
    r"""The radius is the quantile of the past scores at a level that moves with the misses.

    .. math::
        \alpha_{t+1} = \alpha_t + \gamma (\alpha - \mathrm{err}_t), \qquad
        r_t = \mathrm{quantile}(1 - \alpha_t;\ s_1, \dots, s_{t-1})

    The radius is infinite where :math:`\alpha_t \le 1/(n+1)`, with n scores; that round cannot miss. Where
    :math:`\alpha_t \ge 1` the set is empty: the radius is 0 (minus infinity on the real line), and that round must
    miss. The miss is judged at the radius that was played, so labels may come late. Discounts are ignored. When alpha
    is changed, the level moves by as much. Without a window, memory grows by one number a round, because any quantile
    of the past may be asked for.

    Args:
        alpha: the share of misses.
        gamma: the step of the level.
        window: how many scores to look back; None is all.
        burn_in: the rounds at the start in which the level stays.
        finite_sample: False takes the level of the empirical law (``inverted_cdf``), infinite only below level 0, and 0
            before the first score.
        clip: play the largest score in place of an infinite radius.
        tie: what radius = score is, a "miss" or "covered".
        published: True for rules 2 and 3 of the authors' code, "adaptiveconformal" for rule 7 of the R package.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> AdaptiveConformal(0.5, gamma=0.1).run([4.0, 1.0, 3.0, 2.0, 5.0])
    array([inf,  4.,  4.,  3.,  2.])
    """

    parameters = (
        "alpha", "gamma", "window", "burn_in", "finite_sample", "clip", "tie", "published", "domain", "on_missing"
    )  # fmt: skip
    memory = ("rounds", "shifted", "past")
    extents = ("window",)
    atomic = True

    def __init__(
        self,
        alpha: float,
        gamma: float = 0.005,
        window: int | None = None,
        burn_in: int = 0,
        finite_sample: bool = True,
        clip: bool = False,
        tie: str = "miss",
        published: bool | str = False,
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Nothing seen; the level is alpha."""
        self.published = chosen_preset(published, PRESETS)
        self.authors = self.published is True
        self.empties = not self.published
        self.origin = 1.0 if self.published == PACKAGE else 0.0
        self.miss = 0.0
        self.shifted = -self.origin  # alpha_t less the origin: with origin 1, what the R package keeps, negated
        super().__init__(alpha, domain, on_missing, tie)
        self.gamma = positive("gamma", gamma)
        self.past = History(window)
        self.window = self.past.window
        self.burn_in = whole("burn_in", burn_in, 0)
        self.finite_sample = flag("finite_sample", finite_sample)
        self.clip = flag("clip", clip)

    def level_changed(self, miss: float) -> None:
        """The level moves with alpha."""
        self.shifted = self.shifted + (miss - self.miss)
        self.miss = miss
        self.aim = (miss - self.origin) + self.origin  # alpha, rounded as the level is

    @property
    def level(self) -> float:
        """The level alpha_t that the next radius is taken at."""
        return self.shifted + self.origin

    @property
    def cold(self) -> bool:
        """Whether there are too few scores for alpha."""
        n = self.past.bag.n
        return n == 0 or (self.finite_sample and self.miss <= 1.0 / (n + 1))

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.shifted = cells.number(self.shifted)
        self.past._fields(cells)

    def _predict(self) -> float:
        if self.empties and self.shifted + self.origin >= 1.0:
            return -INFINITY if self.signed else 0.0  # the empty set: that round cannot be covered
        if self._infinite():
            return self.past.bag.select(self.past.bag.n - 1) if self.clip and self.past.bag.n > 0 else INFINITY
        if self.finite_sample:
            return higher(self.past.bag, (1.0 - self.origin) - self.shifted)
        return inverted_cdf(self.past.bag, (1.0 - self.origin) - self.shifted) if self.past.bag.n > 0 else 0.0

    def _infinite(self):
        """Whether no score is far enough out for the level."""
        level = self.shifted + self.origin
        if not self.finite_sample:
            return level < 0.0
        return level <= 1.0 / ((self.rounds if self.authors else self.past.bag.n) + 1.0)

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        err = missed(score, played, self.at_tie, self.miss)
        if self.clip and self.authors and self._infinite():
            err = 0.0
        if self.rounds >= self.burn_in:
            self.shifted = self.shifted + self.gamma * (self.aim - err)
        self.past.push(score)


register(
    "aci",
    AdaptiveConformal,
    """ACI with the paper's gamma.

    ``published=True`` counts ties as covered and has the rules of the authors' code; ``published="adaptiveconformal"``
    is the R package of that name, whatever ``finite_sample`` and ``clip`` are.
    """,
    published=PRESETS,
    gamma=0.005,
    window=None,
    burn_in=0,
    finite_sample=True,
    clip=False,
    tie=None,
)
