"""Regret: discounted, dynamic and strongly adaptive, and what it says about the average loss.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 2 and
Appendix A.

Everywhere in `wane.theory`, `discounts[t]` (t from 0) arrives with round t and ages everything before it: it is the
paper's lambda_{t-1}, and `discounts[0]` has no effect.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wane.checks import MOST_KEPT
from wane.errors import InputError
from wane.theory.arguments import (
    FloatArray,
    aged,
    as_array,
    as_discounts,
    as_number,
    as_rounds,
    same_length,
)


def weights(discounts: ArrayLike, rounds: int | None = None) -> FloatArray:
    """Weight of each round at the end of the game.

    w_t = prod_{i > t} discounts[i], so the last round weighs 1.

    Args:
        discounts: one number, or one per round; finite and >= 0.
        rounds: the length of the game, needed when `discounts` is one number.

    Returns:
        Array of shape (T,).

    >>> weights(0.5, rounds=4).tolist()
    [0.125, 0.25, 0.5, 1.0]
    >>> weights([1.0, 1.0, 0.0, 2.0]).tolist()
    [0.0, 0.0, 2.0, 1.0]

    Reference: the factor of round t in Eq. (1).
    """
    d = as_discounts(discounts, None if rounds is None else as_rounds("rounds", rounds, MOST_KEPT)).tolist()
    w = [1.0] if d else []
    for discount in reversed(d[1:]):
        w.append(aged(discount, w[-1]))
    return np.array(w[::-1])


def discounted_regret_path(losses: ArrayLike, comparator_losses: ArrayLike, discounts: ArrayLike) -> FloatArray:
    """Discounted regret at the end of every prefix of the game.

    R_t = discounts[t] * R_{t-1} + losses[t] - comparator_losses[t].

    Args:
        losses: l_t(x_t), shape (T,).
        comparator_losses: l_t(u), shape (T,).
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        Array of shape (T,): entry t is the regret of a game that ends with round t.

    >>> discounted_regret_path([1.0, 1.0, 1.0], [0.0, 0.0, 2.0], 0.5).tolist()
    [1.0, 1.5, -0.25]

    Reference: Eq. (1), for every T.
    """
    a = as_array("losses", losses, (1,))
    b = as_array("comparator_losses", comparator_losses, (1,))
    rounds = same_length(losses=a, comparator_losses=b)
    regret, path = 0.0, []
    for loss, best, discount in zip(a.tolist(), b.tolist(), as_discounts(discounts, rounds).tolist(), strict=True):
        regret = aged(discount, regret) + (loss - best)
        path.append(regret)
    return np.array(path)


def discounted_regret(losses: ArrayLike, comparator_losses: ArrayLike, discounts: ArrayLike) -> float:
    """Discounted regret of a whole game.

    Reg = sum_t (prod_{i > t} discounts[i]) (losses[t] - comparator_losses[t]).

    Args:
        losses: l_t(x_t), shape (T,).
        comparator_losses: l_t(u), shape (T,).
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        The regret; 0 for a game without rounds.

    >>> discounted_regret([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], discounts=0.5)
    1.75

    Reference: Eq. (1).
    """
    path = discounted_regret_path(losses, comparator_losses, discounts)
    return float(path[-1]) if len(path) else 0.0


def dynamic_regret(losses: ArrayLike, comparator_losses: ArrayLike) -> float:
    """Undiscounted regret against a comparator that may move.

    Reg = sum_t l_t(x_t) - sum_t l_t(u_t).

    Args:
        losses: l_t(x_t), shape (T,).
        comparator_losses: l_t(u_t), shape (T,).

    Returns:
        The regret; 0 for a game without rounds.

    >>> dynamic_regret([1.0, 2.0], [0.0, 0.5])
    2.5

    Reference: Appendix A, "Dynamic regret".
    """
    a = as_array("losses", losses, (1,))
    b = as_array("comparator_losses", comparator_losses, (1,))
    same_length(losses=a, comparator_losses=b)
    return sum((loss - best for loss, best in zip(a.tolist(), b.tolist(), strict=True)), start=0.0)


class IntervalRegret(NamedTuple):
    """The largest regret on an interval, and where: rounds `start` to `stop` (excluded), comparator `candidate`."""

    value: float
    start: int
    stop: int
    candidate: int


def strongly_adaptive_regret(
    losses: ArrayLike, comparator_losses: ArrayLike, length: int | None = None
) -> IntervalRegret:
    """Largest undiscounted regret over intervals and candidate comparators.

    max over u and I of sum_{t in I} l_t(x_t) - l_t(u), where I runs over all nonempty intervals, or over all windows of
    a given length. Cost: O(TK) time for T rounds and K candidates, either by Kadane's algorithm (all intervals; it
    extends the best interval that ends at the previous round or starts anew) or by cumulative sums (windows).

    Args:
        losses: l_t(x_t), shape (T,), T >= 1.
        comparator_losses: l_t(u), shape (T,) for one comparator, (T, K) for K candidates.
        length: the length of the windows; None for all intervals.

    Returns:
        `IntervalRegret(value, start, stop, candidate)`; the first of several equals.

    >>> strongly_adaptive_regret([1.0, 0.0, 2.0, 3.0, 0.0], [0.0, 5.0, 0.0, 1.0, 1.0])
    IntervalRegret(value=4.0, start=2, stop=4, candidate=0)
    >>> strongly_adaptive_regret([1.0, 0.0, 2.0, 3.0, 0.0], [0.0, 5.0, 0.0, 1.0, 1.0], length=3).value
    3.0

    Reference: Appendix A, "Strongly adaptive regret".
    """
    a = as_array("losses", losses, (1,))
    b = as_array("comparator_losses", comparator_losses, (1, 2))
    rounds = same_length(losses=a, comparator_losses=b)
    if rounds == 0 or b.size == 0:
        raise InputError(f"has shape {b.shape}; wanted at least one round and one candidate", about="comparator_losses")
    with np.errstate(over="ignore", invalid="ignore"):
        r = a[:, None] - b.reshape(rounds, -1)
        if length is None:
            start, stop, k = _best_interval(r)
        else:
            start, stop, k = _best_window(r, as_rounds("length", length, rounds))
    return IntervalRegret(sum(r[start:stop, k].tolist()), start, stop, k)


def _best_interval(r: FloatArray) -> tuple[int, int, int]:
    """Kadane's algorithm in every column of r."""
    run = np.zeros(r.shape[1])  # the best sum of an interval that ends here
    start = np.zeros(r.shape[1], dtype=int)
    best, where = -np.inf, (0, 0, 0)
    for t, row in enumerate(r):
        start = np.where(run > 0, start, t)
        run = np.maximum(run, 0.0) + row
        k = int(run.argmax())
        if run[k] > best:
            best, where = run[k], (int(start[k]), t + 1, k)
    return where


def _best_window(r: FloatArray, length: int) -> tuple[int, int, int]:
    """The window of the given length with the largest sum, over every column of r."""
    total = np.vstack([np.zeros((1, r.shape[1])), r.cumsum(axis=0)])
    sums = total[length:] - total[:-length]
    start, k = divmod(int(sums.argmax()), r.shape[1])
    return start, start + length, k


def weighted_average_loss(losses: ArrayLike, discounts: ArrayLike) -> float:
    """Average loss on the weighted look-back window.

    sum_t w_t losses[t] / sum_t w_t, with w = weights(discounts); computed as a running average, so that it stays finite
    also where the weights overflow.

    Args:
        losses: l_t(x_t), shape (T,), T >= 1.
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        The average, between the smallest and the largest loss.

    >>> weighted_average_loss([0.0, 0.0, 7.0], discounts=0.0), round(weighted_average_loss([0.0, 0.0, 7.0], 0.5), 12)
    (7.0, 4.0)

    Reference: left-hand side of the display after Eq. (1).
    """
    return _running_average(losses, discounts)[0]


def weighted_average_loss_bound(comparator_losses: ArrayLike, discounts: ArrayLike, bound: float) -> float:
    """Upper bound on the player's weighted average loss that a regret bound gives.

    sum_t w_t l_t(u) / sum_t w_t + bound / sum_t w_t, with w = weights(discounts).

    Args:
        comparator_losses: l_t(u), shape (T,), T >= 1.
        discounts: one number, or one per round; finite and >= 0.
        bound: an upper bound on the discounted regret against u.

    Returns:
        The right-hand side; it is at least `weighted_average_loss` of the player whenever `bound` is valid.

    >>> weighted_average_loss_bound([1.0, 1.0, 3.0], discounts=[1.0, 1.0, 0.0], bound=0.5)
    3.5

    Reference: right-hand side of the display after Eq. (1).
    """
    average, newest = _running_average(comparator_losses, discounts)
    return average + as_number("bound", bound, minimum=-math.inf) * newest


def _running_average(losses: ArrayLike, discounts: ArrayLike) -> tuple[float, float]:
    """The weighted average of the losses and the share 1 / sum_t w_t of the newest one."""
    a = as_array("losses", losses, (1,))
    if not len(a):
        raise InputError("is empty; wanted at least one round: there is no average of nothing", about="losses")
    average, share = 0.0, 1.0
    for t, (loss, discount) in enumerate(zip(a.tolist(), as_discounts(discounts, len(a)).tolist(), strict=True)):
        share = share / (discount + share) if t and discount else 1.0  # N_t = discount N_{t-1} + 1, share = 1 / N
        average = (1.0 - share) * average + share * loss
    return average, share
