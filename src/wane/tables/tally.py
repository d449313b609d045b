"""The rows of a run, counted, and kept if there is to be a report: each series by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.tables.cells import Rows
from wane.tables.columns import Columns


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
    """Rows as they come; an outcome at the end of an interval is inside.

    ``labels`` counts the rows that have an outcome and intervals, ``hits`` those inside by level; ``widths`` adds up
    the finite ones, of which there are ``finite``, beside ``infinite`` others.
    """

    def __init__(self, columns: Columns, prefix: str, levels: int, keep: bool = False) -> None:
        """No rows."""
        self.columns, self.prefix, self.keep = columns, prefix, keep
        self.labels, self.hits = 0, np.zeros(levels, dtype=np.int64)
        self.widths = np.zeros(levels)
        self.finite, self.infinite = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
        self.parts: list[tuple[Any, ...]] = []
        self.ids: list[Any] = []

    def add(self, rows: Rows, new: dict[str, np.ndarray], panel: Any) -> None:
        """Some rows with their intervals."""
        ends = [np.column_stack([v for k, v in new.items() if k[len(self.prefix) :].startswith(side)]) for side in ("lower", "upper")]  # fmt: skip  # noqa: E501
        self._count(rows.y[:, None], *ends)
        if not self.keep:
            return
        forecast = rows.y_hat[0] if len(rows.y_hat) == 1 or panel.settings.score.sides == 2 else self._one(rows, panel)
        time = rows.times if rows.times is not None else np.zeros(0)
        self.parts.append((panel.index.places(rows.ids), time, rows.y, forecast, *ends))
        self.ids = panel.ids()

    def _count(self, y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        width = np.maximum(upper - lower, 0.0)
        self.labels += int(np.count_nonzero(~np.isnan(y + width[:, :1])))
        self.hits += np.count_nonzero((lower <= y) & (y <= upper), axis=0)  # false for NaN
        self.widths += np.where(np.isfinite(width), width, 0.0).sum(axis=0)
        self.finite += np.count_nonzero(np.isfinite(width), axis=0)
        self.infinite += np.count_nonzero(np.isinf(width), axis=0)

    def _one(self, rows: Rows, panel: Any) -> np.ndarray:
        """One forecast of two columns: the first of a forecast and a scale, the middle of two quantiles."""
        first, second = rows.y_hat
        return first if not panel.settings.score.signed else 0.5 * (first + second)

    def tracks(self) -> list[Track]:
        """Each series in the order of its times, or of the table where there are none."""
        if not self.parts:
            return []
        place, time, *columns = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        order = np.argsort(place, kind="stable") if not len(time) else np.lexsort((time, place))
        cuts = np.flatnonzero(np.diff(place[order])) + 1
        found = []
        for rows in np.split(order, cuts):
            when = time[rows] if len(time) else None
            found.append(Track(self.ids[place[rows[0]]], when, *(c[rows] for c in columns)))
        return found
