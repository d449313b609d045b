"""Coverage in groups that may overlap: one odd learner for each group, all fed the same misses.

The radius of a round is r = max(0, b + c (x + y)): a base b in [0, B], a scale of at least c, any correction y within
[-C, C], and the sum x of what the learners of the round's groups say. The learner of a group is the paper's rule,
mirrored at 0, with a constant hint h = max(alpha, 1 - alpha); it is fed g = alpha - 1[r <= score], times its feature,
in the rounds of its group. Statements and proofs are this package's own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from wane.checks import described, flag, room, share, whole
from wane.errors import InputError
from wane.theory.arguments import as_array, as_number
from wane.theory.calibration import RELATIVE
from wane.theory.potentials import potential

TURN = 2.5  # hints: the potential of a group rises from here on, whatever the variance
DEPTH = 21.0  # squared hints: the potential of a group is at least -epsilon sqrt(v + 21 h^2)
MOST_GROUPS = 1000  # of the game below, whose thresholds grow like Fibonacci numbers: far more would overflow


def group_reach(alpha: float, max_score: float, base: float = 0.0, scale: float = 1.0, cap: float = 0.0) -> float:
    """What one round can add to the wealth of all groups together: max((1 - alpha)(D/c + C), alpha (B/c + C)).

    A miss means b + c (x + y) <= D, so x <= D/c + C, and -g x <= (1 - alpha)(D/c + C). A cover means r > 0, so
    x > -B/c - C, and -g x < alpha (B/c + C).

    >>> group_reach(0.1, max_score=5.0, base=2.0)
    4.5
    """
    a, c, C = share("alpha", alpha), as_number("scale", scale, strict=True), as_number("cap", cap)
    up, down = as_number("max_score", max_score) / c + C, as_number("base", base) / c + C
    return max((1.0 - a) * up, a * down)


def group_bounds(
    alpha: float, variances: ArrayLike, rounds: int, reach: float, epsilon: float = 1.0, closed: bool = False
) -> np.ndarray:
    r"""Bound on abs(misses - alpha * rounds) of each of several groups that may overlap.

    With h = max(alpha, 1 - alpha), K_i = eps sqrt(v_i + 21 h^2) and U_j = X T + sum_{i != j} K_i, where X is
    `group_reach`, the sum of a group stays below the largest s >= 2.5 h with Phi_h(v_j, s) <= U_j (`potential`). That
    is O(sqrt(v_j log(1 + X T / (eps sqrt(v_j))))): other groups enter through a sum inside of a logarithm.

    Proof. Let g_t be the common gradient, f_j in [-1, 1] the feature of group j in a round (1 in the group and 0
    outside), x_j what its learner says, s_j = -sum f_j g the group's sum and v_j = sum (f_j g)^2. Nothing is clipped,
    because |f_j g| <= h. Let Psi(v, s) = Phi(v, max(|s|, s0)), s0 where Phi is smallest, as in `odd_bound`.

    1. *One group.* Steps 1 and 2 of `odd_bound` with a constant hint: sum_t f_j g_t x_j,t <= Psi(0, 0) - Psi(v_j, s_j),
       and Psi(0, 0) <= Phi(0, 0) = -4 eps h < 0.
    2. *All groups.* As x_t = sum_j f_j x_j, adding up gives sum_j Psi(v_j, s_j) <= -sum_t g_t x_t <= X T by
       `group_reach`.
    3. *No group is deep below 0.* At s = 2.5 h, E = v + 21 h^2, z = 1.25 h / sqrt(E), and D(z) >= z - 2 z^3 / 3 gives
       D(z) sqrt(E) / h >= 1.188 > 1, so that Phi rises there: s0 < 2.5 h, and Psi >= -eps sqrt(E(s0)) >= -K_i.
    4. So Psi(v_j, s_j) <= U_j, and Phi rises from 2.5 h on. In closed form, with A = log(1 + 2 U / (eps q)),
       q = sqrt(v + 16 h^2) and Y = 2 + A + log(1 + A), the bound is at most 4 h Y + sqrt(16 h^2 Y^2 + 4 Y q^2): there
       z^2 >= Y, D(z) >= 1/(2 z) + 1/(4 z^3) for z >= 1.36 gives Phi >= eps sqrt(E) exp(z^2) / (2 z^2), and
       exp(Y) / (2 Y) >= 1.56 (1 + 2 U / (eps q)).

    A group that appears later starts with a potential of -4 eps h or less: it is one more K_i. It holds for labels in
    time; with late labels and overlapping groups it does not (`group_certificate` always holds).

    Args:
        alpha: the share of misses.
        variances: v_j of the learner of each group, shape (groups,).
        rounds: T, of all groups together.
        reach: X.
        epsilon: of the learners.
        closed: the closed form, which is larger.

    Returns:
        A bound for each group.

    >>> group_bounds(0.1, [90.0, 45.0, 45.0], 1000, reach=4.5).round(1).tolist()
    [94.2, 83.0, 83.0]
    >>> exact, wider = (group_bounds(0.1, [90.0, 9.0], 1000, 4.5, closed=c) for c in (False, True))
    >>> bool((exact <= wider).all())
    True
    """
    won = as_number("reach", reach) * whole("rounds", rounds, 0)
    return group_certificate(alpha, variances, won, epsilon, closed)


def group_certificate(
    alpha: float, variances: ArrayLike, won: float, epsilon: float = 1.0, closed: bool = False, hints: ArrayLike = 1.0
) -> np.ndarray:
    """The same from what all groups together have really won, max(0, -sum_t g_t x_t): what happened, not what can
    happen.

    Step 2 of the proof of `group_bounds` needs no more than this, so that the certificate holds with late labels too,
    if x_t is what the learners say when the label is learned.

    Where many rows are predicted at one moment, as in a panel, a group learns all labels of a moment at once: its
    gradient is the sum of theirs. Its hint is the largest gradient so far, n_j h, and a larger gradient is cut to the
    hint. A hint that grows lowers the potential, so the proof is the same with n_j h for group j. What was cut adds up
    to (n_j - 1) h, the growth of the hint, and is added to the bound.

    Args:
        alpha: the share of misses.
        variances: v_j of the learner of each group, shape (groups,).
        won: max(0, -sum_t g_t x_t).
        epsilon: of the learners.
        closed: the closed form, which is larger.
        hints: n_j, the largest gradient of each group over max(alpha, 1 - alpha), and at least 1.

    >>> bool((group_certificate(0.1, [90.0, 45.0], won=0.0) < group_bounds(0.1, [90.0, 45.0], 1000, 4.5)).all())
    True
    """
    a, eps = share("alpha", alpha), as_number("epsilon", epsilon, strict=True)
    v = as_array("variances", variances, (1,))
    if (v < 0.0).any():
        j = int(np.argmax(v < 0.0))
        raise InputError(f"is {v[j]}; wanted a number >= 0: it sums squares", about="variances", row=j)
    sizes, total = as_array("hints", hints, (0, 1)), as_number("won", won)
    if sizes.shape not in ((), v.shape) or not (sizes >= 1.0).all():
        problem = f"must be one number, or {len(v)}, one for each group, at least 1, got {described(hints)}"
        raise InputError(problem, about="hints")
    first = max(a, 1.0 - a)
    h = first * np.broadcast_to(sizes, v.shape)
    depths = eps * np.sqrt(v + DEPTH * h * h)
    limits = total + depths.sum() - depths
    invert = _closed if flag("closed", closed) else _inverted
    found = np.array([invert(float(v[j]), float(h[j]), eps, float(limits[j])) for j in range(len(v))])
    return found + (h - first)


def _inverted(v: float, h: float, eps: float, limit: float) -> float:
    """The largest s >= 2.5 h whose potential is at most the limit."""
    low, high = TURN * h, 2.0 * TURN * h
    if not float(potential(v, low, h, eps)) <= limit:
        return low
    while float(potential(v, high, h, eps)) <= limit:
        low, high = high, 2.0 * high
    while high - low > RELATIVE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(potential(v, middle, h, eps)) <= limit else (low, middle)
    return high


def _closed(v: float, h: float, eps: float, limit: float) -> float:
    """A number above it, in closed form."""
    q = math.sqrt(v + 16.0 * h * h)
    A = math.log1p(2.0 * limit / (eps * q))
    Y = 2.0 + A + math.log1p(A)
    return 4.0 * h * Y + math.sqrt(16.0 * h * h * Y * Y + 4.0 * Y * q * q)


def portfolio_group_bounds(
    alpha: float, sizes: ArrayLike, rounds: int, reach: float, epsilon: float = 1.0, prior: float = 10.0
) -> np.ndarray:
    r"""The same for groups whose learners are universal portfolios: the fewest and the most misses of each group.

    The wealths are positive, and together they are sum_i eps - sum_t g_t x_t <= J eps + X T. So the wealth of a group
    with m misses in N rounds is at most (J eps + X T) / eps, and inverting Cover's closed form on both sides of alpha N
    gives the bounds. Features must be 0 or 1, and alpha constant.

    Args:
        alpha: the share of misses.
        sizes: N_j, the rounds of each group, shape (groups,).
        rounds: T, of all groups together.
        reach: X, of `group_reach`.
        epsilon: of each portfolio.
        prior: kappa, of the Beta law with parameters kappa alpha and kappa (1 - alpha).

    Returns:
        Array of shape (groups, 2): bounds on misses - alpha N from below and from above.

    >>> portfolio_group_bounds(0.1, [1000, 100], 1000, reach=4.5).round(1).tolist()
    [[-40.0, 47.0], [-10.0, 16.0]]
    """
    a, n = share("alpha", alpha), as_array("sizes", sizes, (1,))
    eps, kappa = as_number("epsilon", epsilon, strict=True), as_number("prior", prior, strict=True)
    limit = math.log(len(n) + as_number("reach", reach) * whole("rounds", rounds, 0) / eps) if len(n) else 0.0
    found = []
    for size in n.tolist():
        m = np.arange(int(size) + 1.0)
        wealth = betaln(m + kappa * a, size - m + kappa * (1.0 - a)) - betaln(kappa * a, kappa * (1.0 - a))
        wealth -= m * math.log(a) + (size - m) * math.log1p(-a)
        possible = np.flatnonzero(wealth <= limit + RELATIVE)
        found.append((possible[0] - a * size, possible[-1] - a * size))
    return np.array(found).reshape(len(n), 2)


class FibonacciAdversary:
    r"""The game in which overlapping groups break the bound of a single one: the log T of `group_bounds` is needed.

    Scores and base radii are at most X, the scale is 1. Group i and all groups k < i with i - k odd belong to the round
    of stage i; it is a miss if i is odd (base 0, score X) and a cover if i is even (base X, score 0). Each round plays
    the lowest stage for which the sum of what its groups say has not yet passed X in its direction. The learner of the
    last group is driven beyond R_J, where R_1 = X and R_i = X + sum of R_k over k < i with i - k odd: 1, 2, 3, 5, 8,
    ... times X. A single group never goes beyond X by more than a step.

    Args:
        groups: J.
        reach: X.

    Attributes: `groups`, `reach`, `thresholds` (R_1, ..., R_J).

    >>> FibonacciAdversary(5, reach=2.0).thresholds
    [2.0, 4.0, 6.0, 10.0, 16.0]
    """

    def __init__(self, groups: int, reach: float = 1.0) -> None:
        """Fix the stages."""
        self.groups = room("groups", groups, 1, MOST_GROUPS)
        self.reach = as_number("reach", reach, strict=True)
        self.members = [[k for k in range(i + 1) if k == i or (i - k) % 2] for i in range(self.groups)]
        self.thresholds: list[float] = []
        for i in range(self.groups):
            self.thresholds.append(self.reach + sum(self.thresholds[k] for k in self.members[i] if k != i))

    def __call__(self, said: Any) -> tuple[list[int], float, float] | None:
        """Return groups, base radius and score of the next round, given what each learner says; None at the end."""
        for i in range(self.groups):
            sign = 1.0 if i % 2 == 0 else -1.0
            if sign * sum(said[k] for k in self.members[i]) <= self.reach:
                return self.members[i], *((0.0, self.reach) if sign > 0.0 else (self.reach, 0.0))
        return None
