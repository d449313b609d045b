"""Regret bounds of the paper's learners, and the lower bound, as functions.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Theorems
"lower", "base_undiscounted", "base" and "main" (Section 2 and Appendix B).

The proofs below are written out in full, for every discount >= 0, because the paper leaves parts to its references.
Notation: round t brings the gradient g_t and the discount a_t = discounts[t] (the paper's lambda_{t-1});
w_t = prod_{i > t} a_i is the weight of round t at the end of the game, so that w_{t-1} = a_t w_t;
h_t is the hint before round t = 0, 1, ...: h_0 = 0, h_{t+1} = max(a_t h_t, ||g_t||).
H_k, V_k, G_k are those of `statistics` after k rounds, so G_k = h_k; a bare V, G is V_T, G_T.
A bound on sum_t w_t <g_t, x_t - u> bounds the discounted regret, by convexity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_array, as_discounts, as_number, as_rounds, norms, same_length
from wane.theory.regret import weights
from wane.theory.summaries import statistics


def lower_bound(comparator: ArrayLike, variance: float) -> float:
    """Regret that some sequence of linear losses forces on any algorithm, against u or -u.

    ||u|| sqrt(V / 2); `RandomSigns` draws the losses.

    Args:
        comparator: u, a number or a vector.
        variance: V, the discounted gradient variance the environment may spend.

    Returns:
        The lower bound on max(regret(u), regret(-u)), in expectation over the signs and hence for one of them.

    >>> lower_bound(comparator=[3.0, 4.0], variance=8.0)
    10.0

    Reference: Theorem "lower".
    """
    u = as_array("comparator", comparator, (0, 1))
    return math.hypot(*u.ravel().tolist()) * math.sqrt(as_number("variance", variance) / 2.0)


def base_undiscounted_bound(
    comparator: float, gradients: ArrayLike, predictions: ArrayLike, epsilon: float = 1.0
) -> float:
    """Regret bound of the undiscounted magnitude learner, with its exact clipping error.

    eps sqrt(V + 2 G S + 16 G^2) + u S + sum_t |g_t - clip_t| |x_t - u|, where clip_t is g_t clipped to the largest
    earlier |g|, V and G are the plain sum of squares and maximum, L = sqrt(log(2 u / eps + 1)) and
    S = 8 G (1 + L)^2 + 2 sqrt(V + 16 G^2) (1 + L).

    Proof. (The paper cites Lemma B.2 of Zhang, Yang, Cutkosky, Paschalidis, "Improving Adaptive Online Learning Using
    Refined Discretization", 2024, for steps 2 to 4.) Let c_t be the gradient fed to the potential: |c_t| <= h_t,
    v_{t+1} = v_t + c_t^2, s_{t+1} = s_t - c_t, with hints 0 <= h_t <= h_{t+1}.

    1. *The sum stays nonnegative.* A prediction below 0 lets line 7 drop every positive c_t, so s_t cannot fall. A
       prediction >= 0 with h_t > 0 means D(z) >= h / sqrt(E), and D(z) <= z gives s_t >= 2 h_t >= c_t.
    2. *One step.* Phi_h(v + c^2, s - c) <= Phi_h(v, s) - c Phi_h'(v, s) for |c| <= h and s >= 0, where ' is d/ds. Both
       sides and their derivatives in c agree at c = 0, so it is enough that the left-hand side is concave in c. Write
       Phi as Psi(E, s); then Psi_ss = P = eps exp(z^2) / (2 sqrt(E)) and Psi_E = -P (the backward heat equation). Along
       the path dE/dc = -2 (h - c) and ds/dc = -1, and with A = (h - c) / sqrt(E) the second derivative is
       P ((2 A z - 1)^2 + 2 A^2 - 2). At the point reached, s >= -h and E >= 2 h s + 16 h^2. If s >= 0 there,
       0 <= 2 A z <= 1 and A^2 <= 1/4: the bracket is at most -1/2. If -h <= s < 0, E >= 14 h^2, -1/7 <= 2 A z <= 0 and
       A^2 <= 2/7: at most 64/49 + 4/7 - 2 < 0.
    3. *A larger hint lowers the potential*: Psi_E < 0 and dE/dh = 2 s + 32 h >= 0. So the steps telescope, from
       Phi_h(0, 0) = -4 eps h <= 0 at the first positive hint to sum_t c_t x~_t <= -Phi_h(v, s) at the end; with
       s = -sum_t c_t, sum_t c_t (x~_t - u) <= sup_{s >= 0} (u s - Phi_h(v, s)).
    4. *The supremum.* Phi is convex in s (second derivative P ((2 B z - 1)^2 + 2 B^2), B = h / sqrt(E)) and falls at
       s = 0, so it is attained where Phi' = u; as -Phi <= eps sqrt(E), it is at most u S + eps sqrt(v + 2 h S + 16 h^2)
       if Phi'(v, S) >= u. With q = sqrt(v + 16 h^2), S = 8 h (1 + L)^2 + 2 q (1 + L) gives
       S^2 >= 8 h (1 + L)^2 S + 4 q^2 (1 + L)^2 = 4 E (1 + L)^2, so z >= 1 + L. From E = 4 h z sqrt(E) + q^2 follows
       sqrt(E) >= 4 h z. D(z) >= z / (1 + 2 z^2) (both vanish at 0, D' = 1 - 2 z D, and the right-hand side r has
       r' <= 1 - 2 z r), so D(z) - h / sqrt(E) >= (2 z^2 - 1) / (4 z (1 + 2 z^2)) >= 1 / (12 z) for z >= 1. Hence
       Phi' >= eps exp(z^2) / (12 z), increasing from z = 1 on, and exp((1 + L)^2) / (12 (1 + L)) >=
       (exp(L^2) - 1) / 2 = u / eps, because exp(1 + 2 L) >= 6 (1 + L) min(1, L^2).
    5. *Projection and clipping.* c_t = clip_t, or 0 where line 7 says so; in both cases clip_t (x_t - u) <=
       c_t (x~_t - u) for u >= 0. Adding (g_t - clip_t)(x_t - u) gives the last term. v <= V and h <= G end the proof:
       the bound increases in both.

    Args:
        comparator: u >= 0.
        gradients: g_t, shape (T,).
        predictions: x_t >= 0 of the learner (Algorithm 2), shape (T,).
        epsilon: the learner's hyperparameter, > 0.

    Returns:
        The bound on sum_t g_t (x_t - u).

    >>> base_undiscounted_bound(comparator=0.0, gradients=[0.0, 0.0], predictions=[0.0, 0.0])
    0.0
    >>> round(base_undiscounted_bound(comparator=1.0, gradients=[1.0, -1.0], predictions=[0.0, 0.0]), 3)
    62.887

    Reference: Theorem "base_undiscounted".
    """
    game = _Game.of(gradients, 1.0, predictions=predictions)
    _nonnegative("predictions", game.points)
    u, eps = as_number("comparator", comparator), as_number("epsilon", epsilon, strict=True)
    error = np.diff(game.lipschitz, prepend=0.0) * np.abs(game.points - u)  # |g_t - clip_t| = h_{t+1} - h_t
    return game.unit * (potential_bound(u, game.V, game.G, eps) + float(error.sum()))


def base_bound(
    comparator: float,
    gradients: ArrayLike,
    predictions: ArrayLike,
    discounts: ArrayLike,
    epsilon: float = 1.0,
    window: int | None = None,
) -> float:
    """Regret bound of the discounted magnitude learner.

    eps sqrt(V + 2 G S + 16 G^2) + u (S + G) + (max of x_t over the last tau rounds) G
    + (product of the last tau discounts) (max of x_t over the earlier rounds) G_{T - tau},
    with S as in `base_undiscounted_bound`, from V = V_T and G = G_T.

    Proof. While every discount is positive, Algorithm 1 on g_t is Algorithm 2 on g_t / (a_1 ... a_t), so w_t times
    its regret terms add up to those of `base_undiscounted_bound` scaled by a_1 ... a_{T-1}, which turns its V and G
    into V_T and G_T. A discount a_t = 0 leaves the state (v, s, h) = (0, 0, |g_t|), that of a game that starts in
    round t, except that x_t is the old prediction; there clip_t = 0, so x_t enters through the clipping error alone.
    The clipping error of round t is |g_t - clip_t| = h_{t+1} - a_t h_t, and
    w_t (h_{t+1} - a_t h_t) = w_t h_{t+1} - w_{t-1} h_t telescopes: over the first k = T - tau rounds to w_{k-1} h_k,
    the product of the last tau discounts times G_{T - tau}, and over the last tau rounds to G_T minus that.
    With |x_t - u| <= x_t + u the parts in u add up to u G_T, and dropping the minus in the part of the last rounds
    leaves the theorem. No step asks for discounts <= 1.

    Args:
        comparator: u >= 0.
        gradients: g_t, shape (T,), T >= 1.
        predictions: x_t >= 0 of the learner (Algorithm 1), shape (T,).
        discounts: one number, or one per round; finite and >= 0.
        epsilon: the learner's hyperparameter, > 0.
        window: tau in [1, T]; T makes no split, None takes the tau with the smallest bound.

    Returns:
        The bound on the discounted regret against u.

    >>> g, x = [1.0] * 50, [5.0] * 10 + [0.0] * 40
    >>> round(base_bound(0.0, g, x, 0.5, window=50) - base_bound(0.0, g, x, 0.5, window=40), 9)
    5.0

    Reference: Theorem "base".
    """
    game = _Game.of(gradients, discounts, predictions=predictions)
    _nonnegative("predictions", game.points)
    u, eps = as_number("comparator", comparator), as_number("epsilon", epsilon, strict=True)
    return game.unit * (potential_bound(u, game.V, game.G, eps) + u * game.G + _stability(game, window))


def main_bound(
    comparator: ArrayLike,
    gradients: ArrayLike,
    magnitudes: ArrayLike,
    discounts: ArrayLike,
    epsilon: float = 1.0,
    window: int | None = None,
) -> float:
    """Regret bound of the learner on R^d, or on a closed convex part of it, with explicit constants.

    With D the distance from the inductive bias x* to the comparator u:
    eps sqrt(V + 2 G S + 16 G^2) + D S + 3 D sqrt(V) + D G + (max of m_t over the last tau rounds) G
    + (product of the last tau discounts) (max of m_t over the earlier rounds) G_{T - tau},
    with S as in `base_undiscounted_bound` at u = D, from V = V_T and G = G_T.

    Proof. Shift the coordinates so that x* = 0, D = ||u||. Let y_t >= 0 be the magnitude, ||p_t|| <= 1 the direction,
    and x_t = y_t p_t the prediction of Algorithm 3; clip_t = g_t a_t h_t / h_{t+1} (0 if h_{t+1} = 0).

    1. *Clipping.* If ||g_t|| <= a_t h_t then h_{t+1} = a_t h_t and clip_t = g_t; otherwise h_{t+1} = ||g_t|| and
       ||clip_t|| = a_t h_t. Either way ||clip_t|| <= a_t h_t, ||clip_t|| <= ||g_t|| and
       ||g_t - clip_t|| = h_{t+1} - a_t h_t.
    2. *Polar decomposition.* With e = u / ||u|| (any unit vector if u = 0),
       <g_t, x_t - u> = <clip_t, p_t> (y_t - ||u||) + ||u|| <clip_t, p_t - e> + <g_t - clip_t, x_t - u>.
       Sum the three parts over t with the weights w_t.
    3. *Magnitude.* The 1-D learner sees c_t = <clip_t, p_t> with |c_t| <= a_t h_t, the hint it was given (aged like all
       that precedes g_t), so it clips nothing: steps 1 to 5 of `base_undiscounted_bound`, rescaled as in `base_bound`,
       without clipping error. Its hint is at most G_T and its variance at most V_T, for |c_t| <= ||g_t||, so the first
       part is at most eps sqrt(V + 2 G S + 16 G^2) + ||u|| S.
    4. *Direction.* AdaGrad on the unit ball has diameter 2 and sees clip_t: the second part is at most
       ||u|| 3/2 * 2 sqrt(V_T), by `adagrad_bound`.
    5. *Clipping error.* ||x_t - u|| <= m_t + ||u|| with m_t = ||x_t||, and step 1 telescopes exactly as in
       `base_bound`: the third part is at most ||u|| G plus the two terms in m_t, for every tau.

    *Discounts.* Positive discounts of any size, also above 1, are covered by the rescaling. A discount of 0 makes
    clip_t = 0 and the state of both parts that of a game starting in round t (the direction starts from p_t, which
    AdaGrad's bound allows); all earlier weights are 0, and so is the product of the last tau discounts if it contains
    that round.

    *Constraints.* On a closed convex domain the learner plays the projection x_t of x~_t = y_t p_t and feeds itself
    g~_t = g_t if <g_t, x~_t - x_t> >= 0, else g_t without its component along n = (x~_t - x_t) / ||x~_t - x_t||
    (Cutkosky, "Parameter-free, Dynamic, and Strongly-Adaptive Online Learning", 2020, Theorem 2). For u in the domain
    <g_t, x_t - u> <= <g~_t, x~_t - u>: in the first case by assumption, in the second the difference of the two sides
    is <g_t, n> <n, x_t - u>, a negative times a nonnegative number (x_t is a projection). The right-hand side is
    covered by the proof above, with m_t = ||x~_t - x*|| at the unprojected points and V, G of g~; as ||g~_t|| <=
    ||g_t||, those of the raw gradients are at least as large, and the bound increases in every V and G.

    Args:
        comparator: u - x* as a vector (its norm is taken), or D itself, a number >= 0.
        gradients: g_t, shape (T,) or (T, d), T >= 1.
        magnitudes: m_t = ||x~_t - x*||, shape (T,), of the unprojected predictions (Algorithm 3).
        discounts: one number, or one per round; finite and >= 0.
        epsilon: the learner's hyperparameter, > 0.
        window: tau in [1, T]; T makes no split, None takes the tau with the smallest bound.

    Returns:
        The bound on the discounted regret against u.

    >>> main_bound([0.0, 3.0], [[3.0, 4.0]], [2.0], discounts=0.9) == main_bound(3.0, [5.0], [2.0], discounts=1.0)
    True

    Reference: Theorem "main" (there with O(.), and with the norm of x_t meant in the last term).
    """
    game = _Game.of(gradients, discounts, magnitudes=magnitudes)
    _nonnegative("magnitudes", game.points)
    u = as_array("comparator", comparator, (0, 1))
    distance = as_number("comparator", float(u)) if u.ndim == 0 else math.hypot(*u.tolist())
    eps = as_number("epsilon", epsilon, strict=True)
    direction = 3.0 * distance * math.sqrt(game.V) + distance * game.G
    return game.unit * (potential_bound(distance, game.V, game.G, eps) + direction + _stability(game, window))


class _Game(NamedTuple):
    """A finished game as the theorems see it: V_T, G_T, G_t, the weights, and the learner's points.

    Gradients are measured in units of the largest one (every bound is homogeneous in them), so squares neither overflow
    nor vanish.
    """

    unit: float
    V: float
    G: float
    lipschitz: FloatArray
    weights: FloatArray
    points: FloatArray

    @classmethod
    def of(cls, gradients: ArrayLike, discounts: ArrayLike, **points: ArrayLike) -> _Game:
        """Check the arguments and summarise them; `points` holds one named series."""
        ((name, values),) = points.items()
        size = norms(as_array("gradients", gradients, (1, 2) if name == "magnitudes" else (1,)))
        x = as_array(name, values, (1,))
        rounds = same_length(gradients=size, **{name: x})
        if rounds == 0:
            raise InputError("is empty; wanted at least one round", about="gradients", cure="play first")
        d = as_discounts(discounts, rounds)
        unit = float(size.max()) or 1.0
        _, V, G = statistics(size / unit, d)
        if not np.isfinite(V).all():
            problem = f"the variance overflows within {rounds} rounds"
            raise InputError(problem, argument="discounts", cure="discounts this far above 1 need a shorter game")
        return cls(unit, float(V[-1]), float(G[-1]), G, weights(d), x)


def _nonnegative(name: str, values: FloatArray) -> None:
    bad = np.flatnonzero(values < 0)
    if bad.size:
        t = int(bad[0])
        what = "the theorem is about a learner on [0, inf), or about distances"
        raise InputError(f"is {values[t]}; wanted a number >= 0: {what}", about=name, row=t)


def potential_bound(u: float, V: float, G: float, eps: float) -> float:
    """eps sqrt(V + 2 G S + 16 G^2) + u S, the part of the bound that comes from the potential."""
    one_plus = 1.0 + math.sqrt(math.log1p(2.0 * (u / eps)))
    root = math.hypot(math.sqrt(V), 4.0 * G)  # sqrt(V + 16 G^2)
    S = 8.0 * G * one_plus * one_plus + 2.0 * root * one_plus
    return eps * math.hypot(root, math.sqrt(2.0 * G) * math.sqrt(S)) + u * S


def _stability(game: _Game, window: int | None) -> float:
    """The two terms in the learner's points, for one tau or the best."""
    rounds = len(game.points)
    later = np.maximum.accumulate(game.points[::-1])[::-1]  # later[k]: the largest point from round k on
    earlier = np.maximum.accumulate(game.points)[:-1]  # earlier[k - 1]: the largest point before round k
    with np.errstate(over="ignore", invalid="ignore"):
        reach = earlier * game.lipschitz[:-1]
        forgotten = np.where(reach > 0, game.weights[:-1] * reach, 0.0)
        terms = later * game.G + np.concatenate([[0.0], forgotten])  # terms[k]: split before round k, tau = T - k
    if window is None:
        return float(terms.min())
    return float(terms[rounds - as_rounds("window", window, rounds)])
