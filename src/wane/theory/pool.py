"""The coverage of one series of a pooled panel: the theorem behind the method ``pool`` of ``wane.Panel``."""

from __future__ import annotations

import math

from wane.errors import InputError
from wane.theory.arguments import as_number, as_pair
from wane.theory.calibration import largest_sum

UNIT = 0.1  # the correction is measured in at least this share of the largest score
CAP = 1.5  # a radius is at most this many times the largest score,
CAP_EARLY = 8.0  # and this over the number of labels times more
EPSILON = 1.0  # of the rule
ROUNDING = 1e-9  # of a logarithm that is a whole number


def pool_bound(
    labels: float,
    misses: float,
    alpha: float,
    delay: int = 0,
    growth: float = 1.0,
    narrower: tuple[float, float] | None = None,
) -> tuple[float, float]:
    r"""How far the misses of one series of a pooled panel can be from alpha times its labels, below and above.

    It holds for each series by itself, for any scores, whatever the other series do and whatever the shared part of
    the panel says: :math:`\text{lower} \le \text{misses} - \alpha\,\text{labels} \le \text{upper}`. It is about the
    long run. For a few hundred labels the upper side says little, and how well short series are covered is only
    measured. The page about panels in the documentation has the measurements.

    Let R be the largest score of the series so far, n the number of its labels and b > 0 what the shared part says. The
    radius is :math:`r = \min(\max(0, b + u x), R (1.5 + 8 / n))` with :math:`u = \max(b, R / 10)`, without the minimum
    while R = 0, and x comes from the odd rule of the paper on the misses, with the constant hint
    :math:`h = \max(\alpha, 1 - \alpha)`. With V the sum of the squares of miss - alpha, and S(X) the largest sum at
    which the rule plays at most X, the lower side is :math:`-S(1) - (d + 1) \alpha` and the upper one
    :math:`S(95) + (d + 1 + N)(1 - \alpha)`, where :math:`N = (d + 1)(1 + \lfloor \log_{1.5}(D / s_1) \rfloor)`, D is
    the largest score and :math:`s_1` the first one that is not 0.

    Proof. Let s be the sum of miss - alpha over the labels learned so far, from which the rule plays x. Its size grows
    with the size of s, and S(X) can only grow in the course of the series (`calibration_bound`).

    1. *Far up, a row is covered.* Let x > 95. If R > 0, then u x > 9.5 R, which is at least the cap, so the cap is
       played. It is at least 1.5 R and covers, unless the score exceeds the record by half. If R = 0, then r >= b > 0
       covers a score of 0.
    2. *There are at most N exceptions.* A score that exceeds the record by half becomes known after at most d further
       predictions, and then the record has grown by half. Each time there are at most d + 1 such rows, and at most
       d + 1 more before the first positive score is known.
    3. *Upper side.* Take the last prediction made while s <= S(95). Every later one has x > 95 and raises s only if it
       is an exception. Of this prediction and the earlier ones at most d + 1 labels are learned afterwards, each of
       which adds at most 1 - alpha.
    4. *Lower side.* If x < -1, then b + u x < 0, as u >= b: the radius is 0, and the row is missed, because a tie is a
       miss. So after the last prediction made while s >= -S(1), only d + 1 labels can lower s, by at most alpha each.

    With nested levels a radius is only ever raised, so the upper side holds for each level as it stands. While the own
    radius of a level is 0, it plays that of the next narrower level and is missed whenever that one is missed. So its
    lower side becomes lower by the distance between the two bounds of the narrower level, and by d + 1.

    Args:
        labels: the labels of the series that were learned for a row with an interval.
        misses: how many of them were not covered; a score equal to the radius is a miss.
        alpha: the share of misses that was asked for.
        delay: at most so many earlier predictions of the series wait for their label when one is made.
        growth: the largest score of the series over its first score that is not 0.
        narrower: the result for the next narrower level of the same series, if there is one.

    >>> lower, upper = pool_bound(5000, 500, alpha=0.1)
    >>> round(lower), round(upper)
    (-39, 134)
    """
    n, m = as_number("labels", labels), as_number("misses", misses)
    a, d = as_number("alpha", alpha, strict=True), as_number("delay", delay)
    if a >= 1.0:
        raise InputError(f"is {a}; wanted a number < 1", about="alpha")
    if m > n:
        raise InputError(f"are {m:g} of {n:g} labels", about="misses", cure="give the labels that were learned")
    records = math.floor(math.log(as_number("growth", growth, minimum=1.0), CAP) + ROUNDING)
    h, variance = max(a, 1.0 - a), m * (1.0 - a) ** 2 + (n - m) * a**2
    exceptions = (d + 1.0) * (1.0 + records)
    upper = largest_sum(variance, h, (CAP + CAP_EARLY) / UNIT, EPSILON) + (d + 1.0 + exceptions) * (1.0 - a)
    lower = largest_sum(variance, h, 1.0, EPSILON) + (d + 1.0) * a
    if narrower is not None:  # a radius that the narrower level has lifted is missed when that level is missed
        low, high = as_pair("narrower", narrower)
        lower += high - low + d + 1.0
    return -lower, upper
