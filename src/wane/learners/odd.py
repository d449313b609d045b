# cython: boundscheck=False, wraparound=False
"""The odd magnitude learner: Algorithm 1 on the whole line, by symmetry.

The rule of Algorithm 1 is applied to abs(s), and the prediction takes the sign of s. There is no domain, hence no
line 7. This learner is not in the paper (its own signed learner is Algorithm 3 in one dimension); sums of odd
learners over a grid of discounts build on it, and so do the trackers ``magl-d`` and ``magl``, whose radius is its
positive part: where labels come in time that is Algorithm 1. Its regret bound is that of Algorithm 1 with absolute
values, ``theory.odd_bound``, where the proof is.
"""

from __future__ import annotations

from wane.checks import positive
from wane.learners.base import Learner
from wane.learners.hint import Hint
from wane.learners.rule import erfi_rule
from wane.state.limits import GREATEST


class OddMagnitudeLearner(Learner):
    r"""A signed learner on the line: sign(s) times the prediction of Algorithm 1 at (v, abs(s), h).

    .. math::
        x = \mathrm{sign}(s)\, \max\bigl(0, \varepsilon\, \mathrm{rule}(v, |s|, h)\bigr)

    Its discounted regret against any u is at most ``theory.odd_bound``.

    Args:
        epsilon: a guess of the scale of the answer.
        discount: the default discount.

    >>> up, down = OddMagnitudeLearner(), OddMagnitudeLearner()
    >>> bool((up.run([-1.0] * 30) == -down.run([1.0] * 30)).all())
    True
    """

    parameters = ("epsilon", "discount")
    memory = ("h", "a", "b", "x")
    atomic = True

    def __init__(self, epsilon: float = 1.0, discount: float = 1.0) -> None:
        """Nothing seen."""
        super().__init__(discount)
        self.epsilon = positive("epsilon", epsilon)
        self.h = Hint()
        self.a = 0.0  # s / h
        self.b = 0.0  # v / h^2
        self.x = 0.0  # the prediction

    @property
    def statistics(self) -> tuple[float, float, float]:
        """(v, s, h) as floats, which may under- or overflow where the learner itself does not."""
        h = self.h.value
        return self.b * h * h if self.b > 0.0 else 0.0, self.a * h if self.a != 0.0 else 0.0, h

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
        return self.x

    def _update(self, gradient: float, discount: float) -> None:
        r = self.h.grow(discount, abs(gradient))
        c = r * self.h.divide(gradient)  # clipped as in Algorithm 1, line 6
        self.b = r * r * self.b + c * c
        self.a = r * self.a - c
        x = self.epsilon * erfi_rule(abs(self.a), self.b)
        self.x = 0.0 if x <= 0.0 else x if self.a > 0.0 else -x
