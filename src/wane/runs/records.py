"""What the rows of a run add up to, and the rows themselves if a report is to be made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.conformal.rounds import add_in_order
from wane.covered import contains
from wane.metrics.verdict import EARLY, Judged
from wane.runs.groups import GroupCounts
from wane.tables.chunks import Rows


@dataclass(frozen=True, eq=False)
class Track:
    """One series with its intervals; ``lower`` and ``upper`` have a column for each level."""

    id: Any
    time: np.ndarray | None
    y: np.ndarray
    y_hat: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    groups: np.ndarray  # the name of the group of each row, a column for each kind


class Record:
    """Counts of the rows of a run, and the rows themselves if they are to be kept.

    Finished intervals are judged, so a true value at the very end of one is inside (``wane.covered``).

    Attributes:
        labels: how many rows have a true value and an interval.
        hits: by level, in how many of them the value is inside.
        widths: by level, the sum of the finite widths.
        finite, infinite: by level, how many intervals are finite and how many are not.
        cold: how many rows have no interval.
        judged: by level, what the verdict on the coverage rests on.
    """

    def __init__(self, alphas: Sequence[float], keep: bool = False) -> None:
        """Begin without rows."""
        levels = len(alphas)
        self.keep = keep
        self.cold = 0
        self.judged = [Judged(alpha) for alpha in alphas]
        self.groups = GroupCounts(alphas)
        self.ages = np.zeros(0, dtype=np.int64)  # by place, the labels that were judged so far
        self.labels, self.hits = 0, np.zeros(levels, dtype=np.int64)
        self.widths = np.zeros((1, levels))
        self.finite, self.infinite = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
        self.parts: list[tuple[Any, ...]] = []

    def add(self, rows: Rows, score: Any, places: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Count some rows with their intervals, by this score; ``places`` are those of their series in the panel."""
        self._count(rows.y[:, None], np.maximum(upper - lower, 0.0), contains(lower, upper, rows.y[:, None]))
        if not self.keep:
            return
        # A chart has one forecast: the first of a forecast and its scale, the middle of two quantiles.
        forecast = rows.y_hat[0]
        if len(rows.y_hat) == 2 and score.sides == 1 and score.signed:
            forecast = 0.5 * (rows.y_hat[0] + rows.y_hat[1])
        time = rows.times if rows.times is not None else np.zeros(0)
        groups = np.empty((len(rows.y), len(rows.groups or {})), dtype=object)
        for i, names in enumerate((rows.groups or {}).values()):
            groups[:, i] = names
        self.parts.append((places, time, rows.y, forecast, lower, upper, groups))

    def _count(self, y: np.ndarray, width: np.ndarray, inside: np.ndarray) -> None:
        """Count true values, misses and widths."""
        self.labels += int(np.count_nonzero(~np.isnan(y + width[:, :1])))
        self.cold += int(np.count_nonzero(np.isnan(width[:, 0])))
        self.hits += np.count_nonzero(inside, axis=0)
        every_row, finite = np.array([0, len(width)], dtype=np.intp), np.where(np.isfinite(width), width, 0.0)
        for i, column in enumerate(np.ascontiguousarray(finite.T)):  # row by row: chunks of any size give the same sum
            add_in_order(self.widths.data, i, np.zeros(1, dtype=np.intp).data, every_row.data, column.data)
        self.finite += np.count_nonzero(np.isfinite(width), axis=0)
        self.infinite += np.count_nonzero(np.isinf(width), axis=0)

    def judge(self, rows: Rows, places: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Let the verdict rest on these rows too, which are in the order in which they were played."""
        known = ~np.isnan(rows.y + np.maximum(upper[:, 0] - lower[:, 0], 0.0))
        self._judge(rows, places, known, contains(lower, upper, rows.y[:, None]))

    def _judge(self, rows: Rows, places: np.ndarray, there: np.ndarray, inside: np.ndarray) -> None:
        """Let the verdict rest on the rows that are there."""
        known = np.flatnonzero(there)
        if not len(known):
            return
        place = places[known]
        # How many labels of its series came before each, to know the beginnings of series.
        more = int(place.max()) + 1 - len(self.ages)
        self.ages = np.concatenate([self.ages, np.zeros(max(more, 0), dtype=np.int64)])
        ages = self.ages[place] + occurrences(place)
        np.add.at(self.ages, place, 1)
        # Labels of one moment are judged together, if the rows are in the order of time.
        times = None if rows.times is None else rows.times[known]
        last = self.judged[0].last
        if times is not None and ((times[1:] < times[:-1]).any() or (last is not None and times[0] < last)):
            times = None
        for i, judged in enumerate(self.judged):
            judged.add(inside[known, i], times, ages < EARLY)

    def tracks(self, ids: list[Any]) -> list[Any]:
        """Each series in the order of its times, or of the table if it has none; ``ids`` are those of the panel."""
        if not self.parts:
            return []
        place, time, *columns = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        order = np.argsort(place, kind="stable") if not len(time) else np.lexsort((time, place))
        cuts = np.flatnonzero(np.diff(place[order])) + 1
        return [
            self._track(ids[place[rows[0]]], time[rows] if len(time) else None, *(c[rows] for c in columns))
            for rows in np.split(order, cuts)
        ]

    def _track(self, *parts: Any) -> Any:
        """One series."""
        return Track(*parts)


@dataclass(frozen=True, eq=False)
class LabelTrack:
    """One series of a classifier: its labels as numbers of the classes, NaN where unknown, and its sets.

    ``sets`` has the shape (rows, levels, classes); a row that is ``cold`` has no set.
    """

    id: Any
    time: np.ndarray | None
    label: np.ndarray
    sets: np.ndarray
    cold: np.ndarray


class LabelRecord(Record):
    """The same of the rows of a classifier: a width is the number of labels in a set."""

    def add(self, rows: Rows, score: Any, places: np.ndarray, sets: np.ndarray, cold: np.ndarray) -> None:
        """Count some rows with their sets; ``cold`` says which have none."""
        size = np.where(cold[:, None], np.nan, sets.sum(axis=2))
        self._count(rows.y[:, None], size, self._inside(rows.y, sets) & ~cold[:, None])
        if self.keep:
            time = rows.times if rows.times is not None else np.zeros(0)
            self.parts.append((places, time, rows.y, sets, cold))

    def judge(self, rows: Rows, places: np.ndarray, sets: np.ndarray, cold: np.ndarray) -> None:
        """Let the verdict rest on these rows too."""
        self._judge(rows, places, ~np.isnan(rows.y) & ~cold, self._inside(rows.y, sets))

    def _inside(self, y: np.ndarray, sets: np.ndarray) -> np.ndarray:
        """(rows, levels), whether each label is in its set."""
        label = np.nan_to_num(y).astype(np.intp)
        return sets[np.arange(len(y)), :, label] & ~np.isnan(y)[:, None]

    def _track(self, *parts: Any) -> Any:
        return LabelTrack(*parts)


def occurrences(values: np.ndarray) -> np.ndarray:
    """How many earlier rows have the same value.

    >>> occurrences(np.array([7, 3, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) != 0]))[: len(values)]
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))
    return found
