# cython: boundscheck=False, wraparound=False
"""Online gradient descent, the non-adaptive baseline of Section 2.1 (Theorem "ogd").

Discounting enters through the learning rate only: the iterate itself never forgets where it is, and forgets where it
began.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import one_of, positive
from wane.domains import as_domain
from wane.errors import InputError
from wane.learners.base import VectorLearner
from wane.learners.starting_point import frozen, known_diameter, starting_point
from wane.vectors import copy, finite


class GradientDescent(VectorLearner):
    r"""Online gradient descent, :math:`x_{t+1} = \Pi(x_t - \eta_t g_t)`.

    The rate is one of

    - the constant ``rate``;
    - by default the constant :math:`\frac{D}{G}\sqrt{1-\lambda^2}` of Theorem "ogd", part 2, for a discount below 1;
    - with ``schedule="horizon"``, :math:`\eta_t = D / (G \sqrt{H_t})` with :math:`H_t = \lambda_{t-1}^2 H_{t-1} + 1`
      (part 1), for any discounts.

    Args:
        rate: a constant learning rate; None takes it from the diameter, the Lipschitz constant and the discount.
        discount: the default discount.
        dim: the dimension; None plays floats on the line.
        diameter: D, the diameter of the domain; None takes it from the domain.
        lipschitz: G, a bound on the norm of the gradients.
        schedule: "constant" or "horizon".
        start: the first prediction; by default the point of the domain nearest to 0.
        domain: where to play (``wane.domains``, or any object with ``project``); None is everywhere.

    >>> GradientDescent(rate=0.1).run([-1.0, -1.0, 1.0])
    array([0. , 0.1, 0.2])
    >>> GradientDescent(diameter=2.0, discount=0.6).rate
    1.6
    """

    parameters = ("rate", "discount", "dim", "diameter", "lipschitz", "schedule", "start", "domain")
    memory = ("x", "H")

    def __init__(
        self,
        rate: float | None = None,
        discount: float = 1.0,
        *,
        dim: int | None = None,
        diameter: float | None = None,
        lipschitz: float = 1.0,
        schedule: str = "constant",
        start: Any = None,
        domain: Any = None,
    ) -> None:
        """Start at ``start``."""
        super().__init__(discount, dim)
        one_of("schedule", schedule, ("constant", "horizon"))
        if schedule == "horizon" and rate is not None:
            raise InputError(
                f"give a constant rate or schedule='horizon', not both; got rate={rate!r}", argument="rate"
            )
        self.domain = None if domain is None else as_domain(domain)
        self.start = frozen("start", start)
        self.schedule = schedule
        self.diameter = diameter
        self.lipschitz = positive("lipschitz", lipschitz)
        self.horizon = schedule == "horizon"
        if rate is None:
            D = positive("diameter", known_diameter(diameter, self.domain, self))
            if not self.horizon and self.discount >= 1.0:
                raise InputError(
                    f"the constant rate D/G sqrt(1 - discount^2) needs a discount below 1, got {self.discount!r}",
                    argument="discount",
                    cure="give a rate, a discount, or schedule='horizon'",
                )
            forgotten = 1.0 if self.horizon else math.sqrt(1.0 - self.discount * self.discount)
            self.step = positive("the rate from diameter and lipschitz", D / self.lipschitz * forgotten)
        else:
            self.step = positive("rate", rate)
        self.rate = None if self.horizon else self.step
        self.x = starting_point("start", start, self, self.domain).data
        self.next = np.zeros(self.n).data
        self.H = 0.0  # the discounted number of rounds, Eq. (effective_H)

    def limits(self) -> dict[str, tuple[float, float]]:
        """H counts rounds."""
        return {"H": (0.0, 1e300)}

    def misfit(self) -> str | None:
        """x lies in the domain."""
        return "x" if self.domain is not None and np.asarray(self.x) not in self.domain else super().misfit()

    def _fields(self, cells):
        cells.vector(self.x)
        self.H = cells.number(self.H)

    def _point(self, out: Any) -> None:
        copy(self.x, out)

    def _learn(self, gradient: Any, discount: float) -> None:
        H = min(discount * self.H * discount + 1.0, 1e300)  # discounts above 1: a rate below 1e-150 is as good as none
        eta = self.step / math.sqrt(H) if self.horizon else self.step
        for i in range(self.n):
            self.next[i] = self.x[i] - eta * gradient[i]
        if not finite(self.next):
            self._overflow()
        if self.domain is not None:
            self.domain._project(self.next)
        self.H = H
        copy(self.next, self.x)
