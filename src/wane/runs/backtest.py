"""A backtest on its way through a run: forecasts of several steps ahead, each made at its cutoff."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wane.errors import located
from wane.panel import Panel
from wane.panel.backtests import Backtest, ahead, numbered
from wane.runs.session import Session
from wane.tables.chunks import Rows
from wane.tables.columns import Columns


class BacktestSession(Session):
    """A session that plays all rows at once; every number of steps ahead has a panel of its own.

    What a report calls a series is a series with a number of steps ahead. ``panel`` holds their names and how many rows
    each has had, and learns nothing itself.
    """

    def __init__(self, make: Callable[[], Panel], columns: Columns, delay: int = 0) -> None:
        """Begin at the first row of a table."""
        super().__init__(make(), columns, delay)
        self.make = make
        self.whole = True

    def play(self, rows: Rows, duplicates: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play the rows of the whole table."""
        with located(lambda row: rows.where(row or 0)):
            ids, series = numbered(rows.ids)
            named = (str(self.columns.time), str(self.columns.cutoff))
            backtest = Backtest.of(series, rows.times, rows.cutoffs, named)  # type: ignore[arg-type]
            played, _ = backtest.play(self.make, rows.outputs, rows.y, self.delay)
        most = int(backtest.steps.max(initial=1)) + 1
        keys, place = numbered(series * most + backtest.steps)
        alone = self.columns.id is None
        names = [f"{'' if alone else f'{ids[k // most]}, '}{ahead(k % most)}" for k in keys]
        self.panel.index.places(names, add=True)
        self.panel._make_room()
        self.panel.seen[: len(keys)] = np.bincount(place, minlength=len(keys))
        self.rows += len(place)
        return place, played.lower, played.upper
