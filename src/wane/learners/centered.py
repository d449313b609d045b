# cython: boundscheck=False, wraparound=False
"""The inductive bias x* of Section 2 for any learner: shift the coordinates."""

from __future__ import annotations

from typing import Any

from wane.learners.base import Learner, VectorLearner
from wane.learners.constrained import checked
from wane.learners.starting_point import frozen, given_point


class Centered(VectorLearner):
    """Any learner, played around ``center`` instead of 0; what it forgets takes it back there.

    Args:
        learner: a learner that starts at 0; from now on it belongs to this one.
        center: the inductive bias x*.

    >>> from wane.learners import LinearFTRL
    >>> Centered(LinearFTRL(discount=0.5), 10.0).run([-1.0, 0.0, 0.0])
    array([10. , 11. , 10.5])
    """

    parameters = ("learner", "center")

    def __init__(self, learner: Learner, center: Any) -> None:
        """Take over the learner, its dimension and its discount."""
        checked(learner)
        super().__init__(learner.discount, learner.dim)
        self.learner = learner
        self.middle = given_point("center", center, self).data
        self.center = frozen("center", center)

    def _fields(self, cells):
        self.learner._fields(cells)

    def _point(self, out: Any) -> None:
        self.learner._point(out)
        for i in range(self.n):
            out[i] += self.middle[i]

    def _learn(self, gradient: Any, discount: float) -> None:
        self.learner._learn(gradient, discount)
