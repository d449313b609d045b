"""Split conformal prediction with every past score as calibration set (Vovk, Gammerman, Shafer 2005).

Differences from the code behind the published table (Bhatnagar et al. 2023, arXiv 2302.07869):

1. The rank is (n + 1)(1 - alpha), rounded up, which covers exchangeable scores with probability at least 1 - alpha; the
   published code uses n (1 - alpha). ``published=True``, which is ``finite_sample=False``, restores that.
2. The radius is infinite while no finite one is justified, that is while n < (1 - alpha) / alpha. The published code
   starts at 0 and then plays the largest score.
"""

from __future__ import annotations

from wane.checks import flag
from wane.trackers.base import Tracker
from wane.trackers.history import History, finite_sample, inverted_cdf
from wane.trackers.registry import register


class SplitConformal(Tracker):
    r"""The radius is a quantile of all past scores: the :math:`\lceil (n+1)(1-\alpha) \rceil`-th smallest of n.

    Its memory grows by one number a round, because a quantile over the whole past at a level that may change needs the
    whole past; a round costs the logarithm of that. It is infinite, and ``cold``, while n + 1 < 1 / alpha. Discounts
    and the radius that was played are ignored: this method never asks whether it missed.

    Args:
        alpha: the share of misses.
        finite_sample: False drops the +1: the level 1 - alpha of the empirical law, and 0 before the first score.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> SplitConformal(0.25).run([4.0, 1.0, 3.0, 2.0, 5.0])
    array([inf, inf, inf,  4.,  4.])
    """

    parameters = ("alpha", "finite_sample", "domain", "on_missing")
    memory = ("rounds", "past")
    atomic = True

    def __init__(
        self, alpha: float, finite_sample: bool = True, domain: str = "nonnegative", on_missing: str = "error"
    ) -> None:
        """Nothing seen."""
        super().__init__(alpha, domain, on_missing)
        self.finite_sample = flag("finite_sample", finite_sample)
        self.past = History()

    @property
    def cold(self) -> bool:
        """Whether there are too few scores for this level."""
        return self.past.bag.n == 0 or self._predict() == float("inf")

    def _predict(self) -> float:
        if self.finite_sample:
            return finite_sample(self.past.bag, 1.0 - self.miss)
        if self.past.bag.n == 0:
            return 0.0
        return inverted_cdf(self.past.bag, 1.0 - self.miss)

    def _update(self, score: float, radius: float, discount: float) -> None:
        self.past.push(score)


register(
    "split",
    SplitConformal,
    "Split conformal prediction over all past scores; ``published=True`` drops the finite-sample correction.",
    published={True: {"finite_sample": False}},
    finite_sample=True,
)
