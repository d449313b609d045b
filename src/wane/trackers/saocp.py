# cython: boundscheck=False, wraparound=False
"""Strongly adaptive online conformal prediction (Bhatnagar, Wang, Xiong, Bai 2023, arXiv 2302.07869).

In every round a new expert is born; it lives for ``lifetime`` times the largest power of two in the number of the
round, and runs scale-free gradient descent. Coin betting weighs the experts that live.

The order of operations is that of the authors' public code (read, not copied). What to know of it:

1. The radius that is played still counts the experts that expire in this round; the loss to which the experts are
   compared is that of the mixture after they have left and the new one has come, which starts at the played radius.
   A late label, whose radius is not the current one, is compared to the loss of the radius that was played.
2. At a tie an expert's gradient is alpha - 1 (a "miss"); "covered" takes alpha, and "neither" is the published rule.
3. With domain "nonnegative" every expert is projected to [0, inf); with "real" none is.
4. The path is chaotic: a change of the scores in the 14th digit changes it within some dozen rounds. Compiled and
   uncompiled agree to the last bit nevertheless.
5. Room for experts is set aside for 2^40 rounds; after them no new one is born while there is no room.
6. The wealth 1 + Y of an expert saturates at 1e200, which takes hundreds of rounds of the largest possible gain.
"""

from __future__ import annotations

import math

import numpy as np

from wane.checks import positive, whole
from wane.state.limits import GREATEST
from wane.trackers.base import Tracker
from wane.trackers.control import zeros
from wane.trackers.losses import missed
from wane.trackers.registry import NEEDED, register

CAP = 1e200  # of the wealth of an expert: sums of weights stay finite
LEVELS = 41  # powers of two in the number of a round, up to 2^40


class SAOCP(Tracker):
    r"""A mixture of scale-free gradient descents that start in every round.

    Expert i, born in round i, plays x and has the weight p proportional to its prior
    :math:`1/(i^2 (1 + \lfloor \log_2 i \rfloor))` times max(0, w),

    .. math::
        w = \frac{Z}{age} (1 + Y), \quad Z = \sum g, \quad Y = \sum g w, \quad
        g = \frac{loss(mixture) - loss(x)}{D \max(\alpha, 1 - \alpha)}

    where g is cut to [-1, 1], and to [0, 1] when w <= 0; x moves by
    :math:`- D / \sqrt{3 \sum (\partial loss)^2}\, \partial loss`. About lifetime/2 experts live for each power of two,
    so a round costs O(log t). Discounts are ignored.

    Args:
        alpha: the share of misses.
        max_score: D, the largest score that is expected.
        lifetime: of the experts born in odd rounds; the published experiments use 32, the code's default is 8.
        tie: "miss", "covered" or "neither", the gradient at score = radius.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> SAOCP(0.1, max_score=1.0).run([0.5, 0.2, 0.9]).round(4)
    array([0.    , 0.5774, 0.4565])
    """

    parameters = ("alpha", "max_score", "lifetime", "tie", "domain", "on_missing")
    memory = ("rounds", "radius", "alive", "born", "life", "prior", "x", "v", "z", "y", "w")
    extents = ("lifetime",)
    atomic = True
    ties = ("miss", "covered", "neither")

    def __init__(
        self,
        alpha: float,
        max_score: float,
        lifetime: int = 32,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """No expert is born."""
        super().__init__(alpha, domain, on_missing, tie)
        self.max_score = positive("max_score", max_score)
        self.lifetime = whole("lifetime", lifetime, 1)
        self.room = LEVELS * (self.lifetime // 2 + 2)
        self.radius = 0.0  # of the next round
        self.alive = 0  # the first so many entries of each array, the eldest first
        self.born = zeros(self.room)
        self.life = zeros(self.room)
        self.prior = zeros(self.room)
        self.x = zeros(self.room)
        self.v = zeros(self.room)  # the sum of squared gradients
        self.z = zeros(self.room)
        self.y = zeros(self.room)
        self.w = zeros(self.room)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Experts that live have a place; squares are not negative, and wealth ends at the cap."""
        return super().limits() | {"alive": (0, self.room), "v": (0.0, GREATEST), "y": (-GREATEST, CAP)}

    def misfit(self) -> str | None:
        """Experts that live were born in rounds before, one after the other, and have a prior."""
        born = np.asarray(self.born)[: self.alive]
        if len(born) and not (born[0] >= 1.0 and (np.diff(born) > 0.0).all() and born[-1] <= self.rounds):
            return "born"
        return None if (np.asarray(self.prior)[: self.alive] > 0.0).all() else "prior"

    def _predict(self) -> float:
        return self.radius

    def _update(self, score: float, radius: float, discount: float) -> None:
        self._bury()
        self._bear(self.rounds + 1)
        compared = self._mixture() if radius != radius or radius == self.radius else radius
        self._teach(score, self._loss(compared, score))
        self.radius = self._mixture()

    def _mixture(self):
        x, w, prior = self.x, self.w, self.prior
        total = mixture = 0.0
        for i in range(self.alive):
            total += prior[i] * max(0.0, w[i])
        if total > 0.0:
            for i in range(self.alive):
                if w[i] > 0.0:
                    mixture += prior[i] * w[i] / total * x[i]
        else:
            for i in range(self.alive):
                total += prior[i]
            for i in range(self.alive):
                mixture += prior[i] / total * x[i]
        return mixture

    def _bury(self):
        born, life, prior, x, v, z, y, w = self.born, self.life, self.prior, self.x, self.v, self.z, self.y, self.w
        kept = 0
        for i in range(self.alive):
            if self.rounds + 1.0 - born[i] <= life[i]:
                if kept < i:
                    born[kept] = born[i]
                    life[kept] = life[i]
                    prior[kept] = prior[i]
                    x[kept] = x[i]
                    v[kept] = v[i]
                    z[kept] = z[i]
                    y[kept] = y[i]
                    w[kept] = w[i]
                kept += 1
        self.alive = kept

    def _bear(self, t):
        i = self.alive
        if i < self.room:
            power = 1
            while t % (2 * power) == 0:
                power = 2 * power
            digits = 1  # 1 + floor(log2 t)
            while t >> digits > 0:
                digits += 1
            self.born[i] = t
            self.life[i] = self.lifetime * power
            self.prior[i] = 1.0 / (self.born[i] * self.born[i] * digits)
            self.x[i] = self.radius
            self.v[i] = self.z[i] = self.y[i] = self.w[i] = 0.0
            self.alive = i + 1

    def _teach(self, score, loss):
        born, x, v, z, y, w = self.born, self.x, self.v, self.z, self.y, self.w
        unit = self.max_score * max(self.miss, 1.0 - self.miss)
        rate = self.max_score / math.sqrt(3.0)
        for i in range(self.alive):
            g = min(1.0, (loss - self._loss(x[i], score)) / unit)
            g = max(g, -1.0 if w[i] > 0.0 else 0.0)
            z[i] += g
            y[i] = min(y[i] + g * w[i], CAP)
            w[i] = z[i] / (self.rounds + 2.0 - born[i]) * (1.0 + y[i])  # the age: this round counts
            slope = self._slope(x[i], score)
            v[i] += slope * slope
            if v[i] > 0.0:
                moved = x[i] - rate / math.sqrt(v[i]) * slope
                x[i] = moved if self.signed or moved > 0.0 else 0.0

    def _loss(self, radius, score):
        return max((1.0 - self.miss) * (score - radius), self.miss * (radius - score))

    def _slope(self, radius, score):
        return self.miss - missed(score, radius, self.at_tie, self.miss)


register(
    "saocp",
    SAOCP,
    "SAOCP: scale-free gradient descents started in every round, mixed by coin betting; max_score is D.",
    published={True: {"tie": "neither"}},
    max_score=NEEDED,
    lifetime=32,
    tie=None,
)
