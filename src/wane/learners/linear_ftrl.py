# cython: boundscheck=False, wraparound=False
"""Discounted FTRL with a linear prediction function, Eq. (ftrl_simple) of Section 2.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import LARGEST, positive
from wane.learners.base import VectorLearner
from wane.vectors import copy, within


class LinearFTRL(VectorLearner):
    r"""Play a multiple of the discounted sum, :math:`x_{t+1} = -c \sum_i (\prod_{j=i}^{t-1} \lambda_j)\, g_i`.

    It equals gradient descent on losses with an L2 penalty (``RegularizedGradientDescent``): forgetting is
    regularisation.

    Args:
        rate: the paper's c.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.

    >>> LinearFTRL(rate=1.0, discount=0.5).run([-1.0, 0.0, 0.0])
    array([0. , 1. , 0.5])
    """

    parameters = ("rate", "discount", "dim")
    memory = ("s",)

    def __init__(self, rate: float = 1.0, discount: float = 1.0, *, dim: int | None = None) -> None:
        """Start at 0."""
        super().__init__(discount, dim)
        self.rate = positive("rate", rate)
        self.limit = LARGEST / max(1.0, self.rate)  # of the sum, so that the prediction is finite too
        self.s = np.zeros(self.n).data
        self.next = np.zeros(self.n).data

    def _fields(self, cells):
        cells.vector(self.s)

    def _point(self, out: Any) -> None:
        for i in range(self.n):
            out[i] = self.rate * self.s[i]

    def _learn(self, gradient: Any, discount: float) -> None:
        for i in range(self.n):
            self.next[i] = discount * self.s[i] - gradient[i]
        if not within(self.next, self.limit):
            self._overflow()
        copy(self.next, self.s)
