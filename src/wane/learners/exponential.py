# cython: boundscheck=False, wraparound=False
"""The classical parameter-free potential, Eq. (classical) of Appendix B.2: what erfi improves on.

Phi(v, s) = (epsilon / sqrt v) exp(s^2 / (C v)) has the unit of epsilon / gradient, so it needs a guess of the Lipschitz
constant before the game (McMahan and Orabona 2014; Mhammedi and Koolen 2020). Here v starts at that guess squared.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import positive
from wane.learners.base import VectorLearner
from wane.learners.rule import capped_exp
from wane.vectors import copy, dot, finite


class ExponentialPotential(VectorLearner):
    r"""FTRL with the classical exponential potential, for comparison.

    With gradients in units of the guess G, their discounted sum s and :math:`v = 1 + \sum` of discounted squares, it
    plays

    .. math:: x = \varepsilon\, \frac{2 s}{C\, v^{3/2}} \exp\Bigl(\frac{|s|^2}{C v}\Bigr).

    It is not scale-free: that is the point of the comparison. The length of x saturates at 1e150 * epsilon.

    Args:
        epsilon: a guess of the scale of the answer.
        lipschitz: G, a guess of the largest gradient. A wrong guess is not an error, but changes the predictions.
        discount: the default discount; the guess itself does not age.
        constant: C.
        dim: the dimension; None plays floats on the line.

    >>> guess_1, guess_100 = ExponentialPotential(), ExponentialPotential(lipschitz=100.0)
    >>> round(float(guess_1.run([-1.0] * 20)[-1]), 3), round(float(guess_100.run([-1.0] * 20)[-1]), 3)
    (9.681, 0.096)
    """

    parameters = ("epsilon", "lipschitz", "discount", "constant", "dim")
    memory = ("s", "b")

    def __init__(
        self,
        epsilon: float = 1.0,
        lipschitz: float = 1.0,
        discount: float = 1.0,
        *,
        constant: float = 4.0,
        dim: int | None = None,
    ) -> None:
        """Nothing seen but the guess."""
        super().__init__(discount, dim)
        self.epsilon = positive("epsilon", epsilon)
        self.lipschitz = positive("lipschitz", lipschitz)
        self.constant = positive("constant", constant)
        self.s = np.zeros(self.n).data
        self.next = np.zeros(self.n).data
        self.b = 0.0  # v - 1

    def limits(self) -> dict[str, tuple[float, float]]:
        """v is a sum of squares, and what would be larger was refused."""
        return {"s": (-1e150, 1e150), "b": (0.0, 1e150)}

    def _fields(self, cells):
        self.epsilon = cells.number(self.epsilon)
        cells.vector(self.s)
        self.b = cells.number(self.b)

    def _point(self, out: Any) -> None:
        v = 1.0 + self.b
        size = math.sqrt(dot(self.s, self.s))
        length = capped_exp(size / v * size / self.constant, 2.0 * size / (self.constant * v * math.sqrt(v)))
        for i in range(self.n):
            out[i] = self.epsilon * length * (self.s[i] / size) if size > 0.0 else 0.0

    def _learn(self, gradient: Any, discount: float) -> None:
        for i in range(self.n):
            self.next[i] = discount * self.s[i] - gradient[i] / self.lipschitz
        b = discount * self.b * discount
        for i in range(self.n):
            c = gradient[i] / self.lipschitz
            b += c * c
        if not finite(self.next) or not b < 1e150 or not dot(self.next, self.next) < 1e300:
            self._overflow()
        self.b = b
        copy(self.next, self.s)
