# cython: boundscheck=False, wraparound=False
"""Bayesian online conformal prediction (Zhang, Lu, Yang 2024, arXiv 2410.02561), on a grid.

Verified in the authors' public code (Bayesian-Conformal): the uniform prior on [0, max_score], its weight 1/sqrt(n + 1)
after n scores, the grid, and the discounted version.

Differences from that code:

1. Theirs solves for the point at which a belief with a smooth prior has 1 - alpha; here the radius is the upper end of
   the cell in which it lies. The two differ by one cell at most.
2. With a discount d < 1 their histogram starts as the uniform law with full weight, 1/(1 - d) scores, and the weight of
   the prior is constant, sqrt(1 - d) / (d + sqrt(1 - d)): ``published=True``. By default the histogram starts empty,
   and the weight is 1/sqrt(n + 1) with n the discounted number of scores, so that the first scores count at once.
"""

from __future__ import annotations

import math

from wane.checks import flag, positive, room, scalar
from wane.errors import InputError
from wane.state.limits import MOST
from wane.trackers.base import Tracker
from wane.trackers.control import zeros
from wane.trackers.registry import NEEDED, register

TINY = 1e-200  # counts below it are none: arithmetic on subnormal numbers is slow


class Bayes(Tracker):
    r"""The quantile of a prior mixed with the past, :math:`P = \lambda P_0 + (1 - \lambda) \hat P`.

    :math:`P_0` is uniform over ``cells`` equal cells of [0, D] and :math:`\hat P` the histogram of the past scores,
    aged by the discount; :math:`\lambda = 1/\sqrt{n + 1}` with n the discounted number of scores. The radius is the
    upper end of the first cell up to which P has 1 - alpha: at most D, so scores beyond D are never covered. No
    feedback corrects it: with a discount the prior keeps its weight, and the coverage is not exactly 1 - alpha. It does
    not depend on alpha's history: all levels can be read from one state by setting ``alpha``. The radius played for a
    late label does not matter. With domain "real" the prior lives on [-D, D].

    Args:
        alpha: the share of misses.
        max_score: D.
        discount: of the past; 1 forgets nothing. A discount given with a score takes its place.
        cells: the number of cells; a round costs O(cells).
        published: with a discount below 1, start with the prior as the past, at a constant weight, as the authors do.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> tracker = Bayes(0.1, max_score=10.0)
    >>> tracker.run([1.0] * 10000)[[0, 100, 9999]].round(2)
    array([9., 1., 1.])
    """

    parameters = ("alpha", "max_score", "discount", "cells", "published", "domain", "on_missing")
    added = ("published",)  # since the first files
    memory = ("rounds", "counts", "n")
    extents = ("cells",)
    atomic = True

    def __init__(
        self,
        alpha: float,
        max_score: float,
        discount: float = 1.0,
        cells: int = 500,
        published: bool = False,
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Only the prior."""
        super().__init__(alpha, domain, on_missing)
        self.max_score = positive("max_score", max_score)
        self.discount = scalar("discount", discount)
        if not 0.0 <= self.discount <= 1.0:
            raise InputError(f"must lie in [0, 1], got {discount!r}", about="discount", cure="1 forgets nothing")
        self.cells = room("cells", cells, 1)
        self.published = flag("published", published)
        self.counts = zeros(self.cells)
        self.n = 0.0
        self.steady = 0.0  # the weight of the prior, where it is constant
        if self.published and self.discount < 1.0:
            self.n = 1.0 / (1.0 - self.discount)
            self.steady = math.sqrt(1.0 - self.discount) / (self.discount + math.sqrt(1.0 - self.discount))
            for i in range(self.cells):
                self.counts[i] = self.n / self.cells

    def limits(self) -> dict[str, tuple[float, float]]:
        """Scores are counted."""
        return super().limits() | {"counts": (0.0, MOST), "n": (0.0, MOST)}

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.n = cells.number(self.n)
        cells.vector(self.counts)

    def _predict(self) -> float:
        low = -self.max_score if self.signed else 0.0
        return low + (self.max_score - low) * ((self._cell() + 1.0) / self.cells)

    def _update(self, score: float, radius: float, discount: float) -> None:
        self._count(score, self.discount if discount != discount else min(discount, 1.0))

    def _cell(self):
        weight = self.steady if self.steady > 0.0 else 1.0 / math.sqrt(self.n + 1.0)
        each = weight / self.cells
        scale = (1.0 - weight) / self.n if self.n > 0.0 else 0.0
        wanted = (1.0 - self.miss) * (1.0 - 1e-12)  # a sum of rounded numbers
        mass = 0.0
        for i in range(self.cells - 1):
            mass += each + scale * self.counts[i]
            if mass >= wanted:
                return i
        return self.cells - 1

    def _count(self, score, discount):
        if discount < 1.0:
            for i in range(self.cells):
                self.counts[i] = discount * self.counts[i] if self.counts[i] > TINY else 0.0
        low = -self.max_score if self.signed else 0.0
        share = (score - low) / (self.max_score - low) * self.cells
        place = int(max(0.0, min(self.cells - 1.0, math.ceil(share) - 1.0)))  # (lower end, upper end]
        self.counts[place] += 1.0
        self.n = discount * self.n + 1.0


register(
    "bayes",
    Bayes,
    """A quantile of a uniform prior on [0, max_score] mixed with the (discounted) past; all levels are nested.

    ``published=True`` starts a discounted past as the authors' code does.
    """,
    published={True: {}},
    max_score=NEEDED,
    discount=1.0,
    cells=500,
)
