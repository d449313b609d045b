"""TRAC's rule: the one-dimensional learner of a published optimiser, for comparison and for its adapters.

Muppidi, Zhang, Yang, *Fast TRAC: A Parameter-Free Optimizer for Lifelong Reinforcement Learning* (2024,
arXiv 2405.16642), scale the steps of an optimiser by a sum of such learners, one a discount.

Differences from the published code:

1. Each learner is played clamped at 0, not only their sum, so that one deep below 0 takes nothing from the others.
2. erfi is exact; there it is a series, 1 % off near 0.
3. The prediction saturates at 1.2e150 * epsilon, and what would overflow is refused.
"""

from __future__ import annotations

import math

from wane.checks import positive
from wane.learners.base import Learner, overflow_error
from wane.learners.rule import simple_erfi_rule
from wane.special import erfi
from wane.state.limits import GREATEST

TINY = 1e-8  # the published constant: where s starts, and what is added to the denominator
UNIT = erfi(math.sqrt(0.5))
ROOT_2 = math.sqrt(2.0)


class TracLearner(Learner):
    r"""TRAC's rule on [0, inf): Algorithm 5 with :math:`\sqrt 2` in the place of 2, and with other constants.

    .. math::
        x = \max\Bigl(0,\; \frac{\varepsilon}{\mathrm{erfi}(1/\sqrt 2)}\,
            \mathrm{erfi}\Bigl(\frac{s}{\sqrt{2 v} + 10^{-8}}\Bigr)\Bigr),

    where s, the discounted sum of minus the gradients, starts at :math:`10^{-8}`, and v, that of their squares, at 0.
    Before the first gradient it plays 0. There is no hint, no clipping and no test of line 7. It is not scale-free:
    both constants :math:`10^{-8}` have the unit of a gradient, so gradients much smaller than that move it little.

    Args:
        epsilon: a guess of the scale of the answer.
        discount: the default discount.

    >>> learner = TracLearner(epsilon=1.0, discount=1.0)
    >>> learner.predict()
    0.0
    >>> learner.update(-1.0)     # s = 1, v = 1
    >>> round(learner.predict(), 6)
    1.0

    Reference: Muppidi, Zhang, Yang, *Fast TRAC: A Parameter-Free Optimizer for Lifelong Reinforcement Learning* (2024).
    """

    parameters = ("epsilon", "discount")
    memory = ("s", "v", "x")

    def __init__(self, epsilon: float = 1e-8, discount: float = 0.99) -> None:
        """Nothing seen."""
        super().__init__(discount)
        self.epsilon = positive("epsilon", epsilon)
        self.s = TINY
        self.v = 0.0
        self.x = 0.0  # the unprojected prediction

    def limits(self) -> dict[str, tuple[float, float]]:
        """v is a sum of squares."""
        return {"v": (0.0, GREATEST)}

    def _predict(self) -> float:
        return self.x if self.x > 0.0 else 0.0

    def _update(self, gradient: float, discount: float) -> None:
        v = discount * self.v * discount + gradient * gradient
        s = discount * self.s - gradient
        if not (math.isfinite(v) and math.isfinite(s)):
            raise overflow_error(self)
        self.v = v
        self.s = s
        z = s / (ROOT_2 * math.sqrt(v) + TINY)
        self.x = self.epsilon / UNIT * simple_erfi_rule(2.0 * z, 1.0)
