"""Groups of an ``OnlineConformal``: what its trackers hear of them, and how well each is covered.

The trackers are ``Grouped``. ``Grouping`` gives each group a number, which a tracker hears with the round and keeps in
the note of the prediction, so that a late label teaches the groups of its own round.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import described
from wane.conformal.foresight import checked_context, checked_contexts
from wane.conformal.grouping import label
from wane.errors import InputError
from wane.metrics.groups import GroupMetrics
from wane.trackers import Grouped, Tracker

if TYPE_CHECKING:
    from wane.conformal.grouping import Grouping
    from wane.conformal.online import OnlineConformal

LISTS = (list, tuple, np.ndarray)
NAMED = "name them when you make it, as in OnlineConformal(..., groups=['weekday'])"


def with_groups(tracker: Tracker, kinds: int) -> Grouped:
    """Return the tracker, corrected in every group, with so many kinds of groups."""
    return tracker if isinstance(tracker, Grouped) and tracker.kinds == kinds else Grouped(tracker, kinds=kinds)


def kinds_of(grouping: Grouping | None, groups: Any) -> int:
    """Return how many kinds of groups there are; an error if groups are given and there are none."""
    if grouping is None and groups is not None:
        raise InputError("this object was made without groups", argument="groups", cure=NAMED)
    return 0 if grouping is None else len(grouping.names)


def further(oc: OnlineConformal, context: Any, groups: Any) -> tuple[float, ...]:
    """Return the numbers that trackers hear of a round beside the output: the user's, then the groups."""
    kinds = kinds_of(oc.grouping, groups)
    numbers = checked_context(context, oc._levels.context - kinds)
    return numbers + oc.grouping.find(groups) if kinds else numbers


def further_rows(oc: OnlineConformal, grouping: Any, context: Any, groups: Any, rounds: int) -> np.ndarray:
    """Return such numbers for many rounds, a row each; ``grouping`` learns the groups."""
    kinds = kinds_of(grouping, groups)
    numbers = checked_contexts(context, oc._levels.context - kinds, rounds)
    return np.hstack([numbers, grouping.take_rows(groups, rounds)]) if kinds else numbers


def without_groups(oc: OnlineConformal, context: Any, rounds: int) -> np.ndarray:
    """Return such numbers for rounds whose groups are not known."""
    kinds = kinds_of(oc.grouping, None)
    return np.hstack([checked_contexts(context, oc._levels.context - kinds, rounds), np.zeros((rounds, kinds))])


def by_step(groups: Any, steps: int) -> list[Any]:
    """Return the groups of each step ahead: a list or an array has a value for each, and anything else is for all.

    >>> by_step({"weekday": [5, 6], "region": "north"}, 2)
    [{'weekday': 5, 'region': 'north'}, {'weekday': 6, 'region': 'north'}]
    """
    if not isinstance(groups, Mapping):
        return [groups] * steps
    each = {name: value if isinstance(value, LISTS) else [value] * steps for name, value in groups.items()}
    for name, values in each.items():
        if len(values) != steps:
            problem = f"must have a value of {name} for each of the {steps} steps, got {len(values)}"
            raise InputError(problem, about="groups")
    return [{name: values[h] for name, values in each.items()} for h in range(steps)]


def rows_by_step(groups: Any, rows: int, steps: int) -> list[Any]:
    """Return the groups of each step ahead for many forecasts, an array for each kind."""
    if not isinstance(groups, Mapping):
        return [groups] * steps
    for name, values in groups.items():
        if not isinstance(values, LISTS) or len(values) != rows:
            problem = f"must have a value of {name} for each of the {rows} forecasts, got {described(values)}"
            raise InputError(problem, about="groups")
    each = [by_step({name: values[i] for name, values in groups.items()}, steps) for i in range(rows)]
    return [{name: [row[h][name] for row in each] for name in groups} for h in range(steps)]


def taking(oc: OnlineConformal, groups: Any) -> list[partial[Any]]:
    """Return what lets groups that are new exist from now on, with a learner in every tracker."""
    _, new, steps = oc.grouping.taking(oc.grouping.checked(groups))
    trackers: Any = oc._levels.trackers
    names = tuple(label(*group) for group in new)
    return [*steps, *(partial(tracker.add_groups, names) for tracker in trackers if names)]


def add(oc: OnlineConformal) -> None:
    """Let every tracker have a learner for each group."""
    trackers: Any = oc._levels.trackers
    for tracker in trackers:
        if len(tracker.groups) < len(oc.grouping.groups):
            tracker.add_groups(oc.grouping.labels()[len(tracker.groups) :])


def drop(oc: OnlineConformal) -> None:
    """Let no tracker have a learner for a group that there is not."""
    trackers: Any = oc._levels.trackers
    for tracker in trackers:
        tracker.drop_groups(len(oc.grouping.groups))


def metrics_of(oc: OnlineConformal, i: int) -> list[GroupMetrics]:
    """Return the metrics of each group for the i-th level. No label is missed on two sides."""
    if oc.grouping is None:
        raise InputError("this object was made without groups", argument="groups", cure=NAMED)
    grouping, trackers = oc.grouping, oc.trackers
    sides = [trackers[i + s * len(oc.alphas)].group_coverage() for s in range(oc.score.sides)]
    found = []
    for (column, value), name in zip(grouping.groups, grouping.labels(), strict=True):
        parts = [side[name] for side in sides]
        misses = min(sum(part.misses for part in parts), parts[0].labels)
        bound = sum(part.bound for part in parts)
        found.append(GroupMetrics(column, value, oc.alphas[i], parts[0].labels, misses, bound))
    return sorted(found, key=lambda group: grouping.names.index(group.column))
