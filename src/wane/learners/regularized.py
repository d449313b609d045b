# cython: boundscheck=False, wraparound=False
"""Gradient descent on L2-regularised losses, the other side of the equivalence of Section 2.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import number, positive
from wane.errors import InputError
from wane.learners.base import VectorLearner
from wane.vectors import copy, finite


class RegularizedGradientDescent(VectorLearner):
    r"""Gradient descent on :math:`\langle g_t, x\rangle + \frac{\gamma}{2}|x|^2`, that is, with weight decay.

    :math:`x_{t+1} = (1 - \eta\gamma)\, x_t - \eta\, g_t`. With :math:`\gamma = (1-\lambda)/\eta`, which is the
    default and follows the discount of each round, it equals ``LinearFTRL`` with the same rate. A fixed ``weight``
    takes the place of the discount, which then has no effect.

    Args:
        rate: the learning rate.
        weight: gamma, the weight of the penalty; at most 1/rate.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.

    >>> RegularizedGradientDescent(rate=1.0, weight=0.5).run([-1.0, 0.0, 0.0])
    array([0. , 1. , 0.5])
    """

    parameters = ("rate", "weight", "discount", "dim")
    memory = ("x",)

    def __init__(
        self, rate: float = 1.0, weight: float | None = None, discount: float = 1.0, *, dim: int | None = None
    ) -> None:
        """Start at 0."""
        super().__init__(discount, dim)
        self.rate = positive("rate", rate)
        self.weight = None if weight is None else number("weight", weight)
        self.fixed = weight is not None
        self.kept = 1.0 if self.weight is None else 1.0 - self.rate * self.weight
        if not 0.0 <= self.kept <= 1.0:
            raise InputError(f"must lie between 0 and 1/rate = {1.0 / self.rate!r}, got {weight!r}", about="weight")
        self.x = np.zeros(self.n).data
        self.next = np.zeros(self.n).data

    def _fields(self, cells):
        cells.vector(self.x)

    def _point(self, out: Any) -> None:
        copy(self.x, out)

    def _learn(self, gradient: Any, discount: float) -> None:
        kept = self.kept if self.fixed else discount
        for i in range(self.n):
            self.next[i] = kept * self.x[i] - self.rate * gradient[i]
        if not finite(self.next):
            self._overflow()
        copy(self.next, self.x)
