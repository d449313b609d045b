# cython: boundscheck=False, wraparound=False
r"""Any radius predictor, corrected so that each of several groups, which may overlap, is covered as it should be.

The radius of the base, plus a scale times the sum of what an odd magnitude learner and a quick estimate for each group
of the round say. All are fed the same gradient, that of the pinball loss at the radius that was *played*. "Everything"
is a group too. ``wane.theory.group_bounds`` has the theorem, and ``group_certificate`` the bound that is given here:
from the wealth that all groups together have really won, so that it holds with late labels as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wane.checks import described, listed, positive, room, scalar
from wane.errors import InputError, InputTypeError
from wane.trackers.base import Tracker
from wane.trackers.calibrated import Given
from wane.trackers.context import further
from wane.trackers.group_table import (
    bounds_of,
    counts_of,
    learn_by,
    new_table,
    possible,
    quick_by,
    said_by,
    skip_by,
    within,
)
from wane.trackers.scale_models import SteadyScale

EPSILON = 2.0  # how strong the correction of each group is, in mean scores
LIMIT = 2.0  # times the largest score so far: the correction goes no further
TINY = 1e-150  # the scale while all scores are 0
EVERYTHING = "everything"  # the group of all rounds
MOST_KINDS = 1_000  # kinds of groups; a state cannot ask for the memory of more
NAN = float("nan")


class GroupCoverage(NamedTuple):
    """What is known of a group: its labels, how many were missed, the error misses - alpha * labels, and its bound."""

    labels: int
    misses: int
    coverage: float
    error: float
    bound: float


class Grouped(Tracker):
    r"""A base tracker, corrected to miss a share alpha of the rounds of every group.

    .. math::
        r_t = \max\Bigl(0,\; b_t + c_t \sum_{j \ni t} (x_{j,t} + y_{j,t})\Bigr), \qquad g_t = \alpha - 1[r_t \le s_t],

    where :math:`b_t` is the radius of the base, :math:`c_t` an average of the absolute scores (half-life 500, outliers
    cut), and :math:`x_j` what the odd learner of group j plays, which is fed :math:`g_t` in the rounds of its group.
    The quick estimate :math:`y_j` moves by :math:`-g_t` times 1.4 / (alpha log(1 / alpha)) / (n + 3 / alpha), n being
    the labels of the group; the sum of those of a round is at most 3. Everything has none.
    The correction never takes the radius beyond twice the largest score so far; the learners skip a miss that no radius
    within this limit could have avoided. The base learns from every score, as if its own radius had been played.

    ``OnlineConformal(..., groups=[...])`` makes one and tells it the groups of each round. By hand, say with
    ``set_groups`` to which groups a round belongs, before its ``predict``. A new name makes a new group, which begins
    with what the others say. With late labels call ``set_groups`` again before ``update``, and give the radius.

    Args:
        base: a Tracker (this one takes it over), or a number, which is a constant radius.
        alpha: the share of misses; None is that of the base. It must be given with a number.
        epsilon: how strong the correction of each group is, in units of the mean score.
        groups: names of groups that are known already.
        kinds: of how many groups each round is told by the numbers known of it, after those that the base hears; 0
            stands for no group, and j for the j-th of ``groups``.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tracker = Grouped(2.0, alpha=0.1)     # a constant radius, which covers neither of the groups as it should
    >>> for t in range(4000):
    ...     tracker.set_groups(["day" if t % 2 else "night", "a" if t % 3 else "b"])
    ...     tracker.update(abs(rng.normal()) * (3.0 if t % 2 else 0.5))
    >>> found = tracker.group_coverage()
    >>> list(found), all(abs(g.coverage - 0.9) < 0.02 for g in found.values())
    (['everything', 'night', 'b', 'day', 'a'], True)
    >>> all(abs(g.error) <= g.bound for g in found.values())
    True
    """

    parameters = ("base", "alpha", "epsilon", "groups", "kinds")
    memory = ("rounds", "unit", "table", "won", "changed")

    def __init__(
        self, base: Any, alpha: float | None = None, epsilon: float = EPSILON, groups: Any = (), kinds: int = 0
    ) -> None:
        """Take over the base."""
        if not isinstance(base, Tracker):
            if alpha is None:
                raise InputTypeError(
                    f"must be a Tracker, or a number beside alpha=..., got {described(base)}", about="base"
                )
            base = Given(alpha, scalar("base", base))
        self.base = base
        self.heard = base.context  # how many numbers of a round are for the base
        self.epsilon = positive("epsilon", epsilon)
        self.groups = checked_names(groups)
        self.kinds = room("kinds", kinds, 0, MOST_KINDS)
        self.unit = SteadyScale()
        self.table: Any = new_table(1 + len(self.groups)).data  # a row for everything, then one for each group
        self.members: Any = np.zeros(self.kinds).data  # the groups of the current round; 0 is none
        self.won = 0.0  # by all groups together, in units of the scale
        self.rounds = 0
        self.changed = 0.0  # 1 once alpha has changed
        super().__init__(base.alpha if alpha is None else alpha, base.domain, base.on_missing)

    def limits(self) -> dict[str, tuple[float, float]]:
        """What has happened is 1."""
        return super().limits() | {"changed": (0.0, 1.0)}

    def misfit(self) -> str | None:
        """Labels can have left the table."""
        return None if possible(np.asarray(self.table)) else "table"

    def level_changed(self, miss: float) -> None:
        """The base has the same level; what was won at another level proves nothing about this one."""
        if self.rounds > 0 and miss != self.miss:
            self.changed = 1.0
        self.miss = miss
        self.base.alpha = miss

    @property
    def context(self) -> Any:
        """The numbers that the base hears, and the groups of the round."""
        return self.heard + self.kinds

    @property
    def cold(self) -> bool:
        """Whether the base is."""
        return self.base.cold

    @property
    def atomic(self) -> Any:
        """Whether the base is: its own learners cannot fail."""
        return self.base.atomic

    def set_groups(self, names: Iterable[str]) -> None:
        """Say to which groups the next round belongs; "everything" is always among them."""
        if self.kinds:
            raise InputError("the groups of a round come with its prediction", argument="names", cure="give kinds=0")
        wanted = checked_names(names)
        self.add_groups(name for name in wanted if name not in self.groups)
        self.members = np.array([1.0 + self.groups.index(name) for name in wanted]).data

    def add_groups(self, names: Iterable[str]) -> None:
        """Make new groups, which have learned nothing."""
        names = tuple(names)
        if names:
            table = new_table(1 + len(self.groups) + len(names))
            table[: 1 + len(self.groups)] = self.table
            self.table, self.groups = table.data, (*self.groups, *names)

    def drop_groups(self, count: int) -> None:
        """Undo ``add_groups``: keep the first groups only, so many."""
        self.groups = self.groups[:count]
        self.table = np.array(self.table)[: 1 + count].copy().data

    def group_coverage(self) -> dict[str, GroupCoverage]:
        """What each group has seen so far, by name; "everything" comes first.

        The bound holds whatever the scores were and however late the labels came, for an alpha that does not change; it
        is infinite after a change.
        """
        table = np.array(self.table)
        labels, misses = counts_of(table)
        bounds = np.full(len(table), float("inf"))
        if not self.changed:
            bounds = bounds_of(table, self.miss, self.epsilon, self.won)
        found = {}
        for name, n, m, bound in zip((EVERYTHING, *self.groups), labels.tolist(), misses.tolist(), bounds, strict=True):
            found[name] = GroupCoverage(int(n), int(m), 1.0 - m / n if n else NAN, m - self.miss * n, float(bound))
        return found

    def coverage_sum(self) -> float:
        """The sum of miss - alpha over all rounds, by the radii that were played."""
        labels, misses = counts_of(np.asarray(self.table))
        return float(misses[0] - self.miss * labels[0])

    def coverage_bound(self) -> float:
        """A bound on ``abs(coverage_sum())``: that of the group of all rounds."""
        if self.changed:
            raise InputError("the bound is for one alpha, and this tracker's has changed")
        return self.group_coverage()[EVERYTHING].bound

    def _foresee(self, given, t):
        self._hear(given, t)
        return self.base._foresee(given, t)

    def _hear(self, given, t):
        # The groups of the round come after what the base hears.
        for i in range(self.kinds):
            self.members[i] = further(given, t, self.heard + i)
        return 0

    def _note(self, cells):
        if self.kinds > 0:
            cells.vector(self.members)
        self.base._note(cells)
        if not cells.reading:
            self._forget_round()
        return 0

    def _forget_round(self):
        # Nothing is known of the next round, unless the user has set its groups by hand.
        for i in range(self.kinds):
            self.members[i] = 0.0
        return 0

    def _said(self):
        # What the learners of the groups of this round say together. A group that has learned nothing says 0.
        total, quick = said_by(self.table, 0, self.miss, self.epsilon), 0.0
        for i in range(self.members.shape[0]):
            if 1.0 <= self.members[i] < self.table.shape[0]:
                j = int(self.members[i])
                total = total + said_by(self.table, j, self.miss, self.epsilon)
                quick = quick + quick_by(self.table, j)
        return total + within(quick)

    def _predict(self) -> float:
        record = self.unit.record
        base = self.base._predict()
        if math.isinf(base) and record > 0.0:
            base = LIMIT * record if base > 0.0 else -LIMIT * record
        radius = base + (self.unit.scale if self.unit.scale > 0.0 else TINY) * self._said()
        if record > 0.0:
            radius = max(min(radius, max(base, LIMIT * record)), min(base, -LIMIT * record))
        return radius if self.signed or radius > 0.0 else 0.0

    def _ready(self, score: float) -> None:
        self.base._ready(score)

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if radius != radius else radius
        miss = 0.0 if played > score else 1.0  # a tie is a miss
        # No radius within the limit would have covered a score beyond it.
        skipped = 1.0 if miss == 1.0 and score != 0.0 and abs(score) >= LIMIT * self.unit.record else 0.0
        self.base._ingest(score, NAN, discount)  # the base may refuse the score, so it comes first
        self._learn_groups(miss, skipped)
        self.unit._learn(score)
        self._forget_round()

    def _learn_groups(self, miss, skipped):
        self._learn_group(0, miss, skipped)
        for i in range(self.members.shape[0]):
            if 1.0 <= self.members[i] < self.table.shape[0]:
                self._learn_group(int(self.members[i]), miss, skipped)
        return 0

    def _learn_group(self, j, miss, skipped):
        if skipped > 0.0:
            skip_by(self.table, j)
        else:
            self.won = self.won + learn_by(self.table, j, self.miss, self.epsilon, 1.0, miss)
        return 0


def checked_names(names: Any) -> tuple[str, ...]:
    """Names of groups, each once, or an error.

    >>> checked_names(["sunday", "north", "sunday"])
    ('sunday', 'north')
    """
    if isinstance(names, str):
        raise InputTypeError(f"must be several names, got the text {names!r}", about="groups", cure=f"give [{names!r}]")
    given = listed("groups", names)
    for name in given:
        if not isinstance(name, str) or name == EVERYTHING:
            problem = f"must be names of your own, got {described(name)}"
            raise InputError(problem, about="groups", cure=f"give text; {EVERYTHING!r} is always a group")
    return tuple(dict.fromkeys(given))
