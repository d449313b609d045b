"""What is proved about coverage: the paper's Section 3 and Appendix C, late labels and nested levels, as functions.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 3.2 and
Appendix C.2. Everything here is about Algorithm 4: Algorithm 1 plays the radius r_t, and is told a subgradient g_t of
a convex loss that is smallest at the score, with g_t <= 0 where r_t equals the score. The discounted sum
S* = -sum_i (prod_{j > i} a_j) g_i counts misses beyond the target if the loss is the pinball loss with ties as misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from numpy.typing import ArrayLike

from wane.checks import COUNTABLE, listed, share, whole
from wane.errors import InputError, InputTypeError
from wane.theory.arguments import as_array, as_number, as_rounds, same_length
from wane.theory.bounds import base_bound
from wane.theory.calibration import LARGEST
from wane.theory.summaries import statistics

BASIC = 13.0  # the factor of G in Lemma "connecting_basic", from 4 + sqrt(16 + 64) < 13


def coverage_bound(
    variance: float,
    hint: float,
    radius: float | None = None,
    max_score: float | None = None,
    epsilon: float = 1.0,
    clipped: bool = False,
) -> float:
    r"""Bound on the discounted coverage sum of Algorithm 4, from its next radius or from the largest score.

    2 sqrt(V) (1 + L) + k G (1 + L)^2 with L = sqrt(log(1 + 2 r / epsilon)), where r is the next radius or the largest
    score D, and k is

    - 13 for the sum of the clipped gradients and the next radius (Lemma "connecting_basic"),
    - 14 for the sum S* of all gradients and the next radius (Lemma "connecting"),
    - 14 for the clipped sum and the largest score, 15 for S* and the largest score (Lemma "bounded_induction").

    Proof. Let s be the clipped sum, E = V + 2 G s + 16 G^2 and z = s / (2 sqrt(E)).

    1. *From above.* If z < 1, then s^2 < 4 E, so s <= 4 G + sqrt(80 G^2 + 4 V) <= 2 sqrt(V) + 13 G. If z >= 1, then
       erfi(z) >= exp(z^2) / (2 z), and sqrt(E) / s >= 2 G / sqrt(E) because E >= 2 G s: half of erfi(z) pays for the
       negative term of the rule, so r >= epsilon erfi(z) / 2. As erfi^-1(y) <= 1 + sqrt(log(1 + y)), z <= 1 + L, and
       the same algebra with 1 + L for 1 gives the claim.
    2. *From below.* If s <= 0 before a round, the radius is 0, which no score is below, so g <= 0 and s does not fall.
       If s > 0, it falls to -G at most. So s >= -G.
    3. *Clipping* withholds at most G in total (`base_bound`): 14 for S*.
    4. *The largest score.* While the radius is at most D, step 1 holds with D for r, and one more round adds at most
       G: 14. Where the radius exceeds D, the round is covered, g >= 0 has the sign of s, and |s| does not grow.

    Step 2 is where the loss must be right at r_t = score: with a gradient above 0 there, scores of 0 at a radius of 0
    would lower s for ever. No other step asks which loss it is.

    Args:
        variance: V, the discounted sum of the squared clipped gradients; a larger number, such as that of all
            gradients, is allowed.
        hint: G, the discounted largest gradient.
        radius: r, the radius that will be played next.
        max_score: D, in place of the radius.
        epsilon: of the learner.
        clipped: bound the sum of the clipped gradients, which is the learner's own s.

    Returns:
        The bound; infinite from 1e150 epsilon on, where the radius is cut and says nothing about the sum.

    >>> [round(coverage_bound(100.0, 1.0, radius=0.0, clipped=c), 1) for c in (True, False)]
    [33.0, 34.0]
    >>> round(coverage_bound(100.0, 1.0, max_score=0.0), 1)
    35.0

    Reference: Lemmas "connecting_basic", "connecting" and "bounded_induction".
    """
    if (radius is None) == (max_score is None):
        raise InputTypeError("give the next radius or max_score, and not both", argument="radius")
    V, G = as_number("variance", variance), as_number("hint", hint)
    r = as_number("radius", radius) if max_score is None else as_number("max_score", max_score)  # type: ignore[arg-type]
    eps = as_number("epsilon", epsilon, strict=True)
    if r / LARGEST >= eps:
        return math.inf
    factor = BASIC + (max_score is not None) + (not clipped)
    one_plus = _one_plus(r, eps)
    return 2.0 * math.sqrt(V) * one_plus + factor * G * one_plus * one_plus


class OcpBound(NamedTuple):
    """The two promises of Theorem "ocp_main": about the coverage sum S*, and about the discounted regret."""

    coverage: float
    regret: float


def ocp_main_bound(
    comparator: float,
    gradients: ArrayLike,
    radii: ArrayLike,
    discounts: ArrayLike,
    max_score: float,
    epsilon: float = 1.0,
) -> OcpBound:
    """Theorem "ocp_main": coverage and regret of Algorithm 4 at once, with constants, for scores up to an unknown D.

    The coverage part is `coverage_bound` at the largest score with the variance of all gradients, because that of the
    clipped ones is not larger. The regret part is `base_bound`.

    Args:
        comparator: u >= 0, a fixed radius.
        gradients: g_t, shape (T,), T >= 1, of the losses at the radii.
        radii: r_t >= 0, shape (T,), that Algorithm 4 has played.
        discounts: one number, or one per round; finite and >= 0.
        max_score: D. The algorithm does not know it.
        epsilon: of the learner.

    Returns:
        Bounds on abs(S*_T) and on the discounted regret against u.

    >>> ocp_main_bound(0.0, [-0.9, -0.9], [0.0, 0.0], 1.0, max_score=0.0).coverage <= 2 * 0.9 * 2**0.5 + 15 * 0.9
    True

    Reference: Theorem "ocp_main".
    """
    g, r = as_array("gradients", gradients, (1,)), as_array("radii", radii, (1,))
    same_length(gradients=g, radii=r)
    regret = base_bound(comparator, g, r, discounts, epsilon)
    _, V, G = statistics(g, discounts)
    return OcpBound(coverage_bound(float(V[-1]), float(G[-1]), None, max_score, epsilon), regret)


def late_coverage_bounds(
    alpha: float, variance: float, max_score: float, delay: int = 0, epsilon: float = 1.0
) -> tuple[float, float]:
    """Both bounds on misses - alpha * labels for `magl` whose labels come late, in any order.

    With B = `coverage_bound` at the largest score D and h = 1 - alpha, and d the largest number of predictions that
    wait when another is made, the sum lies between min(h, 3 h - alpha (d + 1)) and B + d h. The documentation has the
    proof ("Late labels"). It is about the pinball loss with ties as misses, alpha <= 1/2, discount 1 and at least one
    label.

    Args:
        alpha: the share of misses, at most 1/2.
        variance: v of the learner.
        max_score: D.
        delay: d; 0 where labels come in time.
        epsilon: of the learner.

    Returns:
        The lower and the upper bound.

    >>> late_coverage_bounds(0.1, 0.0, max_score=0.0, delay=0)
    (0.9, 13.5)
    >>> tuple(round(x, 1) for x in late_coverage_bounds(0.1, 0.0, max_score=0.0, delay=100))
    (-7.4, 103.5)

    Reference: not in the paper; its Lemma "bounded_induction" is the upper half at d = 0.
    """
    a, d = _at_most_half("alpha", alpha), whole("delay", delay, 0)
    h = 1.0 - a
    upper = coverage_bound(variance, h, None, max_score, epsilon) + d * h
    return min(h, 3.0 * h - a * (d + 1)), upper


def nested_coverage_bounds(
    alphas: Sequence[float], variances: ArrayLike, max_score: float, delay: int = 0, epsilon: float = 1.0
) -> list[tuple[float, float]]:
    """Both bounds on misses - alpha * labels at each of several levels that never cross, of `magl`.

    Each level plays the larger of its own radius and that of the level with the next larger alpha. The upper bounds are
    those of `late_coverage_bounds`. The lower one is that of the level with the next larger alpha, minus the upper one
    of that level, minus d. Where a floor lifts the radii (``allow_empty=False``), the upper bounds hold and the lower
    ones do not.

    Proof. Level i has its own radius q_i and plays p_i = max(q_i, p_{i+1}), with p_m = q_m for the last level. Let s_i
    be the sum of its learner, S_i its misses minus alpha_i times labels, and B_i the upper bound at d = 0.

    1. *Upper side.* If q_i > D, then p_i > D, and the round is covered, as for one level alone. So S_i <= B_i.
    2. *Lower side.* The last level is as one level alone. For another level, let tau be the last round in which
       q_i > 0. Before its label s_i > 2 (1 - alpha_i), so S_i > 3 (1 - alpha_i), and after it
       S_i(tau) > 3 - 4 alpha_i > 0. In later rounds q_i = 0, so p_i = p_{i+1}: both levels miss or neither does, and
       S_i - S_{i+1} grows by alpha_{i+1} - alpha_i > 0. Hence S_i(T) >= S_i(tau) - S_{i+1}(tau) + S_{i+1}(T)
       >= S_{i+1}(T) - B_{i+1}, by 1. at tau, and since B_{i+1} only grows. If q_i was never positive, take tau = 0,
       where both sums are 0.
    3. *Late labels.* The at most d + 1 predictions that wait at tau may each be missed by level i + 1 and not by level
       i. This costs d + 1, of which S_i(tau) > 3 (1 - alpha_i) > 1 pays one.

    Args:
        alphas: the levels, growing, at most 1/2.
        variances: v of the learner of each level.
        max_score: D.
        delay: d; 0 where labels come in time.
        epsilon: of the learners.

    Returns:
        The lower and the upper bound of each level.

    >>> nested_coverage_bounds([0.1, 0.2], [0.0, 0.0], max_score=0.0)
    [(-11.2, 13.5), (0.8, 12.0)]

    Reference: not in the paper.
    """
    levels = [_at_most_half("alphas", a) for a in listed("alphas", alphas)]
    v = as_array("variances", variances, (1,))
    if len(v) != len(levels) or not levels or any(b <= a for a, b in pairwise(levels)):
        raise InputError(
            f"has {len(levels)} entries, {levels}, beside {len(v)} variances; wanted one variance for each level, and "
            "levels that grow",
            about="alphas",
            cure="sort both by alpha",
        )
    found: list[tuple[float, float]] = []
    for a, variance in zip(reversed(levels), v[::-1].tolist(), strict=True):
        lower, upper = late_coverage_bounds(a, variance, max_score, delay, epsilon)
        if found:
            lower = found[0][0] - found[0][1] - whole("delay", delay, 0)
        found.insert(0, (lower, upper))
    return found


def target_rate_bound(alpha: float, rounds: int, max_score: float, epsilon: float = 1.0) -> float:
    """What is known of abs(misses - alpha T) for `magl` before the game: it grows with sqrt(alpha (1 - alpha) T).

    With M misses, V = alpha^2 (T - M) + (1 - alpha)^2 M = alpha (1 - alpha) T + (1 - 2 alpha) S at S = M - alpha T. Put
    into `coverage_bound` at the largest score, A = 2 (1 + L), C = 15 max(alpha, 1 - alpha) (1 + L)^2 and
    p = abs(1 - 2 alpha), this is (abs(S) - C)^2 <= A^2 (alpha (1 - alpha) T + p abs(S)) where abs(S) > C. The larger
    root of the quadratic equation is the bound.

    Args:
        alpha: the share of misses.
        rounds: T.
        max_score: D.
        epsilon: of the learner.

    Returns:
        The bound on abs(S*_T) for the pinball loss with ties as misses, discount 1, whatever the scores up to D.

    >>> big, small = (target_rate_bound(a, 10**10, max_score=1.0) for a in (0.5, 0.01))
    >>> round(big / small, 1)     # sqrt(0.5 * 0.5 / (0.01 * 0.99)) is 5.0
    5.0

    Reference: Section 3.2, "Adaptivity in OCP".
    """
    a, T = share("alpha", alpha), as_rounds("rounds", rounds)
    one_plus = _one_plus(as_number("max_score", max_score), as_number("epsilon", epsilon, strict=True))
    A2, C = 4.0 * one_plus * one_plus, (BASIC + 2.0) * max(a, 1.0 - a) * one_plus * one_plus
    p = abs(1.0 - 2.0 * a)
    half = 0.5 * A2 * p
    return C + half + math.sqrt(half * half + A2 * (a * (1.0 - a) * T + p * C))


def target_rate_rounds(alpha: float, tolerance: float, max_score: float, epsilon: float = 1.0) -> int:
    """After how many rounds the miss rate of `magl` is proved to be within a tolerance of alpha, for ever.

    The smallest T with `target_rate_bound` <= tolerance * T. The bound over T falls in T, so it holds from there on.
    For a small tolerance it is of the order alpha (1 - alpha) / tolerance^2, times a logarithm of D / epsilon. (The
    paper writes alpha epsilon^2 for alpha epsilon^-2, where epsilon is the tolerance.)

    Args:
        alpha: the share of misses.
        tolerance: how far the miss rate may be from alpha.
        max_score: D.
        epsilon: of the learner.

    Returns:
        T.

    >>> [target_rate_rounds(0.1, t, max_score=1.0) for t in (0.1, 0.01, 0.001)]
    [1136, 26563, 1634891]

    Reference: Section 3.2, "Adaptivity in OCP".
    """
    wanted = as_number("tolerance", tolerance, strict=True)

    def too_few(T: int) -> bool:
        return target_rate_bound(alpha, T, max_score, epsilon) > wanted * T

    low, high = 0, 1
    while too_few(high):
        low, high = high, 2 * high
        if high >= COUNTABLE:
            raise InputError(f"must be met within {COUNTABLE} rounds, got {tolerance!r}", about="tolerance")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_few(middle) else (low, middle)
    return high


def forgetting_bound(discount: float, window: float) -> float:
    """How much of a weight is left after a window of rounds, at most: lambda^tau <= exp(-(1 - lambda) tau).

    With tau = 1 / (1 - lambda) this is Lemma "e", lambda^(1 / (1 - lambda)) <= 1/e, which becomes equality as lambda
    goes to 1. It holds because log(lambda) <= lambda - 1.

    Args:
        discount: lambda in [0, 1].
        window: tau >= 0, rounds.

    Returns:
        The bound on discount**window.

    >>> 0.99**700 <= forgetting_bound(0.99, 700) < 1e-3
    True

    Reference: Lemma "e", and the example after Theorem "base".
    """
    kept = as_number("discount", discount)
    if kept > 1.0:
        raise InputError(f"is {kept}; wanted 0 <= discount <= 1", about="discount", cure="a larger one forgets nothing")
    return math.exp(-(1.0 - kept) * as_number("window", window))


def _one_plus(r: float, epsilon: float) -> float:
    """1 + L of the lemmas."""
    return 1.0 + math.sqrt(math.log1p(2.0 * (r / epsilon)))


def _at_most_half(name: str, alpha: float) -> float:
    a = share(name, alpha)
    if a > 0.5:
        raise InputError(f"is {a}; wanted at most 1/2: the proof uses alpha <= 1 - alpha", about=name)
    return a
