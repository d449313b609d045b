r"""Any radius predictor, corrected so that each of several groups, which may overlap, is covered as it should be.

The radius of the base, plus a scale times the sum of what an odd magnitude learner for each group of the round says.
All learners are fed the same gradient, that of the pinball loss at the radius that was *played*. "Everything" is a
group too. ``wane.theory.group_bounds`` has the theorem, and ``group_certificate`` the bound that is given here: from
the wealth that all groups together have really won, so that it holds with late labels as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wane.checks import described, positive, scalar
from wane.errors import InputError, InputTypeError
from wane.learners.rule import erfi_rule
from wane.theory.groups import group_certificate
from wane.trackers.base import Tracker
from wane.trackers.calibrated import Given
from wane.trackers.scale_models import SteadyScale

LIMIT = 2.0  # times the largest score so far: the correction goes no further
TINY = 1e-150  # the scale while all scores are 0
EVERYTHING = "everything"  # the group of all rounds
LABELS, MISSES, SUM, SQUARES, SKIPPED = range(5)  # the columns of the table of groups


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
        r_t = \max\Bigl(0,\; b_t + c_t \sum_{j \ni t} x_{j,t}\Bigr), \qquad g_t = \alpha - 1[r_t \le s_t],

    where :math:`b_t` is the radius of the base, :math:`c_t` an average of the absolute scores (half-life 500, outliers
    cut), and :math:`x_j` what the odd learner of group j plays, which is fed :math:`g_t` in the rounds of its group.
    The correction never takes the radius beyond twice the largest score so far; the learners skip a miss that no radius
    within this limit could have avoided. The base learns from every score, as if its own radius had been played.

    Say with ``set_groups`` to which groups a round belongs, before its ``predict``. A new name makes a new group, which
    begins with what the others say. With late labels call ``set_groups`` again before ``update``, and give the radius.

    Args:
        base: a Tracker (this one takes it over), or a number, which is a constant radius.
        alpha: the share of misses; None is that of the base. It must be given with a number.
        epsilon: how strong the correction of each group is, in units of the mean score.
        groups: names of groups that are known already.

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

    parameters = ("base", "alpha", "epsilon", "groups")
    memory = ("rounds", "unit", "table", "inside", "won", "changed")

    def __init__(self, base: Any, alpha: float | None = None, epsilon: float = 2.0, groups: Any = ()) -> None:
        """Take over the base."""
        if not isinstance(base, Tracker):
            if alpha is None:
                raise InputTypeError(
                    f"must be a Tracker, or a number beside alpha=..., got {described(base)}", about="base"
                )
            base = Given(alpha, scalar("base", base))
        self.base = base
        self.epsilon = positive("epsilon", epsilon)
        self.groups = checked_names(groups)
        self.unit = SteadyScale()
        self.table = np.zeros((1 + len(self.groups), 5))  # a row for everything, then one for each group
        self.inside = np.zeros(1 + len(self.groups))  # 1 for the groups of the current round
        self.inside[0] = 1.0
        self.won = 0.0  # by all groups together, in units of the scale
        self.changed = 0.0  # 1 once alpha has changed
        super().__init__(base.alpha if alpha is None else alpha, base.domain, base.on_missing)

    def limits(self) -> dict[str, tuple[float, float]]:
        """A round belongs to a group or not, and what has happened is 1."""
        return super().limits() | {"inside": (0.0, 1.0), "changed": (0.0, 1.0)}

    def misfit(self) -> str | None:
        """Counts and squares are not negative, no more labels are missed than there are, and 0 is everything."""
        counts = self.table[:, [LABELS, MISSES, SQUARES, SKIPPED]]
        if (counts < 0.0).any() or (self.table[:, MISSES] > self.table[:, LABELS]).any():
            return "table"
        return "inside" if self.inside[0] != 1.0 else None

    def level_changed(self, miss: float) -> None:
        """The base has the same level; what was won at another level proves nothing about this one."""
        if self.table[0, LABELS] > 0.0 and miss != self.miss:
            self.changed = 1.0
        self.miss = miss
        self.base.alpha = miss

    @property
    def cold(self) -> bool:
        """Whether the base is."""
        return self.base.cold

    def set_groups(self, names: Iterable[str]) -> None:
        """Say to which groups the next round belongs; "everything" is always among them."""
        wanted = checked_names(names)
        new = tuple(name for name in wanted if name not in self.groups)
        if new:
            self.groups = (*self.groups, *new)
            self.table = np.concatenate([self.table, np.zeros((len(new), 5))])
        self.inside = np.array([1.0, *(float(name in wanted) for name in self.groups)])

    def group_coverage(self) -> dict[str, GroupCoverage]:
        """What each group has seen so far, by name; "everything" comes first.

        The bound holds whatever the scores were and however late the labels came, for an alpha that does not change; it
        is infinite after a change.
        """
        table = self.table
        errors = table[:, MISSES] - self.miss * table[:, LABELS]
        if self.changed:
            bounds = np.full(len(table), math.inf)
        else:
            bounds = group_certificate(self.miss, table[:, SQUARES], max(0.0, self.won), self.epsilon)
            bounds = bounds + (1.0 - self.miss) * table[:, SKIPPED]
        found = {}
        for j, name in enumerate((EVERYTHING, *self.groups)):
            labels, misses = int(table[j, LABELS]), int(table[j, MISSES])
            covered = 1.0 - misses / labels if labels else math.nan
            found[name] = GroupCoverage(labels, misses, covered, float(errors[j]), float(bounds[j]))
        return found

    def coverage_sum(self) -> float:
        """The sum of miss - alpha over all rounds, by the radii that were played."""
        return float(self.table[0, MISSES] - self.miss * self.table[0, LABELS])

    def coverage_bound(self) -> float:
        """A bound on ``abs(coverage_sum())``: that of the group of all rounds."""
        if self.changed:
            raise InputError("the bound is for one alpha, and this tracker's has changed")
        return self.group_coverage()[EVERYTHING].bound

    def _said(self) -> float:
        """What the learners of the groups of this round say together."""
        h = max(self.miss, 1.0 - self.miss)
        total = 0.0
        for j in np.flatnonzero(self.inside):
            s, v = self.table[j, SUM], self.table[j, SQUARES]
            x = self.epsilon * erfi_rule(abs(s) / h, v / (h * h))
            total += math.copysign(max(0.0, x), s)
        return total

    def _predict(self) -> float:
        record = self.unit.record
        base = self.base.predict()
        if math.isinf(base) and record > 0.0:
            base = math.copysign(LIMIT * record, base)
        radius = base + (self.unit.scale if self.unit.scale > 0.0 else TINY) * self._said()
        if record > 0.0:
            radius = max(min(radius, max(base, LIMIT * record)), min(base, -LIMIT * record))
        return radius if self.signed or radius > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        played = self._predict() if math.isnan(radius) else radius
        said, inside = self._said(), self.inside > 0.0
        # The base may refuse the score, so it comes first.
        self.base.update(score, None, None if math.isnan(discount) else discount)
        miss = float(played <= score)
        table = self.table.copy()
        table[inside, LABELS] += 1.0
        table[inside, MISSES] += miss
        if miss and score != 0.0 and abs(score) >= LIMIT * self.unit.record:
            table[inside, SKIPPED] += 1.0  # no radius within the limit would have covered it
        else:
            gradient = self.miss - miss
            self.won -= gradient * said
            table[inside, SUM] -= gradient
            table[inside, SQUARES] += gradient * gradient
        self.table = table
        self.unit.learn(score)


def checked_names(names: Any) -> tuple[str, ...]:
    """Names of groups, each once, or an error.

    >>> checked_names(["sunday", "north", "sunday"])
    ('sunday', 'north')
    """
    if isinstance(names, str):
        raise InputTypeError(f"must be several names, got the text {names!r}", about="groups", cure=f"give [{names!r}]")
    found = tuple(dict.fromkeys(names))
    for name in found:
        if not isinstance(name, str) or name == EVERYTHING:
            problem = f"must be names of your own, got {described(name)}"
            raise InputError(problem, about="groups", cure=f"give text; {EVERYTHING!r} is always a group")
    return found
