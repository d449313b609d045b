# cython: boundscheck=False, wraparound=False
"""Experts with different discounts, mixed by bets of the same kind: a hedge with erfi potentials.

Expert k is the paper's learner with the discount lambda_k. Beside it, an Algorithm 1 with the same discount bets on it:
its gradient is minus the regret to the expert, so its prediction grows while the expert is better than the mixture, and
forgets at the expert's own speed. The mixture weighs the experts by these predictions. The hint of all bets is common,
as that of Algorithm 3 is: the largest regret to any expert.

No regret bound is proved for this learner: with one discount for all bets their gains and losses would cancel in every
round, with different ones they do not cancel after discounting. Its numbers are in the documentation, "Choosing the
discount online".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import described, discount_factor, number, positive, vector
from wane.domains import as_domain
from wane.errors import InputTypeError
from wane.learners.base import Learner, VectorLearner
from wane.learners.magnitude import MagnitudeLearner
from wane.learners.starting_point import frozen
from wane.learners.wrapping import around_and_inside, checked_discounts, one_discount
from wane.state.stateful import Stateful
from wane.vectors import dot, finite, lift, norm

HIGH = float.fromhex("0x1p256")
DOWN = float.fromhex("0x1p-512")
GRID = tuple(1.0 - 1.0 / (1 << k) for k in range(3, 15))


class Experts(Stateful):
    """A chain: an expert, the bet on it, and the rest of the chain; None ends it."""

    def __init__(self, free: Learner, learner: Learner, rest: Experts | None) -> None:
        """``free`` has the memory, ``learner`` plays it around a center and in a domain."""
        self.free = free
        self.learner = learner
        self.bet = MagnitudeLearner()
        self.rest = rest
        self.x: Any = np.zeros(learner.n).data

    @property
    def memory(self) -> tuple[str, ...]:  # type: ignore[override]
        """All that experts and bets remember."""
        return ("free", "bet") if self.rest is None else ("free", "bet", "rest")

    def _fields(self, cells):
        self.free._fields(cells)
        self.bet._fields(cells)
        if self.rest is not None:
            self.rest._fields(cells)

    def _stake(self) -> float:
        """The sum of all bets."""
        return self.bet._predict() if self.rest is None else self.bet._predict() + self.rest._stake()

    def _mix(self, out: Any, total: float, share: float) -> None:
        """Add the experts to ``out``, weighted by their bets, or equally where nothing is bet."""
        self.learner._point(self.x)
        p = self.bet._predict() / total if total > 0.0 else share
        for i in range(out.shape[0]):
            out[i] += p * self.x[i]
        if self.rest is not None:
            self.rest._mix(out, total, share)

    def _judge(self, k: int, gradient: Any, mixture: Any, regrets: Any) -> None:
        """The linear regrets of the mixture to the experts, from expert k on."""
        self.learner._point(self.x)
        for i in range(gradient.shape[0]):
            self.x[i] = mixture[i] - self.x[i]
        regrets[k] = dot(gradient, self.x)
        if self.rest is not None:
            self.rest._judge(k + 1, gradient, mixture, regrets)

    def _advance(
        self, k: int, regrets: Any, size: float, exponent: int, gradients: Any, stride: int, discount: float
    ) -> None:
        """Everyone learns; expert k finds its gradient at k * stride."""
        d = self.free.discount * discount
        self.bet._ingest(-regrets[k], size, exponent, d)
        self.learner._learn(gradients[k * stride : k * stride + self.x.shape[0]], d)
        if self.rest is not None:
            self.rest._advance(k + 1, regrets, size, exponent, gradients, stride, discount)


class DiscountHedge(VectorLearner):
    r"""A mixture of the paper's learners with different discounts, weighed by bets that forget as they do.

    .. math::
        x_t = \sum_k \frac{y_t^{(k)}}{\sum_j y_t^{(j)}}\, x_t^{(k)}, \qquad
        y^{(k)}\ \text{is Algorithm 1 with}\ \lambda_k\ \text{on}\ -\bigl(l_t(x_t) - l_t(x_t^{(k)})\bigr),

    and the plain mean where all bets are 0. Experts are the odd form of Algorithm 1 on the line, Algorithm 3 in R^d.
    ``update`` takes the losses to be linear, :math:`\langle g_t, \cdot\rangle`, and gives all experts the same
    gradient; ``update_with`` asks the loss itself, for the value and the gradient at each expert's own point. A round
    costs O(Kd).

    Nothing is proved about its regret. Measured: see the documentation, "Choosing the discount online".

    The ``discount`` of ``update`` and ``run`` multiplies every :math:`\lambda_k`.

    Args:
        dim: the dimension; None plays floats on the line.
        epsilon: a guess of the distance from the center to the answer, the same for every expert.
        discounts: the grid, numbers in [0, 1]; by default 1 - 2^-k for k = 3, ..., 14.
        center: the inductive bias x*; by default the point of the domain nearest to 0.
        domain: where to play (``wane.domains``, or any object with ``project``); None is everywhere.

    >>> learner = DiscountHedge(discounts=(0.9, 0.99, 1.0))
    >>> _ = learner.run([-1.0] * 100)
    >>> learner.components().round(1), learner.weights().round(3)
    (array([  0.6,  35.3, 344.5]), array([0., 0., 1.]))
    """

    parameters = ("dim", "epsilon", "discounts", "center", "domain")
    memory = ("experts",)

    def __init__(
        self,
        dim: int | None = None,
        epsilon: float = 1.0,
        discounts: Any = GRID,
        center: Any = None,
        domain: Any = None,
    ) -> None:
        """An expert for each discount, no bet placed."""
        super().__init__(1.0, dim)
        self.epsilon = positive("epsilon", epsilon)
        self.discounts = checked_discounts(discounts)
        self.center = frozen("center", center)
        self.domain = None if domain is None else as_domain(domain)
        self.share = 1.0 / len(self.discounts)
        chain: Any = None
        for discount in self.discounts[::-1]:
            free = one_discount(dim, self.epsilon, discount)
            chain = Experts(free, around_and_inside(free, center, self.domain), chain)
        self.experts = chain
        self.x = np.zeros(self.n).data
        self.g = np.zeros(self.n).data
        self.regrets: Any = np.zeros(len(self.discounts)).data

    def _fields(self, cells):
        self.experts._fields(cells)

    def components(self) -> np.ndarray:
        """What each expert plays, (K,) or (K, dim)."""
        played, chain = [], self.experts
        while chain is not None:
            played.append(chain.learner.predict())
            chain = chain.rest
        return np.array(played)

    def weights(self) -> np.ndarray:
        """The share of each expert in the mixture, (K,)."""
        bets, chain = [], self.experts
        while chain is not None:
            bets.append(chain.bet.predict())
            chain = chain.rest
        total = self.experts._stake()
        return np.array(bets) / total if total > 0.0 else np.full(len(bets), self.share)

    def update_with(self, loss: Any, discount: float | None = None) -> None:
        """Ingest the loss of this round, with ``value(x)`` and ``gradient(x)``, such as ``theory.Absolute``.

        Every expert learns from the gradient at its own point, and every bet from the values.

        >>> from wane.theory import Absolute
        >>> learner = DiscountHedge()
        >>> for _ in range(200):
        ...     learner.update_with(Absolute(3.0))
        >>> bool(abs(learner.predict() - 3.0) < 0.3)
        True
        """
        d = self.discount if discount is None else discount_factor(discount)
        if not (hasattr(loss, "value") and hasattr(loss, "gradient")):
            raise InputTypeError(
                f"must have value(x) and gradient(x), got {described(loss)}",
                about="loss",
                cure="update takes a gradient",
            )
        points = self.components()
        own = number("the loss of the prediction", loss.value(self.predict()))
        regrets = [own - number("the loss of an expert", loss.value(p if p.ndim else float(p))) for p in points]
        slopes = [loss.gradient(p if p.ndim else float(p)) for p in points]
        if self.dim is None:
            gradients = np.array([number("gradient", g) for g in slopes])
        else:
            gradients = np.concatenate([vector("gradient", g, self.n) for g in slopes])
        np.asarray(self.regrets)[:] = regrets
        self._settle(0, gradients.data, self.n, d)

    def _point(self, out: Any) -> None:
        for i in range(self.n):
            out[i] = 0.0
        self.experts._mix(out, self.experts._stake(), self.share)

    def _learn(self, gradient: Any, discount: float) -> None:
        self._point(self.x)
        exponent = scaled(gradient, self.g)
        self.experts._judge(0, self.g, self.x, self.regrets)
        self._settle(exponent, gradient, 0, discount)

    def _settle(self, exponent: int, gradients: Any, stride: int, discount: float) -> None:
        """Bets and experts learn: the regrets are self.regrets * 2^(512 exponent)."""
        if not finite(self.regrets):
            self._overflow()
        size = 0.0
        for k in range(self.regrets.shape[0]):
            size = max(size, abs(self.regrets[k]))
        self.experts._advance(0, self.regrets, size, exponent, gradients, stride, discount)


def scaled(x, out):
    """Copy x to out times 2^(-512 k) and return k, such that products with its entries neither vanish nor overflow."""
    k = lift(x, out)
    if norm(out) < HIGH:
        return k
    for i in range(x.shape[0]):
        out[i] = x[i] * DOWN
    return 1
