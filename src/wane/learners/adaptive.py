# cython: boundscheck=False, wraparound=False
"""Algorithm 3: discounted adaptivity on R^d, a magnitude times a direction.

Differences from the paper:

1. Line 7 writes lambda_t and line 8 lambda_{t-1}; it is lambda_{t-1}, the discount that arrives with g_t, throughout.
2. The first clipped gradient is 0, so the direction learner's V is 0: it then stays where it is.
3. ``center`` is the inductive bias x* of Section 2 and ``domain`` the constraint of its footnote, by the reduction of
   Cutkosky (2020, Theorem 2): the surrogate gradient is formed first, and the algorithm sees only it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import dimension
from wane.domains import Ball, as_domain
from wane.learners.adagrad import AdaGrad
from wane.learners.base import VectorLearner
from wane.learners.constrained import surrogate
from wane.learners.magnitude import MagnitudeLearner
from wane.learners.starting_point import frozen, starting_point
from wane.vectors import copy, dot, lift, norm


class AdaptiveLearner(VectorLearner):
    r"""The paper's algorithm on R^d: parameter-free, scale-free, forgetting the data and never the prior.

    It plays :math:`x_t = x^* + y_t w_t` with a magnitude :math:`y_t \ge 0` from Algorithm 1 and a direction
    :math:`w_t` in the unit ball from discounted AdaGrad. Its discounted regret against u is of the order of
    :math:`|u - x^*| \sqrt{V_T \log(|u - x^*|/\varepsilon)}` (``theory.main_bound``), for all u at once.

    Args:
        dim: the dimension.
        epsilon: a guess of the distance from the center to the answer. Too small costs a logarithm, too large costs in
            proportion: guess low.
        discount: the default discount.
        center: the inductive bias x*, where it starts and what it falls back to; by default the point of the domain
            nearest to 0.
        domain: where to play (``wane.domains``, or any object with ``project``); None is all of R^d.

    >>> learner = AdaptiveLearner(2, center=[1.0, 1.0])
    >>> learner.predict()
    array([1., 1.])
    >>> for _ in range(60):
    ...     learner.update([-1.0, 0.0])
    >>> learner.predict().round(1)
    array([18.4,  1. ])

    Reference: Algorithm 3 and Theorem "main" of Zhang, Bombara, Yang (2024).
    """

    parameters = ("dim", "epsilon", "discount", "center", "domain")
    memory = ("magnitude", "direction")

    def __init__(
        self, dim: int, epsilon: float = 1.0, discount: float = 1.0, center: Any = None, domain: Any = None
    ) -> None:
        """Lines 1-3: two learners, nothing seen."""
        super().__init__(discount, dimension(dim))
        self.domain = None if domain is None else as_domain(domain)
        self.magnitude = MagnitudeLearner(epsilon)
        self.direction = AdaGrad(2.0, dim=dim, domain=Ball(1.0))
        self.h = self.magnitude.h  # line 8: g is clipped by lambda_{t-1} h_t / h_{t+1}, which is what h shrinks by
        self.epsilon = self.magnitude.epsilon
        self.middle: Any = starting_point("center", center, self, self.domain).data
        self.center = frozen("center", self.middle)
        self.w = np.zeros(self.n).data
        self.free = np.zeros(self.n).data
        self.x = np.zeros(self.n).data
        self.g = np.zeros(self.n).data

    def _fields(self, cells):
        self.magnitude._fields(cells)
        self.direction._fields(cells)

    def unprojected(self) -> np.ndarray:
        """The prediction before it is projected to the domain: what ``theory.main_bound`` measures stability by."""
        out = np.empty(self.n)
        self._unprojected(out.data)
        return out

    def _unprojected(self, out: Any) -> None:
        y = self.magnitude._predict()  # line 5
        self.direction._point(out)  # line 6
        for i in range(self.n):
            out[i] = self.middle[i] + y * out[i]  # line 7

    def _point(self, out: Any) -> None:
        self._unprojected(out)
        if self.domain is not None:
            self.domain._project(out)

    def _learn(self, gradient: Any, discount: float) -> None:
        if self.domain is None:
            self._ingest(lift(gradient, self.g), discount)
        else:
            self._unprojected(self.free)
            copy(self.free, self.x)
            self.domain._project(self.x)
            surrogate(gradient, self.free, self.x, self.x)
            self._ingest(lift(self.x, self.g), discount)

    def _ingest(self, exponent: int, discount: float) -> None:
        """Lines 8-11 for the gradient self.g * 2^(512 exponent)."""
        self.direction._point(self.w)
        self.magnitude._ingest(dot(self.g, self.w), norm(self.g), exponent, discount)
        self.direction._ingest(self.g, self.h.shrink, exponent + self.h.shrink_exponent, discount)
