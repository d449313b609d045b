# cython: boundscheck=False, wraparound=False, cdivision=True
"""A learner and a quick estimate for each of many groups, as rows of one table: what they say, and what they learn.

The quick estimate of a group finds a quantile by steps that shrink with the labels so far. The sum of those of a row is
bounded (`REACH`), so that the theorem about the learners holds. It lets the learner rest, which needs an error in
coverage to hold a correction.

The learner of a group is the paper's rule, mirrored at 0. Where many rounds of a group are predicted at the same
moment, as in a panel, their gradients are learned together, as one. Its hint is the largest gradient so far, and a
larger one is cut to it, as in the paper. A round at a time has no larger gradient than the first hint,
max(alpha, 1 - alpha). ``wane.theory.group_bounds`` has the theorem.
"""

from __future__ import annotations

import math

import numpy as np

from wane.learners.rule import erfi_rule
from wane.theory.groups import group_certificate

LABELS, MISSES, SUM, SQUARES, SKIPPED, HINT, THETA, WEIGHT = range(8)
COLUMNS = 8
REACH = 3.0  # units: how far the quick estimates of a row may move it
SHARED = 0.3  # what labels of one moment are assumed to have in common: n of them count as n / (1 + 0.3 (n - 1))
START = 3.0  # misses: what the quick estimate of a group that has learned nothing is worth
LONGEST = 0.5  # units: the longest step of a quick estimate
STEP = 1.4  # of a quick estimate: 1 / (density times quantile) is near 1.4 / (alpha log(1 / alpha)) half radii


def new_table(groups: int) -> np.ndarray:
    """Make a table of groups that have learned nothing.

    Its columns are the labels, the misses, the sum of misses beyond alpha that the learner was fed, the sum of squares
    of what it was fed at each moment, the misses that it skipped, the hint, over that of one round, the quick estimate,
    and the labels that this rests on.
    """
    table = np.zeros((groups, COLUMNS))
    table[:, HINT] = 1.0
    return table


def said_by(table, j, alpha, epsilon):
    """What the learner of group j says.

    >>> table = new_table(1)
    >>> for _ in range(20):
    ...     _ = learn_by(table.data, 0, 0.1, 1.0, 1.0, 1.0)
    >>> said_by(table.data, 0, 0.1, 1.0) > 0.5
    True
    """
    h = max(alpha, 1.0 - alpha) * table[j, HINT]
    x = epsilon * erfi_rule(abs(table[j, SUM]) / h, table[j, SQUARES] / (h * h))
    return 0.0 if x <= 0.0 else x if table[j, SUM] > 0.0 else -x


def learn_by(table, j, alpha, epsilon, learned, misses):
    """Let group j learn so many labels of one moment, of which so many were missed; returns what it has won by it."""
    h = max(alpha, 1.0 - alpha)
    gradient = alpha * learned - misses
    cut = min(max(gradient, -h * table[j, HINT]), h * table[j, HINT])
    won = -cut * said_by(table, j, alpha, epsilon)
    table[j, LABELS] = table[j, LABELS] + learned
    table[j, MISSES] = table[j, MISSES] + misses
    table[j, SUM] = table[j, SUM] - cut
    table[j, SQUARES] = table[j, SQUARES] + cut * cut
    table[j, HINT] = max(table[j, HINT], abs(gradient) / h)
    estimate_by(table, j, alpha, learned, misses)
    return won


def estimate_by(table, j, alpha, learned, misses):
    """Move the quick estimate of group j towards its quantile."""
    count = learned / (1.0 + SHARED * (learned - 1.0))
    table[j, WEIGHT] = table[j, WEIGHT] + count
    rate = STEP / (alpha * math.log(1.0 / alpha))
    step = rate * (misses / learned - alpha) * count / (table[j, WEIGHT] + START / alpha)
    table[j, THETA] = within(table[j, THETA] + max(min(step, LONGEST), -LONGEST))
    return 0


def within(quick):
    """The sum of quick estimates, within the bound."""
    return max(min(quick, REACH), -REACH)


def quick_by(table, j):
    """The quick estimate of group j."""
    return table[j, THETA]


def skip_by(table, j):
    """Count a miss of group j that no radius within the limit could have avoided, and that teaches nothing."""
    table[j, LABELS] = table[j, LABELS] + 1.0
    table[j, MISSES] = table[j, MISSES] + 1.0
    table[j, SKIPPED] = table[j, SKIPPED] + 1.0
    return 0


def counts_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels and the misses of each group."""
    return table[:, LABELS], table[:, MISSES]


def bounds_of(table: np.ndarray, alpha: float, epsilon: float, won: float) -> np.ndarray:
    """What is proved of abs(misses - alpha * labels) of each group, from what all of them together have won."""
    found = group_certificate(alpha, table[:, SQUARES], max(0.0, won), epsilon, hints=table[:, HINT])
    return found + (1.0 - alpha) * table[:, SKIPPED]


def possible(table: np.ndarray) -> bool:
    """Whether labels can have left such a table."""
    counts = table[:, [LABELS, MISSES, SQUARES, SKIPPED, WEIGHT]]
    few = (table[:, MISSES] <= table[:, LABELS]) & (table[:, SKIPPED] <= table[:, MISSES])
    return bool(
        (counts >= 0.0).all() and few.all() and (table[:, HINT] >= 1.0).all() and (abs(table[:, THETA]) <= REACH).all()
    )
