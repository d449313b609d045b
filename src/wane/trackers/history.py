# cython: boundscheck=False, wraparound=False
"""The past scores of a tracker, all or the last ones, and their quantiles by the rules of the field."""

from __future__ import annotations

import numpy as np

from wane.checks import room
from wane.order_statistics import OrderStatistics
from wane.state.stateful import Stateful

INFINITY = float("inf")
SLACK = 1e-13  # a product that is relatively closer to a whole number is that number: 100 * 0.55 is 55


class History(Stateful):
    """The past scores, sorted: all of them, or the last ``window``.

    >>> past = History(2)
    >>> for x in [3.0, 1.0, 2.0]:
    ...     _ = past.push(x)
    >>> past.bag.values
    array([1., 2.])
    """

    parameters = ("window",)
    memory = ("bag", "ring", "place")
    extents = ("window",)

    def __init__(self, window: int | None = None) -> None:
        """Nothing seen."""
        self.window = None if window is None else room("window", window, 1)
        self.length = self.window or 0  # 0: no window
        self.bag = OrderStatistics()
        self.ring = np.zeros(self.length).data
        self.place = 0  # in the ring, of the next score
        if self.length > 0:
            self.bag.keep_room(self.length)

    def limits(self) -> dict[str, tuple[float, float]]:
        """The place is in the ring."""
        return {"place": (0, max(self.length - 1, 0))}

    def misfit(self) -> str | None:
        """The ring holds the sorted scores as they came; while it is not full, it is filled from the start."""
        n = self.bag.n
        if self.length == 0:
            return None
        if n < self.length and self.place != n:
            return "place"
        return None if np.array_equal(np.sort(np.asarray(self.ring)[:n]), self.bag.values) else "ring"

    def _fields(self, cells):
        self.bag._fields(cells)
        self.place = min(max(cells.whole(self.place), 0), max(self.length - 1, 0))  # within the ring
        cells.vector(self.ring)

    def push(self, x):
        """A new score; with a window, the oldest leaves when it is full."""
        if self.length > 0:
            if self.bag.n == self.length:
                self.bag.remove(self.ring[self.place])
            self.ring[self.place] = x
            self.place = self.place + 1 if self.place + 1 < self.length else 0
        self.bag.insert(x)
        return 0


def ceiling(x):
    """The least whole number that is not less than x, for x >= 0.

    >>> ceiling(2.0), ceiling(2.1)
    (2, 3)
    """
    k = int(x)
    return k + 1 if k < x else k


def inverted_cdf(bag, q):
    """The smallest score with a share q of the scores at or below it; q is clipped to [0, 1]. Needs a score.

    This is numpy's ``inverted_cdf``, to the bit: the rank is n q - 1, rounded up.

    >>> past = History()
    >>> _ = [past.push(x) for x in [1.0, 2.0, 3.0, 4.0]]
    >>> inverted_cdf(past.bag, 0.5), inverted_cdf(past.bag, 0.51)
    (2.0, 3.0)
    """
    q = min(max(q, 0.0), 1.0)
    return bag.select(ceiling(max(bag.n * q - 1.0, 0.0)))


def higher(bag, q):
    """The score of rank (n - 1) q from 0, rounded up, as numpy's ``higher``; q is clipped to [0, 1]. Needs a score.

    >>> past = History()
    >>> _ = [past.push(x) for x in [1.0, 2.0, 3.0, 4.0]]
    >>> higher(past.bag, 0.5)
    3.0
    """
    q = min(max(q, 0.0), 1.0)
    return bag.select(ceiling((bag.n - 1) * q))


def finite_sample(bag, q):
    """The score of rank (n + 1) q from 1, rounded up, and infinite where there are fewer scores than that.

    An exchangeable new score is at or below it with probability at least q.

    >>> past = History()
    >>> _ = [past.push(x) for x in [1.0, 2.0, 3.0, 4.0]]
    >>> finite_sample(past.bag, 0.8), finite_sample(past.bag, 0.81)
    (4.0, inf)
    """
    rank = (bag.n + 1) * q
    k = ceiling(rank - SLACK * rank)
    return INFINITY if k > bag.n else bag.select(max(k - 1, 0))
