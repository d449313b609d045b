"""The environment that proves the lower bound: random signs along the comparator.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Theorem "lower".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wane.checks import MOST_KEPT
from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_array, as_discounts, as_number, as_rounds, as_seed
from wane.theory.bounds import lower_bound
from wane.theory.summaries import statistics

_ROUNDING = 1e-12  # so that the full budget V = G^2 H_T, where L = G in exact arithmetic, is allowed


class RandomSigns:
    """Linear losses of random sign along the comparator, an environment for `play`.

    g_t = L e_t u / ||u|| with independent signs e_t = +-1 and L = sqrt(V / H_T). Then V_T = V whatever the signs, and
    against every learner the mean of max(regret(u), regret(-u)) over the signs is at least `bound` = ||u|| sqrt(V / 2).

    Args:
        comparator: u, a nonzero number or vector.
        variance: V > 0, the discounted gradient variance to spend.
        discounts: one number, or one per round; finite and >= 0; play the game with the same ones.
        rounds: T.
        lipschitz: a bound on ||g_t||; None for none.
        seed: of the random signs.
        signs: explicit signs +-1, shape (T,), instead of random ones.

    Attributes: `rounds`, `discounts` (T,), `signs` (T,), `gradients` (T,) or (T, d), `bound`.

    >>> game = RandomSigns([3.0, 4.0], variance=4.0, discounts=1.0, rounds=4, signs=[1, -1, -1, 1])
    >>> game(0, x=None).tolist(), round(game.bound, 3)
    ([0.6, 0.8], 7.071)

    Reference: Theorem "lower" and its proof.
    """

    def __init__(
        self,
        comparator: ArrayLike,
        variance: float,
        discounts: ArrayLike,
        rounds: int,
        lipschitz: float | None = None,
        seed: int | None = None,
        *,
        signs: ArrayLike | None = None,
    ) -> None:
        """Spend the whole variance budget, the same in every round."""
        u = as_array("comparator", comparator, (0, 1))
        length = math.hypot(*u.ravel().tolist())
        if length == 0:
            problem = "is zero; wanted a nonzero number or vector: its direction carries the losses"
            raise InputError(problem, about="comparator")
        v = as_number("variance", variance, strict=True)
        self.rounds = as_rounds("rounds", rounds, MOST_KEPT)
        self.discounts: FloatArray = as_discounts(discounts, self.rounds)
        L = math.sqrt(v / float(statistics(np.zeros(self.rounds), self.discounts).H[-1]))
        if lipschitz is not None and L > as_number("lipschitz", lipschitz) * (1.0 + _ROUNDING):
            raise InputError(
                f"{v} over {self.rounds} rounds needs gradients of size {L:g}, above lipschitz = {lipschitz}",
                about="variance",
                cure="lower variance to at most lipschitz^2 H_T, or raise lipschitz",
            )
        self.signs: FloatArray = _signs(signs, self.rounds, seed)
        self.gradients: FloatArray = np.multiply.outer(L * self.signs, u / length)
        self.bound = lower_bound(u, v)

    def __call__(self, t: int, x: Any = None) -> float | FloatArray:
        """Return the gradient of round t, whatever the prediction."""
        g = self.gradients[t]
        return float(g) if g.ndim == 0 else g.copy()


def _signs(signs: ArrayLike | None, rounds: int, seed: int | None) -> FloatArray:
    if signs is None:
        return np.random.default_rng(as_seed(seed)).choice([-1.0, 1.0], size=rounds)
    e = as_array("signs", signs, (1,))
    if len(e) != rounds or (np.abs(e) != 1).any():
        problem = f"has length {len(e)}, values {np.unique(e).tolist()}; wanted {rounds} entries, -1 or 1"
        raise InputError(problem, about="signs")
    return e
