"""Coverage by group: how many labels of each group were covered, and how far from the target chance may lead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.checks import described, listed, mapping, real_array, share
from wane.errors import InputError, InputTypeError
from wane.metrics.base import hits
from wane.state.encoding import checked_key

ERRORS = 3.0  # standard errors that chance allows
LEAST = 100  # labels, below which a group is not called the worst


@dataclass(frozen=True)
class GroupMetrics:
    """How well one group is covered.

    Args:
        column: what kind of group it is, such as "weekday".
        value: which one.
        alpha: the level.
        labels: how many labels it has.
        misses: how many of them were missed.
        bound: what is proved about ``error``; None where nothing is.
    """

    column: str
    value: Any
    alpha: float
    labels: int
    misses: int
    bound: float | None = None

    @property
    def coverage(self) -> float:
        """The share of labels that were covered; NaN without labels."""
        return 1.0 - self.misses / self.labels if self.labels else math.nan

    @property
    def error(self) -> float:
        """The misses beyond those that alpha allows."""
        return self.misses - self.alpha * self.labels

    @property
    def chance(self) -> float:
        """How far from the target chance may lead: three standard errors of so many independent labels."""
        return ERRORS * math.sqrt(self.alpha * (1.0 - self.alpha) / self.labels) if self.labels else math.nan

    @property
    def name(self) -> str:
        """The group in words.

        >>> GroupMetrics("weekday", 6, 0.1, 50, 5).name
        'weekday 6'
        """
        return f"{self.column} {self.value}"

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        value = self.value if isinstance(self.value, (bool, int, float, str)) else str(self.value)
        named = {"column": self.column, "value": value, "alpha": self.alpha, "labels": self.labels}
        return {**named, "misses": self.misses, "coverage": self.coverage, "chance": self.chance}

    def said(self) -> str:
        """One line about the group.

        >>> GroupMetrics("weekday", 6, 0.1, 400, 60).said()
        'weekday 6: 85.0 % of 400 inside, 5.0 points off; chance explains 4.5'
        """
        off = 100 * abs(self.coverage - (1.0 - self.alpha))
        said = f"{self.name}: {100 * self.coverage:.1f} % of {self.labels:,} inside, {off:.1f} points off"
        return f"{said}; chance explains {100 * self.chance:.1f}"


def group_coverage(covered: Any, groups: Mapping[str, Sequence[Any]], alpha: float) -> list[GroupMetrics]:
    """Count by group how many rounds were covered. Groups may overlap.

    Args:
        covered: for each round whether it was covered; NaN where there is no label.
        groups: by the name of each kind of group, the group of each round; None for no group.
        alpha: the share of rounds that may be missed.

    >>> found = group_coverage([1, 1, 0, 1], {"day": ["mo", "tu", "mo", "tu"], "shop": [1, 1, 2, 2]}, alpha=0.5)
    >>> [(group.name, group.coverage) for group in found]
    [('day mo', 0.5), ('day tu', 1.0), ('shop 1', 1.0), ('shop 2', 0.5)]
    """
    level, inside = share("alpha", alpha), real_array("covered", covered)
    if inside.ndim != 1:
        raise InputError(f"must have shape (rounds,), got {inside.shape}", about="covered")
    known = ~np.isnan(inside)
    inside = hits(np.where(known, inside, 0.0))
    found = []
    for column, given in mapping("groups", groups).items():
        values = [None if value is None else checked_key(value) for value in listed("groups", given)]
        if len(values) != len(inside):
            problem = f"must have one value of {column} for each of the {len(inside)} rounds, got {len(values)}"
            raise InputError(problem, about="groups")
        rows: dict[Any, list[int]] = {}
        for t in np.flatnonzero(known).tolist():
            if values[t] is not None:
                rows.setdefault(values[t], []).append(t)
        for value, its in rows.items():
            misses = len(its) - int(np.count_nonzero(inside[its]))
            found.append(GroupMetrics(column, value, level, len(its), misses))
    return found


def worst_group(groups: Iterable[GroupMetrics]) -> GroupMetrics | None:
    """Return the group whose coverage is farthest from the target, among those with 100 labels; None if there is none.

    >>> worst_group([GroupMetrics("day", d, 0.1, 200, misses) for d, misses in enumerate([20, 31, 14])]).value
    1
    """
    every = listed("groups", groups)
    for row, group in enumerate(every):
        if not isinstance(group, GroupMetrics):
            raise InputTypeError(f"must be a GroupMetrics, got {described(group)}", about="groups", row=row)
    judged = [group for group in every if group.labels >= LEAST]
    return max(judged, key=lambda group: abs(group.error) / group.labels, default=None)
