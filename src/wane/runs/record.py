"""The rows of a run: counted, and kept as series if there is to be a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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


class Record:
    """Counts of the rows of a run, and the rows themselves if they are to be kept.

    A true value at the very end of an interval counts as inside.

    Attributes:
        labels: how many rows have a true value and an interval.
        hits: by level, in how many of them the value is inside.
        widths: by level, the sum of the finite widths.
        finite, infinite: by level, how many intervals are finite and how many are not.
    """

    def __init__(self, levels: int, keep: bool = False) -> None:
        """Begin without rows."""
        self.keep = keep
        self.labels, self.hits = 0, np.zeros(levels, dtype=np.int64)
        self.widths = np.zeros(levels)
        self.finite, self.infinite = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
        self.parts: list[tuple[Any, ...]] = []

    def add(self, rows: Rows, places: np.ndarray, lower: np.ndarray, upper: np.ndarray, score: Any) -> None:
        """Count some rows with their intervals; ``places`` are those of their series in the panel."""
        y, width = rows.y[:, None], np.maximum(upper - lower, 0.0)
        self.labels += int(np.count_nonzero(~np.isnan(y + width[:, :1])))
        self.hits += np.count_nonzero((lower <= y) & (y <= upper), axis=0)  # false for NaN
        self.widths += np.where(np.isfinite(width), width, 0.0).sum(axis=0)
        self.finite += np.count_nonzero(np.isfinite(width), axis=0)
        self.infinite += np.count_nonzero(np.isinf(width), axis=0)
        if not self.keep:
            return
        # A chart has one forecast: the first of a forecast and its scale, the middle of two quantiles.
        forecast = rows.y_hat[0]
        if len(rows.y_hat) == 2 and score.sides == 1 and score.signed:
            forecast = 0.5 * (rows.y_hat[0] + rows.y_hat[1])
        time = rows.times if rows.times is not None else np.zeros(0)
        self.parts.append((places, time, rows.y, forecast, lower, upper))

    def tracks(self, ids: list[Any]) -> list[Track]:
        """Each series in the order of its times, or of the table if it has none; ``ids`` are those of the panel."""
        if not self.parts:
            return []
        place, time, *columns = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        order = np.argsort(place, kind="stable") if not len(time) else np.lexsort((time, place))
        cuts = np.flatnonzero(np.diff(place[order])) + 1
        return [
            Track(ids[place[rows[0]]], time[rows] if len(time) else None, *(c[rows] for c in columns))
            for rows in np.split(order, cuts)
        ]
