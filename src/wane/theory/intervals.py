"""From regret on intervals to discounted regret, and the bound of coin betting over a covering of intervals.

References: Daniely, Gonen, Shalev-Shwartz, "Strongly adaptive online learning" (2015); Jun, Orabona, Wright, Willett,
"Improved strongly adaptive online learning using coin betting" (2017). Rounds are counted from 0, as everywhere in
`wane.theory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from numpy.typing import ArrayLike

from wane.checks import function, whole
from wane.errors import InputError
from wane.theory.arguments import as_array, as_discounts, as_number, as_rounds
from wane.theory.regret import weights


def interval_regrets_to_discounted(regrets: ArrayLike, discounts: ArrayLike) -> float:
    """Discounted regret from the undiscounted regrets on the intervals that end now.

    sum_t w_t r_t = w_0 R_0 + sum_{t >= 1} (w_t - w_{t-1}) R_t with R_t = r_t + ... + r_{T-1} and w =
    weights(discounts): summation by parts. With a constant discount lambda, w_t - w_{t-1} = (1 - lambda)
    lambda^(T-1-t).

    With discounts <= 1 no coefficient is negative, so bounds on the regrets of the intervals, put in their place, give
    a bound on the discounted regret, for every such sequence of discounts at once. If R_t <= C sqrt(T - t), a constant
    discount gives at most C / sqrt(1 - lambda) (Jensen: the coefficients are a probability, under which T - t has a
    mean of at most 1 / (1 - lambda)).

    Args:
        regrets: R_t, the regret on the rounds t, ..., T-1, or a bound on it, shape (T,).
        discounts: one number, or one per round; finite and >= 0.

    Returns:
        The discounted regret, or the bound on it; 0 for a game without rounds.

    >>> interval_regrets_to_discounted([7.0, 6.0, 4.0], discounts=0.5)     # of the rounds 1, 2, 4
    5.25
    """
    r = as_array("regrets", regrets, (1,))
    w = weights(as_discounts(discounts, len(r)))
    return float(w[0] * r[0] + ((w[1:] - w[:-1]) * r[1:]).sum()) if len(r) else 0.0


def covering(start: int, stop: int, levels: int = 24) -> list[tuple[int, int]]:
    """Cut the rounds from `start` to `stop` (excluded) into beginnings of intervals of the geometric covering.

    The interval with n rounds is cut into at most 2 + log2 n pieces if it is shorter than 2^levels; their lengths, but
    for the last, grow by factors of two or more.

    Args:
        start: the first round, >= 0.
        stop: the round after the last.
        levels: of the covering: its longest intervals have 2^(levels - 1) rounds.

    Returns:
        Pairs (start, stop), in order.

    >>> covering(2, 13)     # in the count from 1 of the papers, [3, 3], [4, 7] and the beginning [8, 13] of [8, 15]
    [(2, 3), (3, 7), (7, 13)]
    """
    a, b = whole("start", start, 0), whole("stop", stop, 0)
    if a >= b:
        raise InputError(f"start is {a} and stop is {b}; wanted 0 <= start < stop", argument="start")
    longest = 1 << (as_rounds("levels", levels) - 1)
    pieces = []
    while a < b:
        length = min((a + 1) & -(a + 1), longest)  # the largest power of two in the number of the round, from 1 on
        pieces.append((a, min(a + length, b)))
        a += length
    return pieces


def strongly_adaptive_bound(
    start: int,
    stop: int,
    diameter: float,
    lipschitz: float,
    base: Callable[[int], float],
    levels: int = 24,
) -> float:
    """Regret bound of coin betting over the geometric covering, on one interval, with explicit constants.

    The sum over the pieces of `covering` of base(n) + G D sqrt(2 n B), for a piece of n rounds whose first is round b,
    counted from 1, with B = log(pi^2 / 6) + 2 log b + log(1 + floor(log2 b)) + log(n + 1) / 2 + log(pi / 2) / 2 + 1/8.

    Proof. A piece is the beginning of an interval of the covering. Its copy of the base has the regret base(n) there;
    it remains the regret to the copy, which is G D sum_i r_i with r_i = <g_i, x_i - x_i^copy> / (G D) in [-1, 1].

    1. *Coins.* c_i = r_i if the bet w_i > 0, else max(r_i, 0). So c_i >= r_i, and sum r_i <= S = sum c_i.
    2. *The sum of wealths does not grow.* The wealth of a copy is W = 1 + sum_i c_i w_i. In a round
       sum_copies prior * w * c <= 0: terms with w <= 0 have c >= 0, and those with w > 0 add up to a multiple of
       sum p <g, x - x^copy> = 0, as x is the mixture by p. Ended copies keep what they had. So prior * W is at most the
       sum of the priors of all copies ever started, which is at most sum_b 1/b^2 = pi^2/6: at most 1 + floor(log2 b)
       intervals of the covering start in round b.
    3. *Krichevsky-Trofimov.* w is W times the fraction (sum of the coins before) / (number of this round of the copy),
       so after n rounds W >= F_n(S), F_n(x) = 2^n Gamma((n + 1 + x)/2) Gamma((n + 1 - x)/2) / (pi Gamma(n + 1)): F_0(0)
       = 1, (1 + c x/n) F_{n-1}(x) is linear in c, equals F_n(x + c) at c = 1 and c = -1, and F_n is convex.
    4. *F_n from below.* With m = (n + 1)/2, the second derivative of log Gamma(m + y) + log Gamma(m - y) is at least
       2 psi'(m) >= 2/m + 1/m^2, because psi' is convex; so log F_n(x) - log F_n(0) >= x^2 (n + 2) / (2 (n + 1)^2) =
       x^2/(2n) - x^2 / (2 n (n + 1)^2), and the last term is at most n / (2 (n + 1)^2) <= 1/8. F_n(0) =
       Gamma(m) / (sqrt(pi) Gamma(m + 1/2)) >= 1 / sqrt(pi m) (duplication, and log-convexity of Gamma). Hence
       log W >= S^2/(2n) - log(n + 1)/2 - log(pi/2)/2 - 1/8.
    5. With 2., log W <= log(pi^2/6) + 2 log b + log(1 + floor(log2 b)); solve for S.

    Args:
        start: the first round of the interval, >= 0.
        stop: the round after its last.
        diameter: D, a bound on the distance between two predictions.
        lipschitz: G, a bound on every gradient's norm.
        base: a bound on the regret of the base in its first n rounds, as a function of n; increasing.
        levels: of the covering, as the learner has them.

    Returns:
        The bound on the undiscounted regret on the interval, for every comparator that the base's bound covers.

    >>> from wane.theory import ogd_bound
    >>> round(strongly_adaptive_bound(100, 200, 2.0, 1.0, lambda n: ogd_bound(2.0, 1.0, n)), 1)
    241.3
    """
    unit = as_number("diameter", diameter) * as_number("lipschitz", lipschitz)
    function("base", base)
    total = 0.0
    for first, end in covering(start, stop, levels):
        n, b = end - first, first + 1
        wealth = math.log(math.pi * math.pi / 6.0) + 2.0 * math.log(b) + math.log(b.bit_length())
        exponent = wealth + 0.5 * math.log(n + 1.0) + 0.5 * math.log(0.5 * math.pi) + 0.125
        total += as_number("base(n)", base(n), minimum=-math.inf) + unit * math.sqrt(2.0 * n * exponent)
    return total
