# cython: boundscheck=False, wraparound=False
"""NExCP: the quantile of past scores with weights that decay with age (Barber et al. 2022, arXiv 2202.13415).

Differences from the paper and from the code behind the published table (arXiv 2302.07869):

1. Scores whose weight is below 1e-12 of the newest are forgotten, so memory and time do not grow with the stream.
2. The mass that the paper puts on the score to come, at infinity, is there by default; the published code leaves it out
   (``published=True``, which is ``finite_sample=False``) and plays 0 before the first score.
3. ``decay=None`` takes the published 1 - alpha / 4 at the alpha it is made with, and keeps it when alpha changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import flag, scalar
from wane.errors import InputError
from wane.trackers.base import Tracker
from wane.trackers.registry import register

INFINITY = float("inf")

LEAST = 1e-12  # a weight, relative to the newest, that is forgotten
LARGEST_DECAY = 0.999999  # 28 million scores


class NexConformal(Tracker):
    r"""The radius is a weighted quantile: the smallest score r such that the scores above r weigh at most alpha.

    .. math::
        \sum_{i \le n:\, s_i > r} \rho^{n+1-i} \;+\; 1 \;\le\; \alpha \Bigl(1 + \sum_{i \le n} \rho^{n+1-i}\Bigr)

    The 1 is the weight of the score to come; with ``finite_sample=False`` both are left out. It is infinite, and
    ``cold``, where no score satisfies this. Discounts and the radius that was played are ignored. A round costs
    a scan over the share alpha of log(1e-12) / log(decay) scores.

    Args:
        alpha: the share of misses.
        decay: the paper's rho, strictly between 0 and 1; None is 1 - alpha / 4.
        finite_sample: whether the score to come has its weight.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> NexConformal(0.5, 0.9).run([4.0, 1.0, 3.0, 2.0, 5.0])
    array([inf, inf,  4.,  4.,  3.])
    """

    parameters = ("alpha", "decay", "finite_sample", "domain", "on_missing")
    memory = ("rounds", "ring", "scores", "births")
    atomic = True

    def __init__(
        self,
        alpha: float,
        decay: float | None = None,
        finite_sample: bool = True,
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Nothing seen."""
        super().__init__(alpha, domain, on_missing)
        self.decay = 1.0 - self.miss / 4.0 if decay is None else scalar("decay", decay)
        if not 0.0 < self.decay <= LARGEST_DECAY:
            raise InputError(
                f"must be > 0 and <= {LARGEST_DECAY}, got {decay!r}", about="decay", cure="'split' forgets nothing"
            )
        self.finite_sample = flag("finite_sample", finite_sample)
        length = kept_scores(self.decay)
        self.length = length
        self.powers = np.exp(math.log(self.decay) * np.arange(length + 1)).data
        self.ring = np.zeros(length).data  # scores by round, modulo the length
        self.scores = np.zeros(length).data  # sorted; equal ones by age, the oldest first
        self.births = np.zeros(length).data  # the rounds of these

    @property
    def cold(self) -> bool:
        """Whether there are too few scores for this level."""
        n = min(self.rounds, self.length)
        if self.finite_sample:
            return n == 0 or self._radius() == INFINITY
        return n == 0

    @classmethod
    def least_numbers(cls, given: Any) -> int:
        """The scores that are not forgotten; arguments that are no numbers are refused elsewhere."""
        decay = given.get("decay")
        return kept_scores(decay) if isinstance(decay, float) and 0.0 < decay <= LARGEST_DECAY else 0

    def misfit(self) -> str | None:
        """The sorted scores are those of the last rounds, each once, as they stand in the ring."""
        n = min(self.rounds, self.length)
        births, scores = np.asarray(self.births)[:n], np.asarray(self.scores)[:n]
        if not np.array_equal(np.sort(births), np.arange(self.rounds - n, self.rounds)):
            return "births"
        if (np.diff(scores) < 0.0).any():
            return "scores"
        return None if np.array_equal(np.asarray(self.ring)[births.astype(np.int64) % self.length], scores) else "ring"

    def _total(self, n):
        """The weights of n scores, the newest weighing 1."""
        return (1.0 - self.powers[n]) / (1.0 - self.decay)

    def _predict(self) -> float:
        return self._radius()

    def _radius(self):
        n = min(self.rounds, self.length)
        limit = self.miss * self._total(n)
        if self.finite_sample:  # in units of the newest score's weight, rho
            limit -= (1.0 - self.miss) / self.decay
        if n > 0 and limit >= 0.0:
            return self._weighted(n, limit)
        return INFINITY if self.finite_sample else 0.0

    def _weighted(self, n, limit):
        """The smallest score with at most ``limit`` above it."""
        tail = 0.0
        i = n - 1
        while i > 0:
            age = int(self.rounds - 1 - self.births[i])
            tail += self.powers[age]
            if tail > limit:
                break
            i -= 1
        return self.scores[i]

    def _update(self, score: float, radius: float, discount: float) -> None:
        self._push(score)

    def _push(self, score):
        """The oldest score leaves if there is no place, and the new one takes its place in the order."""
        place = self.rounds % self.length
        n = min(self.rounds, self.length)
        i = n if n < self.length else self._first(n, self.ring[place])  # the hole: at the end, or the oldest score's
        while i + 1 < n and self.scores[i + 1] <= score:
            self.scores[i] = self.scores[i + 1]
            self.births[i] = self.births[i + 1]
            i += 1
        while i > 0 and self.scores[i - 1] > score:
            self.scores[i] = self.scores[i - 1]
            self.births[i] = self.births[i - 1]
            i -= 1
        self.scores[i] = score
        self.births[i] = self.rounds
        self.ring[place] = score

    def _first(self, n, score):
        """The first place of a score among n."""
        low = 0
        high = n
        while low < high:
            middle = (low + high) >> 1
            if self.scores[middle] < score:
                low = middle + 1
            else:
                high = middle
        return low


def kept_scores(decay: float) -> int:
    """How many scores have a weight that is not forgotten.

    >>> kept_scores(0.5)
    40
    """
    return int(math.log(LEAST) / math.log(decay)) + 1


register(
    "nex",
    NexConformal,
    "NExCP; ``published=True`` leaves out the weight of the score to come, and decay=None is 1 - alpha / 4.",
    published={True: {"finite_sample": False}},
    decay=None,
    finite_sample=True,
)
