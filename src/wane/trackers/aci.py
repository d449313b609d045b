"""ACI, adaptive conformal inference (Gibbs and Candes 2021, arXiv 2106.00170).

Differences from the code of conformal PID control (arXiv 2307.16895); ``published=True`` restores its 1, 2 and 3:

1. A tie is a miss (``tie="miss"``); the authors count it as covered.
2. With a window, the radius is infinite where the level is at most 1 / (n + 1), n the scores in the window; their code
   takes n = all rounds so far.
3. With ``clip=True`` a miss of the clipped radius is a miss; their code tests the infinite one, which never misses.
4. Their first 100 rounds play a quantile that is interpolated. Here a round of ``burn_in`` plays as every other, and
   only leaves the level alone.

The level, the state of the method, is never clipped: clipping it loses coverage.
"""

from __future__ import annotations

from wane.checks import described, positive
from wane.order import History, higher, inverted_cdf
from wane.trackers.base import Tracker
from wane.trackers.registry import register

INFINITY = float("inf")


class AdaptiveConformal(Tracker):
    r"""The radius is the quantile of the past scores at a level that moves with the misses.

    .. math::
        \alpha_{t+1} = \alpha_t + \gamma (\alpha - \mathrm{err}_t), \qquad
        r_t = \mathrm{quantile}(1 - \alpha_t;\ s_1, \dots, s_{t-1})

    The radius is infinite where :math:`\alpha_t \le 1/(n+1)`, with n scores; that round cannot miss. Where
    :math:`\alpha_t \ge 1` it is the smallest score. The miss is judged at the radius that was played, so labels may
    come late. Discounts are ignored. When alpha is changed, the level moves by as much. Without a window, memory grows
    by one number a round, because any quantile of the past may be asked for.

    Args:
        alpha: the share of misses.
        gamma: the step of the level.
        window: how many scores to look back; None is all.
        burn_in: the rounds at the start in which the level stays.
        finite_sample: False takes the level of the empirical law (``inverted_cdf``), infinite only below level 0, and 0
            before the first score.
        clip: play the largest score in place of an infinite radius.
        tie: what radius = score is, a "miss" or "covered".
        published: rules 2 and 3 of the authors' code.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> AdaptiveConformal(0.5, gamma=0.1).run([4.0, 1.0, 3.0, 2.0, 5.0])
    array([inf,  4.,  4.,  3.,  2.])
    """

    parameters = (
        "alpha", "gamma", "window", "burn_in", "finite_sample", "clip", "tie", "published", "domain", "on_missing"
    )  # fmt: skip
    memory = ("rounds", "level", "past")

    def __init__(
        self,
        alpha: float,
        gamma: float = 0.005,
        window: int | None = None,
        burn_in: int = 0,
        finite_sample: bool = True,
        clip: bool = False,
        tie: str = "miss",
        published: bool = False,
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Nothing seen; the level is alpha."""
        if tie not in ("miss", "covered"):
            raise ValueError(f"tie must be 'miss' or 'covered', got {described(tie)}")
        if isinstance(burn_in, bool) or not hasattr(burn_in, "__index__") or burn_in < 0:
            raise ValueError(f"burn_in must be a number of rounds, got {described(burn_in)}")
        self.miss = 0.0
        self.level = 0.0  # alpha_t
        super().__init__(alpha, domain, on_missing)
        self.gamma = positive("gamma", gamma)
        self.past = History(window)
        self.window = self.past.window
        self.burn_in = burn_in
        self.finite_sample = bool(finite_sample)
        self.clip = bool(clip)
        self.tie = tie
        self.tie_covers = tie == "covered"
        self.published = bool(published)

    def level_changed(self, miss: float) -> None:
        """The level moves with alpha."""
        self.level = self.level + (miss - self.miss)
        self.miss = miss

    @property
    def cold(self) -> bool:
        """Whether there are too few scores for alpha."""
        n = self.past.bag.n
        return n == 0 or (self.finite_sample and self.miss <= 1.0 / (n + 1))

    def _predict(self) -> float:
        if self._infinite():
            return self.past.bag.select(self.past.bag.n - 1) if self.clip and self.past.bag.n > 0 else INFINITY
        if self.finite_sample:
            return higher(self.past.bag, 1.0 - self.level)
        return inverted_cdf(self.past.bag, 1.0 - self.level) if self.past.bag.n > 0 else 0.0

    def _infinite(self):
        """Whether no score is far enough out for the level."""
        if not self.finite_sample:
            return self.level < 0.0
        return self.level <= 1.0 / ((self.rounds if self.published else self.past.bag.n) + 1.0)

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        err = 1.0 if score > played or (score == played and not self.tie_covers) else 0.0
        if self.clip and self.published and self._infinite():
            err = 0.0
        if self.rounds >= self.burn_in:
            self.level = self.level + self.gamma * (self.miss - err)
        self.past.push(score)


@register("aci")
def aci(
    alpha: float,
    *,
    gamma: float = 0.005,
    window: int | None = None,
    burn_in: int = 0,
    finite_sample: bool = True,
    clip: bool = False,
    tie: str | None = None,
    published: bool = False,
    domain: str = "nonnegative",
    on_missing: str = "error",
) -> AdaptiveConformal:
    """ACI with the paper's gamma; ``published=True`` counts ties as covered and has the rules of the authors' code."""
    rule = ("covered" if published else "miss") if tie is None else tie
    return AdaptiveConformal(alpha, gamma, window, burn_in, finite_sample, clip, rule, published, domain, on_missing)
