# cython: boundscheck=False, wraparound=False
"""From unconstrained to constrained: Cutkosky (2020, Theorem 2), which the paper uses for every domain.

Play the projection x of the free prediction x~, and send back the surrogate gradient

    g~ = g                                                  if <g, x~ - x> >= 0,
    g~ = g - <g, theta> theta,  theta = (x~ - x) / |x~ - x|  otherwise.

Then |g~| <= |g| and <g, x - u> <= <g~, x~ - u> for every u in the domain, so the regret of the free learner carries
over. In one dimension it is line 7 of Algorithm 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import described
from wane.domains import as_domain
from wane.errors import InputTypeError
from wane.learners.base import Learner, VectorLearner
from wane.vectors import copy, dot, norm

ROUNDING = 1e-11  # a relatively smaller difference of x~ and x is too blurred by rounding to have a direction


class Constrained(VectorLearner):
    """Any learner, kept in a domain without changing its regret bound.

    Args:
        learner: the free learner; from now on it belongs to this one.
        domain: where to play (``wane.domains``, or any object with ``project``).

    >>> from wane.domains import Ball
    >>> from wane.learners import CoinBetting
    >>> Constrained(CoinBetting(), Ball(0.75)).run([-1.0, -1.0, -1.0])
    array([0.  , 0.5 , 0.75])

    Reference: Cutkosky, "Parameter-free, dynamic, and strongly-adaptive online learning" (2020), Theorem 2.
    """

    parameters = ("learner", "domain")

    def __init__(self, learner: Learner, domain: Any) -> None:
        """Take over the learner, its dimension and its discount."""
        checked(learner)
        super().__init__(learner.discount, learner.dim)
        self.learner = learner
        self.domain = as_domain(domain)
        self.domain.check((self.n,))
        self.free = np.zeros(self.n).data
        self.x = np.zeros(self.n).data
        self.g = np.zeros(self.n).data

    def _fields(self, cells):
        self.learner._fields(cells)

    def _point(self, out: Any) -> None:
        self.learner._point(out)
        self.domain._project(out)

    def _learn(self, gradient: Any, discount: float) -> None:
        self.learner._point(self.free)
        copy(self.free, self.x)
        self.domain._project(self.x)
        surrogate(gradient, self.free, self.x, self.g)
        self.learner._learn(self.g, discount)


def surrogate(gradient, free, x, out):
    """Write g~ to ``out``, which may be x itself, for the free prediction and its projection x."""
    for i in range(gradient.shape[0]):
        out[i] = free[i] - x[i]
    length = norm(out)
    along = 0.0
    if length > ROUNDING * norm(free):
        for i in range(gradient.shape[0]):
            out[i] /= length
        along = min(dot(gradient, out), 0.0)  # <g, theta>, where it is negative
    for i in range(gradient.shape[0]):
        out[i] = gradient[i] - along * out[i]


def checked(learner: Any) -> None:
    """An error for anything but a learner."""
    if not isinstance(learner, Learner):
        raise InputTypeError(f"must be a Learner, got {described(learner)}", about="learner")
