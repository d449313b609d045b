"""The record of a finished game, and the questions one asks of it.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wane.errors import InputError, MissingExtraError, installing
from wane.theory.arguments import FloatArray, as_array
from wane.theory.losses import Loss, inner
from wane.theory.regret import discounted_regret, discounted_regret_path
from wane.theory.summaries import Statistics, statistics


@dataclass(frozen=True, eq=False)
class Record:
    """What happened in a game of T rounds; `play` makes it.

    A comparator is one point (a number in a game of numbers, shape (d,) otherwise), or one point per round (shape
    (T,) or (T, d)), for a comparator that moves.

    Args:
        predictions: x_t, shape (T,) or (T, d).
        gradients: g_t, of the same shape.
        losses: l_t(x_t), shape (T,).
        discounts: shape (T,); entry t arrived with round t.
        loss_functions: l_t, objects with `value(x)` and `gradient(x)`.

    >>> from wane.theory import Absolute
    >>> ones = np.ones(2)
    >>> record = Record(np.zeros(2), -ones, ones, discounts=0.5 * ones, loss_functions=(Absolute(1.0), Absolute(1.0)))
    >>> record.regret(1.0), record.linear_regret(2.0), record.regret_path(1.0).tolist()
    (1.5, 3.0, [1.0, 1.5])

    Reference: the protocol of Section 2 and Eq. (1).
    """

    predictions: FloatArray
    gradients: FloatArray
    losses: FloatArray
    discounts: FloatArray
    loss_functions: tuple[Loss, ...]

    def comparator_losses(self, u: ArrayLike) -> FloatArray:
        """Return l_t(u), shape (T,).

        >>> from wane.theory import DriftingTarget, play
        >>> world = DriftingTarget(rounds=5, seed=0)
        >>> class Zero:
        ...     def predict(self): return 0.0
        ...     def update(self, gradient, discount=None): pass
        >>> play(Zero(), world, discounts=1.0).comparator_losses(world.targets).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0]
        """
        return np.array([loss.value(x) for loss, x in zip(self.loss_functions, self._points(u), strict=True)])

    def regret(self, u: ArrayLike) -> float:
        """Return the discounted regret of the true losses against u, Eq. (1)."""
        return discounted_regret(self.losses, self.comparator_losses(u), self.discounts)

    def regret_path(self, u: ArrayLike) -> FloatArray:
        """Return the discounted regret against u at the end of every prefix, shape (T,)."""
        return discounted_regret_path(self.losses, self.comparator_losses(u), self.discounts)

    def linear_regret(self, u: ArrayLike) -> float:
        """Return the discounted regret of the linear losses <g_t, .>; at least `regret(u)`, by convexity."""
        played = [inner(g, x) for g, x in zip(self.gradients, self.predictions, strict=True)]
        against = [inner(g, x) for g, x in zip(self.gradients, self._points(u), strict=True)]
        return discounted_regret(played, against, self.discounts)

    def statistics(self) -> Statistics:
        """Return H_t, V_t and G_t of the game, Eqs. (2)-(3)."""
        return statistics(self.gradients, self.discounts)

    def plot(self, u: ArrayLike, ax: Any = None) -> Any:
        """Draw the discounted regret against u over the rounds on matplotlib axes (new by default), and return them."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise MissingExtraError("plot needs matplotlib", cure=installing("plot")) from error
            _, ax = plt.subplots()
        ax.plot(np.arange(len(self.losses)), self.regret_path(u))
        ax.set_xlabel("round")
        ax.set_ylabel("discounted regret")
        return ax

    def _points(self, u: ArrayLike) -> FloatArray:
        """One comparator per round, of the predictions' shape."""
        x = self.predictions
        a = as_array("comparator", u, (0, 1, 2))
        if a.shape not in (x.shape[1:], x.shape):
            problem = f"has shape {a.shape}; wanted {x.shape[1:]}, or {x.shape} for one point a round"
            raise InputError(problem, about="comparator")
        return np.broadcast_to(a, x.shape)
