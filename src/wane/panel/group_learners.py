# cython: boundscheck=False, wraparound=False
"""The learners of the groups of a panel, which all of its series share, and their loop over moments.

The radius of a row is that of its series, plus a unit times what is said about the row's groups. The unit is half of
that radius. Each group has a learner and a quick estimate (``wane.trackers.group_table``). They take all labels that
become known at one moment together, because their rows were predicted together and may all be wrong for the same
reason. Group 0 stands for no group. ``units`` has a row for each series: a ``SteadyScale`` a side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.trackers.group_table import learn_by, new_table, quick_by, said_by, skip_by, within
from wane.trackers.scale_models import SteadyScale

LIMIT = 2.0  # times the largest score of the series so far: the correction goes no further
TINY = 1e-150  # the unit while all scores are 0
HALF, LEAST = 0.5, 0.1  # the unit is half of the radius, and at least this share of the mean score of the series
INFINITY = float("inf")
UNIT = 4  # numbers of the SteadyScale of a side: scale, total, weight, record


class GroupLearners:
    """A learner for each group and each column of radii: row ``j * width + c`` of the table is group j in column c.

    Args:
        alphas: the share of misses of each column, narrow levels first; with two sides, those of the lower side first.
        sides: of the intervals.
        signed: whether radii may be negative.
        epsilon: how strong the correction is.

    >>> GroupLearners([0.2, 0.1], 1, False, 2.0).width
    2
    """

    def __init__(self, alphas: Any, sides: int, signed: bool, epsilon: float) -> None:
        """Begin with the group of all rows."""
        self.width = len(alphas)
        self.sides, self.levels = sides, len(alphas) // sides
        self.signed, self.epsilon = signed, epsilon
        self.alphas: Any = np.array(alphas, dtype=float).data
        self.table: Any = new_table(0).data
        self.won: Any = np.zeros(self.width).data  # by all groups together
        self.unit = SteadyScale()
        self.groups = self.many = 0
        self.grow(1)

    def grow(self, groups: int) -> None:
        """Make room for so many groups."""
        if groups > self.groups:
            table = new_table(groups * self.width)
            table[: self.groups * self.width] = self.table
            self.table, self.groups = table.data, groups
            # What the labels of one moment add up to.
            self.counts: Any = np.zeros(groups).data
            self.missed: Any = np.zeros(groups * self.width).data
            self.skipped: Any = np.zeros(groups * self.width).data
            self.touched: Any = np.zeros(groups, dtype=np.intp).data

    def play(self, places, members, below, above, base, floors, units, radii, starts, order, due):
        """Play moments: before each, learn what is known by then; after the last, what is known then.

        Args:
            places: the series of each row.
            members: the groups of each row, 0 for none.
            below, above: scores of the two sides, NaN where there is no label.
            base: radii that the series would play by themselves.
            floors: the smallest radius that makes a set, for each row.
            units: of the series.
            radii: filled in.
            starts: moment i has the rows ``starts[i]`` to ``starts[i + 1]``.
            order: rows in the order in which their labels are learned.
            due: before moment i, ``order[due[i]]`` to ``order[due[i + 1]]`` are learned.
        """
        last = starts.shape[0] - 1
        with cython.nogil:
            for i in range(last):
                self.learn(places, members, below, above, radii, units, order, due[i], due[i + 1])
                self.predict(places, members, base, floors, units, radii, starts[i], starts[i + 1])
            self.learn(places, members, below, above, radii, units, order, due[last], due[last + 1])
        return 0

    def learn(self, places, members, below, above, radii, units, order, first, last):
        """Learn the labels of the rows ``order[first]`` to ``order[last]`` together."""
        for k in range(first, last):
            t = order[k]
            if below[t] == below[t] and radii[t, 0] == radii[t, 0]:
                self._count(members, t)
                self._judge(members, t, places[t], below[t], above[t], radii, units)
        self._close_batch()
        for k in range(first, last):
            t = order[k]
            if below[t] == below[t]:
                self._take_score(places[t], 0, below[t], units)
                if self.sides == 2:
                    self._take_score(places[t], 1, above[t], units)
        return 0

    def predict(self, places, members, base, floors, units, radii, first, last):
        """Fill in the radii of the rows ``first`` to ``last``, which are one moment."""
        for t in range(first, last):
            self._play(members, t, places[t], base, floors[t], units, radii)
        return 0

    def _count(self, members, t):
        # A row of each of its groups.
        for i in range(members.shape[1]):
            if 0 < members[t, i] < self.groups:
                self._count_group(members[t, i])
        return 0

    def _count_group(self, j):
        if self.counts[j] == 0.0:
            self.touched[self.many] = j
            self.many = self.many + 1
        self.counts[j] = self.counts[j] + 1.0
        return 0

    def _judge(self, members, t, place, below, above, radii, units):
        # The misses of a row, for each of its groups and each column.
        for c in range(self.width):
            s = 1 if c >= self.levels else 0
            score = above if s == 1 else below
            miss = 0.0 if radii[t, c] > score else 1.0  # a tie is a miss
            # No radius within the limit would have covered a score beyond it.
            record = units[place, 4 * s + 3]
            skipped = 1.0 if miss == 1.0 and record > 0.0 and abs(score) >= LIMIT * record else 0.0
            for i in range(members.shape[1]):
                if 0 < members[t, i] < self.groups:
                    self._judge_group(members[t, i] * self.width + c, miss, skipped)
        return 0

    def _judge_group(self, row, miss, skipped):
        self.skipped[row] = self.skipped[row] + skipped
        self.missed[row] = self.missed[row] + miss - skipped
        return 0

    def _close_batch(self):
        # Let every group learn what its labels add up to.
        for k in range(self.many):
            j = self.touched[k]
            for c in range(self.width):
                self._close_group(j * self.width + c, c, self.counts[j])
            self.counts[j] = 0.0
        self.many = 0
        return 0

    def _close_group(self, row, c, labels):
        while self.skipped[row] > 0.0:
            skip_by(self.table, row)
            self.skipped[row] = self.skipped[row] - 1.0
            labels = labels - 1.0
        if labels > 0.0:
            won = learn_by(self.table, row, self.alphas[c], self.epsilon, labels, self.missed[row])
            self.won[c] = self.won[c] + won
        self.missed[row] = 0.0
        return 0

    def _take_score(self, place, side, score, units):
        # The unit of a series learns a score.
        at = 4 * side
        self.unit.scale = units[place, at]
        self.unit.total = units[place, at + 1]
        self.unit.weight = units[place, at + 2]
        self.unit.record = units[place, at + 3]
        self.unit._learn(score)
        units[place, at] = self.unit.scale
        units[place, at + 1] = self.unit.total
        units[place, at + 2] = self.unit.weight
        units[place, at + 3] = self.unit.record
        return 0

    def _play(self, members, t, place, base, floor, units, radii):
        # The radii of a row: levels never cross, and neither do the two ends.
        for c in range(self.width):
            s = 1 if c >= self.levels else 0
            radii[t, c] = self._own(members, t, c, base[t, c], units[place, 4 * s], units[place, 4 * s + 3])
        lowest = floor
        other = -INFINITY
        if self.sides == 2:
            lowest = -INFINITY
            below, above = radii[t, 0], radii[t, self.levels]
            if below + above < 0.0:  # play the point in the middle
                lowest = 0.5 * (below - above)
                other = -lowest
        for c in range(self.width):
            if c == self.levels:
                lowest = other
            if radii[t, c] < lowest:
                radii[t, c] = lowest
            lowest = radii[t, c] if radii[t, c] == radii[t, c] else lowest
        return 0

    def _own(self, members, t, c, base, scale, record):
        # What a column plays by itself.
        if not -INFINITY < base < INFINITY:
            return base
        x = y = 0.0
        for i in range(members.shape[1]):
            if 0 < members[t, i] < self.groups:
                row = members[t, i] * self.width + c
                x = x + said_by(self.table, row, self.alphas[c], self.epsilon)
                y = y + quick_by(self.table, row)
        radius = base + max(HALF * abs(base), LEAST * scale, TINY) * (x + within(y))
        if record > 0.0:
            radius = max(min(radius, max(base, LIMIT * record)), min(base, -LIMIT * record))
        return radius if self.signed or radius > 0.0 else 0.0
