"""Groups of the rows of a table: what ``--by`` means, and how well each group of a run is covered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.conformal import Quantiles
from wane.covered import contains
from wane.errors import InputError, Setting
from wane.metrics.groups import GroupMetrics
from wane.tables.calendar import CALENDAR
from wane.tables.columns import refuse_unknown


def kinds_of_groups(texts: Sequence[str], names: Sequence[str], time: str | None) -> list[str | Quantiles]:
    """What the user means by the names of groups: columns, columns cut into parts, or parts of the time.

    >>> kinds_of_groups(["shop,price:4"], ["shop", "price"], None)
    ['shop', Quantiles(column='price', parts=4)]
    """
    return [kind_of_group(part.strip(), names, time) for text in texts for part in text.split(",") if part.strip()]


def kind_of_group(text: str, names: Sequence[str], time: str | None) -> str | Quantiles:
    """What the user means by the name of a group."""
    name, _, parts = text.rpartition(":")
    if text not in names and name in names and parts.isdecimal():
        return Quantiles(name, int(parts))
    if text in names or (text in CALENDAR and time is not None):
        return text
    if text in CALENDAR:
        problem = f"there is no column {text!r}, and no column of times from which it could be told"
        raise InputError(problem, argument="by", cure=("give ", Setting("time")))
    refuse_unknown([text], names)
    return text


def named_groups(
    columns: Sequence[str], members: np.ndarray, at: np.ndarray, groups: Sequence[tuple[str, Any]], rows: int
) -> dict[str, list[Any]]:
    """The group of each row in words, by column; ``members`` are the numbers of the groups of the rows ``at``."""
    names = np.array(["none", *(str(value) for _, value in groups)], dtype=object)
    found = {}
    for i, column in enumerate(columns):
        values = np.full(rows, "none", dtype=object)
        values[at] = names[members[:, i]]
        found[column] = values.tolist()
    return found


def refuse_other_groups(session: Any, kinds: Sequence[Any], state: str | None) -> None:
    """Raise an error if the groups are others than those of the run that this one goes on from."""
    before = () if session.grouped is None else session.grouped.correction.grouping.columns
    if tuple(kinds) != before:
        had, now = (", ".join(map(str, columns)) or "no groups" for columns in (before, kinds))
        cure = ("give the same ", Setting("by"), ", or another ", Setting("state"))
        raise InputError(f"{state} was made with {had}, now there are {now}", argument="by", cure=cure)


class GroupCounts:
    """How many true values of each group of a run there are, and how many are inside, by level."""

    def __init__(self, alphas: Sequence[float]) -> None:
        """Begin without rows."""
        self.alphas = alphas
        self.labels, self.hits = np.zeros(0, dtype=np.int64), np.zeros((0, len(alphas)), dtype=np.int64)

    def add(self, members: np.ndarray, y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Count rows with their intervals; ``members`` has the groups of each, counted from 1, and 0 for none."""
        more = int(members.max(initial=0)) - len(self.labels)
        if more > 0:
            self.labels = np.concatenate([self.labels, np.zeros(more, dtype=np.int64)])
            self.hits = np.concatenate([self.hits, np.zeros((more, len(self.alphas)), dtype=np.int64)])
        known = ~np.isnan(y) & ~np.isnan(lower[:, 0])
        inside = contains(lower, upper, y[:, None])
        for column in members.T:
            rows = known & (column > 0)
            np.add.at(self.labels, column[rows] - 1, 1)
            np.add.at(self.hits, column[rows] - 1, inside[rows])

    def metrics(self, groups: Sequence[tuple[str, Any]]) -> tuple[list[GroupMetrics], ...]:
        """How well each group is covered, by level, those of one column together; ``groups`` are all, in order."""
        columns = list(dict.fromkeys(column for column, _ in groups))
        counted = [(*groups[j], int(n), self.hits[j]) for j, n in enumerate(self.labels.tolist()) if n]
        counted.sort(key=lambda group: columns.index(group[0]))
        return tuple(
            [GroupMetrics(column, value, alpha, n, n - int(hits[i])) for column, value, n, hits in counted]
            for i, alpha in enumerate(self.alphas)
        )
