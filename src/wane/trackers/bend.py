# cython: cdivision=True
"""Scores that crowd below a ceiling, spread out: a score of 0.999 and one of 0.9999 differ as much as 0.9 and 0.99 do.

Such are the scores of class labels, one minus a probability or a sum of probabilities: the last hundredths decide
between a few labels and all of them. An increasing map changes no coverage, so the radius may be found for the bent
scores and be straightened again.
"""

from __future__ import annotations

import math

NEAREST = float.fromhex("0x1p-30")  # of the ceiling: scores nearer to it are told apart by their difference
FURTHEST = -math.log(NEAREST)


def bent(score, ceiling):
    r"""Bend a score: :math:`-c \log(1 - s / c)` for the ceiling c; a straight line very near to it, and beyond it.

    >>> bent(0.5, 0.0), round(bent(0.5, 1.0), 4), round(bent(1.0, 2.0), 4), round(bent(1.0, 1.0), 1)
    (0.5, 0.6931, 1.3863, 21.8)
    """
    if not ceiling > 0.0:
        return score
    left = 1.0 - score / ceiling
    if left > NEAREST:
        return -ceiling * math.log1p(-score / ceiling)
    if left > 0.0:
        return ceiling * (FURTHEST + 1.0 - left / NEAREST)
    return ceiling * (FURTHEST + 1.0) + (score - ceiling)


def straight(radius, ceiling):
    """Undo ``bent``.

    >>> [round(straight(bent(s, 2.0), 2.0), 12) for s in (0.0, 0.3, 1.999, 2.0 - 1e-9, 2.0, 7.0)]
    [0.0, 0.3, 1.999, 1.999999999, 2.0, 7.0]
    """
    if not ceiling > 0.0:
        return radius
    share = radius / ceiling
    if share < FURTHEST:
        return -ceiling * math.expm1(-share)
    if share < FURTHEST + 1.0:
        return ceiling * (1.0 - NEAREST * (FURTHEST + 1.0 - share))
    return ceiling + (radius - ceiling * (FURTHEST + 1.0))
