"""The three summaries of a discounted game: horizon, variance and Lipschitz constant.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Eqs. (2)-(3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wane.theory.arguments import FloatArray, aged, as_array, as_discounts, norms


class Statistics(NamedTuple):
    """Effective horizon H_t, discounted variance V_t and discounted Lipschitz constant G_t, arrays over t."""

    H: FloatArray
    V: FloatArray
    G: FloatArray


def statistics(gradients: ArrayLike, discounts: ArrayLike) -> Statistics:
    """Effective horizon, discounted variance and discounted Lipschitz constant after every round.

    With lambda = discounts[t]: H_t = lambda^2 H_{t-1} + 1, V_t = lambda^2 V_{t-1} + ||g_t||^2 and
    G_t = max(lambda G_{t-1}, ||g_t||).

    Args:
        gradients: g_t, shape (T,) or (T, d).
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        `Statistics(H, V, G)`, arrays of shape (T,).

    >>> H, V, G = statistics([2.0, -1.0, 0.5], discounts=0.5)
    >>> H.tolist(), V.tolist(), G.tolist()
    ([1.0, 1.25, 1.3125], [4.0, 2.0, 0.75], [2.0, 1.0, 0.5])

    Reference: Eqs. (2) and (3).
    """
    g = as_array("gradients", gradients, (1, 2))
    h = v = lipschitz = 0.0
    rows = []
    for size, discount in zip(norms(g).tolist(), as_discounts(discounts, len(g)).tolist(), strict=True):
        h = aged(discount, aged(discount, h)) + 1.0
        v = aged(discount, aged(discount, v)) + size * size
        lipschitz = max(aged(discount, lipschitz), size)
        rows.append((h, v, lipschitz))
    return Statistics(*np.array(rows).reshape(-1, 3).T.copy())
