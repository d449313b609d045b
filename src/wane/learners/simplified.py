# cython: boundscheck=False, wraparound=False
"""Algorithm 5: the simplified magnitude learner (MagDis), without hint and clipping.

Differences from the paper:

1. As in Algorithm 1, the state is s and v in units of a scale that cannot under- or overflow.
2. The prediction saturates at 1e150 * epsilon.
3. v_1 ages like the rest, as line 7 says, so that here the first discount has an effect, unlike in Algorithm 1.
4. After a discount of 0 and a gradient of 0 the rule reads 0/0; the learner then plays 0 until a gradient comes.
"""

from __future__ import annotations

import math

from wane.checks import positive
from wane.learners.base import Learner
from wane.learners.hint import Hint
from wane.learners.rule import simple_erfi_rule
from wane.state.limits import GREATEST


class SimplifiedMagnitudeLearner(Learner):
    r"""MagDis: x = max(0, epsilon * erfi(s / (2 sqrt v))), with v started at a positive number.

    That number has the unit of a squared gradient, so this learner is not scale-free; and it ages like everything else:
    v after the first round is discount^2 * initial_variance + g^2.

    Args:
        epsilon: a guess of the scale of the answer.
        discount: the default discount.
        initial_variance: v before the first round.

    >>> learner = SimplifiedMagnitudeLearner(discount=1.0)
    >>> learner.update(-1.0)     # s = 1, v = 2
    >>> round(learner.predict(), 6)
    0.368854

    Reference: Algorithm 5 of Zhang, Bombara, Yang (2024).
    """

    parameters = ("epsilon", "discount", "initial_variance")
    memory = ("h", "a", "b", "x")
    atomic = True

    def __init__(self, epsilon: float = 1.0, discount: float = 0.999, initial_variance: float = 1.0) -> None:
        """Line 1: v > 0, s = 0."""
        super().__init__(discount)
        self.epsilon = positive("epsilon", epsilon)
        self.initial_variance = positive("initial_variance", initial_variance)
        self.h = Hint()  # the unit of s and v: the discounted maximum of sqrt(v_1) and the gradients
        self.h.grow(1.0, math.sqrt(self.initial_variance))
        self.a = 0.0  # s / h
        self.b = 1.0  # v / h^2
        self.x = 0.0  # the unprojected prediction

    def limits(self) -> dict[str, tuple[float, float]]:
        """v is a sum of squares."""
        return {"b": (0.0, GREATEST)}

    def _fields(self, cells):
        self.epsilon = cells.number(self.epsilon)  # a warm start may have chosen it
        self.h._fields(cells)
        self.a = cells.number(self.a)
        self.b = cells.number(self.b)
        self.x = cells.number(self.x)

    def _predict(self) -> float:
        return self.x if self.x > 0.0 else 0.0  # line 4

    def _update(self, gradient: float, discount: float) -> None:
        if gradient > 0.0 and self.x < 0.0:  # line 6: already below the domain, and sent further down
            gradient = 0.0
        r = self.h.grow(discount, abs(gradient))
        c = self.h.divide(gradient)
        self.b = r * r * self.b + c * c  # line 7
        self.a = r * self.a - c
        self.x = self.epsilon * simple_erfi_rule(self.a, self.b)  # line 3
