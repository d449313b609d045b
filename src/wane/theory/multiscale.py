"""What is proved about sums of learners with different discounts.

Notation as in `wane.theory.bounds`; the documentation, "Choosing the discount online", says how to read the bounds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_array, as_discounts, as_number, norms, same_length
from wane.theory.bounds import base_bound, main_bound, potential_bound
from wane.theory.regret import weights
from wane.theory.summaries import statistics


def odd_bound(
    comparator: float,
    gradients: ArrayLike,
    predictions: ArrayLike,
    discounts: ArrayLike,
    epsilon: float = 1.0,
    window: int | None = None,
) -> float:
    """Regret bound of the odd magnitude learner, which plays on the whole line.

    `base_bound` at |u| and |x_t|.

    Proof. Let Phi_h(v, s), s >= 0, be the potential of `base_undiscounted_bound`, whose steps are cited by number. It
    is convex in s and falls at s = 0 (step 4), so it has one minimum, at some s0(v) > 0, where its derivative vanishes;
    the rule is that derivative, so it is negative below s0, and s0 >= 2 h (step 1). The odd learner plays the
    derivative in s of Psi_h(v, s) = min over s' >= |s| of Phi_h(v, s') = Phi_h(v, max(|s|, s0)), an even function that
    grows with |s|.

    1. *One step*: Psi(v + c^2, s - c) <= Psi(v, s) - c x for |c| <= h. If s >= s0, then s - c >= h > 0 and Psi(v + c^2,
       s - c) <= Phi(v + c^2, s - c) <= Phi(v, s) - c Phi'(v, s) by step 2; s <= -s0 is its mirror image. If |s| < s0,
       then x = 0 and |s - c| <= s0 + |c|, so Psi(v + c^2, s - c) <= Psi(v + c^2, s0 + |c|), which by the first case at
       s0 is at most Phi(v, s0) + |c| Phi'(v, s0) = Phi(v, s0) = Psi(v, s).
    2. *A larger hint lowers Psi*, as a minimum of functions that it lowers (step 3). So sum_t c_t x_t <= -Psi_h(v, s).
    3. *The supremum* over real s of u s - Psi(v, s) is that of |u| s - Phi(v, s) over s >= s0, because below s0 Psi is
       constant; step 4 bounds it at |u|.
    4. *Clipping and discounts* as in `base_undiscounted_bound`, step 5, without projection, and in `base_bound`.

    Args:
        comparator: u, any number.
        gradients: g_t, shape (T,), T >= 1.
        predictions: x_t of the learner (`OddMagnitudeLearner`), shape (T,).
        discounts: one number, or one per round; finite and >= 0.
        epsilon: the learner's hyperparameter, > 0.
        window: as in `base_bound`.

    Returns:
        The bound on the discounted regret against u.

    >>> g, x = [1.0, -1.0, 1.0], [0.0, 0.5, 0.2]
    >>> odd_bound(-2.0, g, [-0.5 * v for v in x], 0.9) == base_bound(2.0, g, [0.5 * v for v in x], 0.9)
    True
    """
    u = as_number("comparator", comparator, minimum=-math.inf)
    x = as_array("predictions", predictions, (1,))
    return base_bound(abs(u), gradients, np.abs(x), discounts, epsilon, window)


def change_of_discount(path: ArrayLike, own: ArrayLike, discounts: ArrayLike) -> float:
    """A sum discounted one way, from the path of the sums discounted another way.

    If A_t = own[t] A_{t-1} + r_t, then sum_t w_t r_t = A_T + sum_{t >= 1} w_t (discounts[t] - own[t]) A_{t-1}, with
    w = weights(discounts): put r_t = A_t - own[t] A_{t-1} into the sum and use w_{t-1} = discounts[t] w_t.

    Where discounts >= own this increases in the path, so that it turns bounds on regrets of a short memory, one for
    each round, into a bound on the regret of a longer memory. With constant discounts and a bound B for all rounds it
    is at most B (1 - own) / (1 - discount): once B for each short window in a long one.

    Args:
        path: A_t for every round t, shape (T,), T >= 1.
        own: the discounts of the path, one number or one per round.
        discounts: the discounts wanted, one number or one per round.

    Returns:
        The sum with the discounts wanted.

    >>> from wane.theory import discounted_regret_path
    >>> short = discounted_regret_path([1.0, 2.0, 4.0], [0.0, 0.0, 0.0], 0.5)
    >>> change_of_discount(short, own=0.5, discounts=1.0)
    7.0
    """
    a = as_array("path", path, (1,))
    if not len(a):
        raise InputError("is empty; wanted at least one round: there is no sum of nothing", about="path")
    wanted, had = as_discounts(discounts, len(a)), as_discounts(own, len(a))
    return float(a[-1] + (weights(wanted)[1:] * (wanted - had)[1:] * a[:-1]).sum())


def multiscale_bound(
    comparator: ArrayLike,
    gradients: ArrayLike,
    components: ArrayLike,
    grid: ArrayLike,
    k: int,
    discounts: ArrayLike = 1.0,
    epsilon: float = 1.0,
    anchors: ArrayLike | None = None,
) -> float:
    """Bound on the regret of a sum of learners over a grid of discounts, discounted by the k-th of them.

    bound_k(u - sum_j v_j) + sum_{j != k} price_j, where bound_k is `odd_bound` on the line and `main_bound` in R^d with
    the discount grid[k] and epsilon / K, and the anchors v_j are any points. The price of learner j is the smaller of

    - what it moves: sum_t w_t |g_t| |x_t^(j) - v_j|, with the weights w of grid[k];
    - if grid[j] <= grid[k], `change_of_discount` of its own bounds at v_j, one for each round.

    Proof. With v = sum_{j != k} v_j the linear regret splits:
    sum_t w_t <g_t, x_t - u> = sum_t w_t <g_t, x_t^(k) - (u - v)> + sum_{j != k} sum_t w_t <g_t, x_t^(j) - v_j>.
    The first sum is the regret of learner k at its own discount. A term of the others is at most the first price by
    Cauchy and Schwarz. For the second, R_t = sum of the first t terms, discounted by grid[j], is at most
    B_t = (eps/K) sqrt(V + 2 G S + 16 G^2) + |v_j| (S + G) + G max_{i <= t} |x_i^(j)|, in R^d plus 3 |v_j| sqrt(V), with
    V and G discounted by grid[j] (the bound without a split, for a game of t rounds), and by `change_of_discount` the
    term is an increasing function of R_1, ..., R_T. With a domain the learners see surrogate gradients, which are not
    longer, and for which the left-hand side is not smaller (`main_bound`, "Constraints"); every part of the bound
    increases in the length of the gradients.

    The second price is linear in the length of the window, times epsilon / K and not times u. Something like it must be
    there: gradients that lure the fast learner and then betray it, again and again, make the sum lose in proportion to
    the number of rounds (`test_a_fast_learner_can_be_robbed_for_ever`).

    Args:
        comparator: u - x*, a number on the line, a vector in R^d.
        gradients: g_t, shape (T,) or (T, d), T >= 1.
        components: x_t^(j), shape (T, K) or (T, K, d): `MultiscaleLearner.components()` before each round.
        grid: the K discounts, in [0, 1].
        k: whose discount the regret has.
        discounts: what multiplied the grid, one number or one per round.
        epsilon: of the whole sum.
        anchors: v_j, shape (K,) or (K, d); entry k is not used. None takes the better of two choices: all 0, or for the
            slower learners where they are in the last round.

    Returns:
        The bound on the regret discounted by grid[k] * discounts.

    >>> alone = multiscale_bound(1.0, [1.0, -1.0], [[0.0], [0.3]], grid=[0.9], k=0)
    >>> alone == odd_bound(1.0, [1.0, -1.0], [0.0, 0.3], 0.9)
    True
    """
    g = as_array("gradients", gradients, (1, 2))
    x = as_array("components", components, (g.ndim + 1,))
    rounds = same_length(gradients=g, components=x)
    lam = as_array("grid", grid, (1,))
    if rounds == 0 or x.shape[1:] != (len(lam), *g.shape[1:]):
        raise InputError(
            f"has shape {x.shape}; wanted {(rounds, len(lam), *g.shape[1:])} with at least one round",
            about="components",
        )
    if not 0 <= k < len(lam):
        raise InputError(f"is {k}; wanted an index of the grid, 0 <= k < {len(lam)}", about="k")
    if lam.min() < 0.0 or lam.max() > 1.0:
        raise InputError(f"holds {lam.tolist()}; wanted discounts in [0, 1]", about="grid")
    u = as_array("comparator", comparator, (0, 1))
    if u.shape != g.shape[1:]:
        problem = f"has shape {u.shape}; wanted {g.shape[1:]}, a point of the space of the gradients"
        raise InputError(problem, about="comparator")
    ages = as_discounts(discounts, rounds)
    share = as_number("epsilon", epsilon, strict=True) / len(lam)
    zero = np.zeros(x.shape[1:])
    if anchors is not None:
        choices = [as_array("anchors", anchors, (g.ndim,))]
        if choices[0].shape != zero.shape:
            problem = f"has shape {choices[0].shape}; wanted {zero.shape}, one point for each discount"
            raise InputError(problem, about="anchors")
    else:
        slower = (lam > lam[k]).reshape(-1, *[1] * (g.ndim - 1))
        choices = [zero, np.where(slower, x[-1], 0.0)]
    return min(_priced(u, g, x, lam, k, ages, share, v) for v in choices)


def _priced(
    u: FloatArray, g: FloatArray, x: FloatArray, lam: FloatArray, k: int, ages: FloatArray, eps: float, v: FloatArray
) -> float:
    """The bound for given anchors."""
    others = [j for j in range(len(lam)) if j != k]
    left = u - sum((v[j] for j in others), np.zeros(u.shape))
    if g.ndim == 1:
        total = odd_bound(float(left), g, x[:, k], lam[k] * ages, eps)
    else:
        total = main_bound(left, g, norms(x[:, k]), lam[k] * ages, eps)
    size = norms(g)
    w = weights(lam[k] * ages)
    for j in others:
        price = float((w * size * norms(x[:, j] - v[j])).sum())
        if lam[j] <= lam[k]:
            bounds = _own_bounds(float(np.linalg.norm(v[j])), size, norms(x[:, j]), lam[j] * ages, eps, g.ndim > 1)
            price = min(price, change_of_discount(bounds, lam[j] * ages, lam[k] * ages))
        total += price
    return total


def _own_bounds(
    distance: float, size: FloatArray, points: FloatArray, ages: FloatArray, eps: float, space: bool
) -> FloatArray:
    """The bound of one learner at its own discount, without a split, for the game that ends with each round."""
    unit = float(size.max()) or 1.0
    _, V, G = statistics(size / unit, ages)
    potential = np.array([potential_bound(distance, v, h, eps) for v, h in zip(V.tolist(), G.tolist(), strict=True)])
    direction = 3.0 * distance * np.sqrt(V) if space else 0.0
    return np.asarray(unit * (potential + direction + (distance + np.maximum.accumulate(points)) * G))
