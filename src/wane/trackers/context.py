# cython: boundscheck=False, wraparound=False
"""What is known of a round before it is predicted, as a row of numbers; the one place that knows the columns.

They are the number of the round, the least radius that makes a set, the largest score that a label can have, the
output of the model (each is 0 where there is none), and then the numbers that the user gives beside it. A method that
hears of rounds takes them in ``_foresee``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FIXED = 4  # the columns before those of the user
INFINITY = float("inf")


def rows_for(rounds: int, context: int) -> np.ndarray:
    """Rows of which nothing is known, for so many numbers of the user's.

    >>> rows_for(2, 1).shape
    (2, 5)
    """
    return np.zeros((rounds, FIXED + context))


def fill(given, t, moment, floor, ceiling, output):
    """Write what is known of the round in row t.

    >>> given = rows_for(1, 0)
    >>> _ = fill(given.data, 0, 7.0, -float("inf"), 1.0, float("nan"))
    >>> given
    array([[7., 0., 1., 0.]])
    """
    given[t, 0] = moment
    given[t, 1] = floor if -INFINITY < floor < INFINITY else 0.0
    given[t, 2] = ceiling if -INFINITY < ceiling < INFINITY else 0.0
    given[t, 3] = output if -INFINITY < output < INFINITY else 0.0
    return 0


def rows_of(moments: Any, floors: Any, ceiling: float, outputs: Any, further: Any) -> np.ndarray:
    """What is known of many rounds, a row each; ``further`` has a column for each number of the user's.

    >>> rows_of(np.arange(2.0), np.array([0.0, -np.inf]), np.inf, np.array([5.0, np.nan]), np.zeros((2, 0)))
    array([[0., 0., 0., 5.],
           [1., 0., 0., 0.]])
    """
    given = rows_for(len(further), further.shape[1])
    columns = np.column_stack([moments, floors, np.full(len(further), ceiling), outputs])
    given[:, :FIXED] = np.where(np.isfinite(columns), columns, 0.0)
    given[:, FIXED:] = further
    return given


def put_further(given, t, i, value):
    """Write the i-th number of the user's."""
    given[t, FIXED + i] = value
    return 0


def moment(given, t):
    """The number of the round."""
    return given[t, 0]


def floor(given, t):
    """The least radius that makes a set; 0 where there is none."""
    return given[t, 1]


def ceiling(given, t):
    """The largest score that a label can have; 0 where there is none."""
    return given[t, 2]


def output(given, t):
    """The output of the model."""
    return given[t, 3]


def further(given, t, i):
    """The i-th number of the user's."""
    return given[t, FIXED + i]
