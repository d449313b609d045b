"""Simple forecasts for a table that has none: each is made from values that were known before its row, no others."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.state.encoding import decode_value, encode_value
from wane.tables.chunks import Rows

FORECAST = "forecast"  # the column that is written
RULES = re.compile(r"last|drift|season:([1-9]\d{0,5})")


class Past:
    """The values of one series so far.

    Attributes:
        rows: how many there were.
        waiting: values that are not known yet: when they will be, the number of their row, and the value. When is the
            number of the row from which on it is known, or the time after which it is.
        first, last: the number of a row and its value, of the known values; None if there is none.
        seasons: the last known value by its place in the season, and the number of its row.
    """

    def __init__(self) -> None:
        """Begin without values."""
        self.rows = 0
        self.waiting: list[tuple[float, int, float]] = []
        self.first: tuple[int, float] | None = None
        self.last: tuple[int, float] | None = None
        self.seasons: dict[int, tuple[int, float]] = {}

    def learn(self, row: int, value: float, period: int) -> None:
        """Take in a value that has become known."""
        if self.first is None or row < self.first[0]:
            self.first = (row, value)
        if self.last is None or row > self.last[0]:
            self.last = (row, value)
        place = row % period
        if place not in self.seasons or row > self.seasons[place][0]:
            self.seasons[place] = (row, value)


class Forecaster:
    """Forecasts one row ahead, for each series by itself.

    Args:
        rule: "last", the last known value; "season:7", the last known value of the same place in a season of 7 rows;
            "drift", the last known value plus the mean step so far for each row since.
        delay: a value is known so many rows later, as for ``wane run --delay``.

    >>> rows = Rows(["a"] * 4, None, np.array([1.0, 2.0, 3.0, np.nan]), (), str)
    >>> Forecaster("drift", 0)(rows), Forecaster("last", 1)(rows)
    (array([nan, nan,  3.,  4.]), array([nan, nan,  1.,  2.]))
    """

    def __init__(self, rule: str, delay: int = 0) -> None:
        """Check the rule."""
        found = RULES.fullmatch(rule)
        if found is None:
            problem = f"must be last, drift, or season: and the length of a season in rows, got {rule!r}"
            raise InputError(problem, about="forecast", cure="write season:7 for days with a weekly pattern")
        self.rule, self.delay = rule, delay
        self.period = int(found[1]) if found[1] else 1
        self.past: dict[Hashable, Past] = {}

    def __call__(self, rows: Rows) -> np.ndarray:
        """Forecast some rows, in the order in which they are played; NaN as long as nothing is known."""
        made = np.full(len(rows.y), math.nan)
        keys = rows.ids.tolist() if isinstance(rows.ids, np.ndarray) else rows.ids
        times = arrived = None
        if rows.arrived is not None and rows.times is not None:
            times, arrived = (as_floats(column).tolist() for column in (rows.times, rows.arrived))
        for i, (key, y) in enumerate(zip(keys, rows.y.tolist(), strict=True)):
            past = self.past.setdefault(key, Past())
            now = past.rows if times is None else times[i]
            made[i] = self._forecast(past, now)
            if y == y:
                when = past.rows + self.delay if arrived is None else arrived[i]
                past.waiting.append((when, past.rows, y))
            past.rows += 1
        return made

    def _forecast(self, past: Past, now: float) -> float:
        """Take in what is known by now, and forecast the next row of a series."""
        if past.waiting:
            for _, row, value in [one for one in past.waiting if one[0] < now]:
                past.learn(row, value, self.period)
            past.waiting = [one for one in past.waiting if one[0] >= now]
        if past.last is None or past.first is None:
            return math.nan
        if self.rule == "drift":
            steps = past.last[0] - past.first[0]
            if not steps:
                return math.nan
            return past.last[1] + (past.last[1] - past.first[1]) / steps * (past.rows - past.last[0])
        found = past.seasons.get(past.rows % self.period)
        return math.nan if found is None else found[1]

    def state_dict(self) -> dict[str, Any]:
        """The state as plain data."""
        series = [
            [encode_value(key), p.rows, p.waiting, p.first, p.last, list(p.seasons.items())]
            for key, p in self.past.items()
        ]
        return {"rule": self.rule, "delay": self.delay, "series": series}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Forecaster:
        """The forecaster whose state this is."""
        made = cls(state["rule"], int(state["delay"]))
        for key, rows, waiting, first, last, seasons in state["series"]:
            past = made.past[decode_value(key)] = Past()
            past.rows, past.waiting = int(rows), [(float(w), int(r), float(v)) for w, r, v in waiting]
            past.first, past.last = (None if one is None else (int(one[0]), float(one[1])) for one in (first, last))
            past.seasons = {int(place): (int(row), float(value)) for place, (row, value) in seasons}
        return made


def as_floats(times: np.ndarray) -> np.ndarray:
    """Times as numbers that can be compared; NaN where there is none."""
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64).astype(np.float64))
