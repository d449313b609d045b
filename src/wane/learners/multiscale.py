# cython: boundscheck=False, wraparound=False
"""The sum of learners over a grid of discounts: nobody picks the discount.

Every learner sees the same gradient and has its own discount and its share of epsilon; the sum of their predictions is
played. The slow ones find the long-run answer, the fast ones correct them. What is proved, and the price, is in the
documentation, "Choosing the discount online", and in ``theory.multiscale_bound``. The paper asks the question (its
conclusion) and does not give this answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import positive
from wane.domains import as_domain
from wane.learners.base import Learner, VectorLearner
from wane.learners.starting_point import frozen
from wane.learners.wrapping import around_and_inside, checked_discounts, one_discount
from wane.state.stateful import Stateful


class Parts(Stateful):
    """A chain: a learner that starts at 0, and the rest of the chain; None ends it."""

    def __init__(self, learner: Learner, rest: Parts | None) -> None:
        """Take over both."""
        self.learner = learner
        self.rest = rest
        self.x = np.zeros(learner.n).data

    @property
    def memory(self) -> tuple[str, ...]:  # type: ignore[override]
        """All that the learners remember."""
        return ("learner",) if self.rest is None else ("learner", "rest")

    def _fields(self, cells):
        self.learner._fields(cells)
        if self.rest is not None:
            self.rest._fields(cells)

    def _add(self, out: Any) -> None:
        """Add the predictions to ``out``, the last of the chain first."""
        if self.rest is not None:
            self.rest._add(out)
        self.learner._point(self.x)
        for i in range(out.shape[0]):
            out[i] += self.x[i]

    def _learn(self, gradient: Any, discount: float) -> None:
        """Each ages by its own discount times the one given."""
        self.learner._learn(gradient, self.learner.discount * discount)
        if self.rest is not None:
            self.rest._learn(gradient, discount)


class MultiscaleLearner(VectorLearner):
    r"""The sum of the paper's learners over a grid of discounts, each with epsilon/K: no discount to choose.

    .. math::
        x_t = \Pi\Bigl(x^* + \sum_{k=1}^K x_t^{(k)}\Bigr), \qquad
        x^{(k)}\ \text{with the discount}\ \lambda_k\ \text{and}\ \varepsilon/K,

    where :math:`x^{(k)}` is the odd form of Algorithm 1 on the line (``dim=None``) and Algorithm 3 in R^d. A round
    costs O(Kd).

    Proved (``theory.multiscale_bound``): for every k at once, the regret discounted by :math:`\lambda_k` is at most the
    bound of the learner with :math:`\lambda_k` plus a price for the others. For the slower ones, the price is how much
    they move within its window; for the faster ones, their own bound, once for each of their windows in its window.
    That price grows with epsilon, not with the comparator, but it is linear in the window, and an adversary can charge
    it. Only measured: on streams that do not play against the grid, the sum is near the best fixed discount.

    The ``discount`` of ``update`` and ``run`` multiplies every :math:`\lambda_k`: None and 1 leave the grid as it is,
    0 restarts all.

    Args:
        dim: the dimension; None plays floats on the line.
        epsilon: a guess of the distance from the center to the answer, shared among the discounts.
        discounts: the grid, numbers in [0, 1]; with 1 in it the long-run average is right.
        center: the inductive bias x*; by default the point of the domain nearest to 0.
        domain: where to play (``wane.domains``, or any object with ``project``); None is everywhere.

    >>> learner = MultiscaleLearner(discounts=(0.9, 0.99, 1.0))
    >>> learner.run([-1.0] * 60).round(3)[[0, 20, 40, 59]]
    array([0.   , 1.052, 3.048, 8.675])
    >>> learner.components().round(3)     # 0.9 is at the end of its reach, 1 goes on
    array([0.201, 2.769, 6.227])
    """

    parameters = ("dim", "epsilon", "discounts", "center", "domain")
    memory = ("parts",)

    def __init__(
        self,
        dim: int | None = None,
        epsilon: float = 1.0,
        discounts: Any = (0.9, 0.99, 0.999, 0.9999, 1.0),
        center: Any = None,
        domain: Any = None,
    ) -> None:
        """One learner for each discount, nothing seen."""
        super().__init__(1.0, dim)
        self.epsilon = positive("epsilon", epsilon)
        self.discounts = checked_discounts(discounts)
        self.center = frozen("center", center)
        self.domain = None if domain is None else as_domain(domain)
        self.wrapped = center is not None or domain is not None
        if self.wrapped:
            free = MultiscaleLearner(dim, epsilon, self.discounts)
            self.parts: Any = free.parts
            self.player = around_and_inside(free, center, self.domain)
        else:
            share = self.epsilon / len(self.discounts)
            chain: Any = None
            for discount in self.discounts[::-1]:
                chain = Parts(one_discount(dim, share, discount), chain)
            self.parts = chain
            self.player = chain.learner  # not asked

    def _fields(self, cells):
        self.parts._fields(cells)

    def components(self) -> np.ndarray:
        """What each learner of the grid plays, (K,) or (K, dim): their sum is shifted, projected and played."""
        played, chain = [], self.parts
        while chain is not None:
            played.append(chain.learner.predict())
            chain = chain.rest
        return np.array(played)

    def _point(self, out: Any) -> None:
        if self.wrapped:
            self.player._point(out)
        else:
            for i in range(self.n):
                out[i] = 0.0
            self.parts._add(out)

    def _learn(self, gradient: Any, discount: float) -> None:
        if self.wrapped:
            self.player._learn(gradient, discount)
        else:
            self.parts._learn(gradient, discount)
