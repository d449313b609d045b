# cython: boundscheck=False, wraparound=False
"""Algorithm 1: the discounted magnitude learner on [0, inf), based on FTRL with an erfi potential.

With discount 1 it is Algorithm 2 (Zhang, Yang, Cutkosky, Paschalidis 2024), which Algorithm 1 rescales.

Differences from the paper:

1. The state is s/h and v/h^2 beside h itself, and h is a number that cannot under- or overflow (``Hint``): rounds
   without a gradient change nothing but h, gradients of any size are exact, and the power of two invariance holds bit
   for bit.
2. The prediction saturates at 1e150 * epsilon (``rule.CAP``).
3. A discount of 0, which the paper only mentions, forgets everything and keeps the new gradient's size as the hint.
"""

from __future__ import annotations

from wane.checks import positive
from wane.learners.base import Learner
from wane.learners.hint import Hint
from wane.learners.rule import erfi_rule
from wane.state.limits import GREATEST


class MagnitudeLearner(Learner):
    r"""The paper's learner on [0, inf): no learning rate, no bound on the gradients, no bound on the comparator.

    With the discounted sum s, variance v and Lipschitz constant h of the (clipped) gradients so far, it plays

    .. math::
        x = \max\Bigl(0,\; \varepsilon\,\mathrm{erfi}\Bigl(\frac{s}{2\sqrt{E}}\Bigr)
            - \frac{\varepsilon h}{\sqrt{E}} \exp\Bigl(\frac{s^2}{4E}\Bigr)\Bigr),
        \qquad E = v + 2hs + 16h^2.

    Its discounted regret against u is of the order of u sqrt(V log(u/epsilon)) (``theory.base_bound``), for all u at
    once.

    Args:
        epsilon: a guess of the scale of the answer, not a rate. Too small costs a logarithm, too large costs in
            proportion: guess low.
        discount: the default discount; 1 never forgets (Algorithm 2).

    >>> learner = MagnitudeLearner(epsilon=1.0, discount=0.99)
    >>> x = learner.run([-1.0] * 50)     # "more", fifty times
    >>> x[[0, 20, 49]].round(3)
    array([0.   , 1.255, 5.245])

    Reference: Algorithm 1 and Theorem "base" of Zhang, Bombara, Yang (2024).
    """

    parameters = ("epsilon", "discount")
    memory = ("h", "a", "b", "x")
    atomic = True

    def __init__(self, epsilon: float = 1.0, discount: float = 1.0) -> None:
        """Line 1: nothing seen."""
        super().__init__(discount)
        self.epsilon = positive("epsilon", epsilon)
        self.h = Hint()
        self.a = 0.0  # s / h
        self.b = 0.0  # v / h^2
        self.x = 0.0  # the unprojected prediction

    @property
    def statistics(self) -> tuple[float, float, float]:
        """The paper's (v, s, h) as floats, which may under- or overflow where the learner itself does not."""
        h = self.h.value
        return self.b * h * h if self.b > 0.0 else 0.0, self.a * h if self.a > 0.0 else 0.0, h

    def limits(self) -> dict[str, tuple[float, float]]:
        """Line 7 keeps s >= 0, and v is a sum of squares."""
        return {"a": (0.0, GREATEST), "b": (0.0, GREATEST)}

    def _fields(self, cells):
        self.epsilon = cells.number(self.epsilon)  # a warm start may have chosen it
        self.h._fields(cells)
        self.a = cells.number(self.a)
        self.b = cells.number(self.b)
        self.x = cells.number(self.x)

    def _predict(self) -> float:
        return self.x if self.x > 0.0 else 0.0  # line 4

    def _update(self, gradient: float, discount: float) -> None:
        self._ingest(gradient, abs(gradient), 0, discount)

    def _ingest(self, gradient: float, size: float, exponent: int, discount: float) -> None:
        """Lines 6-8 and 3, in units of the new h, for a gradient and size times 2^(512 exponent).

        ``size`` is |g|, or the norm of the vector that g comes from (Algorithm 3).
        """
        # line 6: h_{t+1} = max(lambda h_t, |g|), r = lambda h_t / h_{t+1}; the clipped gradient r g is c h_{t+1}
        r = self.h.grow(discount, size, exponent)
        c = r * self.h.divide(gradient, exponent)
        if c > 0.0 and self.x < 0.0:  # line 7: already below the domain, and sent further down
            c = 0.0
        self.b = r * r * self.b + c * c  # line 8
        self.a = r * self.a - c
        self.x = self.epsilon * erfi_rule(self.a, self.b)  # line 3; while h = 0 it is negative, which projects to 0
