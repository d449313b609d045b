# cython: boundscheck=False, wraparound=False
"""Gradient descent with gradient-dependent rates, discounted: Theorem "adagrad" (Section 2.2).

The undiscounted rule is AdaGrad (Duchi, Hazan, Singer 2011) in its norm version; rescaling makes it close to RMSProp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import positive
from wane.domains import Ball, Nonnegative, as_domain
from wane.learners.base import VectorLearner
from wane.learners.hint import Hint
from wane.learners.starting_point import frozen, known_diameter, starting_point
from wane.state.limits import GREATEST
from wane.vectors import copy, lift, norm


class AdaGrad(VectorLearner):
    r"""Gradient descent with the rate :math:`D / \sqrt{V_t}`, :math:`V_t = \lambda_{t-1}^2 V_{t-1} + |g_t|^2`.

    Scale-free: multiplying all gradients by a number changes no prediction. Its discounted regret is at most
    :math:`\frac32 D \sqrt{V_T}` on a domain of diameter D (``theory.adagrad_bound``). While V is 0 it stays where it
    is.

    Args:
        diameter: D, the diameter of the domain; None takes it from the domain.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.
        start: the first prediction; by default the point of the domain nearest to 0.
        domain: where to play; None is everywhere.

    >>> AdaGrad(1.0).run([-5.0, -5.0, 5.0]).round(4)
    array([0.    , 1.    , 1.7071])
    """

    parameters = ("diameter", "discount", "dim", "start", "domain")
    memory = ("x", "h", "b")

    def __init__(
        self,
        diameter: float | None = None,
        discount: float = 1.0,
        *,
        dim: int | None = None,
        start: Any = None,
        domain: Any = None,
    ) -> None:
        """Start at ``start``."""
        super().__init__(discount, dim)
        self.domain = None if domain is None else as_domain(domain)
        self.diameter = positive("diameter", known_diameter(diameter, self.domain, self))
        self.start = frozen("start", start)
        self.x = starting_point("start", start, self, self.domain).data
        self.next = np.zeros(self.n).data
        self.h = Hint()  # the unit of V: the discounted maximum of the norms
        self.trial = Hint()
        self.b = 0.0  # V / h^2, at least 1 once a gradient has come

    @property
    def atomic(self) -> Any:
        """A projection of a user's may fail."""
        return self.domain is None or type(self.domain) in (Ball, Nonnegative)

    def limits(self) -> dict[str, tuple[float, float]]:
        """V is a sum of squares."""
        return {"b": (0.0, GREATEST)}

    def misfit(self) -> str | None:
        """x lies in the domain."""
        return "x" if self.domain is not None and np.asarray(self.x) not in self.domain else super().misfit()

    def _fields(self, cells):
        cells.vector(self.x)
        self.h._fields(cells)
        self.b = cells.number(self.b)

    def _point(self, out: Any) -> None:
        copy(self.x, out)

    def _learn(self, gradient: Any, discount: float) -> None:
        self._ingest(self.next, 1.0, lift(gradient, self.next), discount)

    def _ingest(self, gradient: Any, factor: float, exponent: int, discount: float) -> None:
        """Learn gradient * factor * 2^(512 exponent)."""
        size = factor * norm(gradient)
        self.trial.assign(self.h)  # nothing is kept until the projection, which may be a user's, has succeeded
        r = self.trial.grow(discount, size, exponent)
        c = self.trial.divide(size, exponent)
        b = r * r * self.b + c * c
        rate = self.diameter / math.sqrt(b) if size > 0.0 else 0.0
        self.trial.descend(self.x, rate, gradient, factor, exponent, self.next)
        if self.domain is not None:
            self.domain._project(self.next)
        copy(self.next, self.x)
        self.b = b
        self.h.assign(self.trial)
