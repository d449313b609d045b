# cython: boundscheck=False, wraparound=False
"""The rescaling trick, Eq. (surrogate_loss) of Section 2.2: discounting for any undiscounted learner.

The learner is sent g_t / (lambda_1 ... lambda_{t-1}). If it is scale-free, its discounted regret is its undiscounted
regret on those gradients times lambda_1 ... lambda_{T-1}. The weights grow for ever, so this form serves to check and
to teach; the learners of this package fold the weights into their state, where they cannot overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import discount_factor
from wane.errors import InputError, TooLargeError
from wane.learners.base import Learner, VectorLearner
from wane.learners.coin_betting import CoinBetting
from wane.learners.constrained import checked
from wane.learners.strongly_adaptive import StronglyAdaptive
from wane.vectors import norm

LIMITED = (CoinBetting, StronglyAdaptive)  # a gradient above their lipschitz is an error


class Rescaled(VectorLearner):
    """Any undiscounted learner with discounts, by weights on its gradients.

    A discount of 0 has no weight: it is handed on, and the weights begin again. The first round's discount has no
    effect.

    Args:
        learner: a learner with discount 1 that takes gradients of any size; from now on it belongs to this one.
        discount: the default discount.

    >>> from wane.learners import MagnitudeLearner
    >>> g = [-1.0, -2.0, 0.5, -1.0] * 5
    >>> a, b = MagnitudeLearner(discount=0.9).run(g), Rescaled(MagnitudeLearner(), discount=0.9).run(g)
    >>> bool(abs(a - b).max() < 1e-12)
    True
    """

    parameters = ("learner", "discount")
    memory = ("weight",)

    def __init__(self, learner: Learner, discount: float = 1.0) -> None:
        """Take over the learner and its dimension."""
        checked(learner)
        if learner.discount != 1.0:
            raise InputError(
                f"Rescaled needs a learner with discount 1, got {learner!r}",
                argument="learner",
                cure="give the discount to Rescaled",
            )
        if isinstance(learner, LIMITED):
            raise InputError(
                f"Rescaled needs a learner that takes gradients of any size, and {type(learner).__name__} takes none "
                "above its lipschitz: the weights of old discounts soon exceed any limit",
                argument="learner",
                cure="use the learner's own discount, if it has one, or a scale-free learner such as MagnitudeLearner",
            )
        super().__init__(discount_factor(discount), learner.dim)
        self.learner = learner
        self.weight = 0.0  # of the latest gradient; 0 before the first
        self.g = np.zeros(self.n).data

    def limits(self) -> dict[str, tuple[float, float]]:
        """Weights are not negative, and end before floating point does."""
        return {"weight": (0.0, 1e300)}

    def _fields(self, cells):
        self.weight = cells.number(self.weight)
        self.learner._fields(cells)

    def _point(self, out: Any) -> None:
        self.learner._point(out)

    def _learn(self, gradient: Any, discount: float) -> None:
        weight = 1.0 if self.weight == 0.0 or discount == 0.0 else self.weight / discount
        size = norm(gradient)
        weighted = size * weight
        if not 1e-300 < weight < 1e300 or weighted > 1e300 or (weighted < 1e-307 and size >= 1e-307):
            self._exhausted(weight, size)
        for i in range(self.n):
            self.g[i] = weight * gradient[i]
        self.learner._learn(self.g, 0.0 if discount == 0.0 else 1.0)
        self.weight = weight

    def _exhausted(self, weight: float, size: float) -> None:
        if self.weight in (0.0, weight):
            raise InputError(
                f"a gradient of norm {size:.3g} is too large for a weighted game, so it was not learned",
                argument="gradient",
            )
        raise TooLargeError(
            f"the weight of the next gradient would be {weight:.3g}, at or near the end of floating point, so it was "
            "not learned",
            argument="discount",
            cure="a discount of 0 or reset() starts anew, and a learner's own discount has no such end",
        )
