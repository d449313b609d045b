"""Backtests: forecasts of several steps ahead, made at cutoffs in the past, as ``cross_validation`` gives them.

A forecast is made at its cutoff and may rest on labels up to the cutoff, not later. Let the times of a series be 1, 2,
and so on: a row is about time n and was made when m times had passed (those up to the cutoff), so it looks n - m steps
ahead. Rows that look equally far ahead have a panel of their own, in which the label of a row is known to the rows that
are made at its time or later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.errors import InputError, InputTypeError
from wane.panel.arrays import Played
from wane.panel.batch import stretches
from wane.panel.panel import Panel

CUTOFF = "cutoff"  # the usual name of the column


@dataclass(frozen=True, eq=False)
class Backtest:
    """When each forecast was made, what it is about, and how far ahead that is.

    Args:
        series: a number for the series of each row, from 0.
        made: the number of its cutoff among all times of all series.
        about: the number of its time among them.
        passed: how many times of its series had passed at the cutoff.
        steps: how many steps ahead it looks, in times of its series.
    """

    series: np.ndarray
    made: np.ndarray
    about: np.ndarray
    passed: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, series: np.ndarray, times: np.ndarray, cutoffs: np.ndarray | None, named: tuple[str, str]) -> Backtest:
        """Look at the times and cutoffs of all rows; without cutoffs, every forecast is one step ahead.

        ``named`` are the columns of times and cutoffs, for errors.

        >>> times, cutoffs = np.array([2, 3, 3, 4]), np.array([1, 1, 2, 2])
        >>> found = Backtest.of(np.zeros(4, dtype=int), times, cutoffs, ("ds", "cutoff"))
        >>> found.passed, found.steps
        (array([0, 0, 1, 1]), array([1, 2, 1, 2]))
        """
        rows = len(times)
        both = times if cutoffs is None else np.concatenate(same_kind(times, cutoffs, named))
        unique, rank = np.unique(both, return_inverse=True)
        first = series * len(unique)
        target = first + rank[:rows]
        there = np.unique(target)  # the times of each series, one series after the other
        if cutoffs is None:
            passed = np.searchsorted(there, target) - np.searchsorted(there, first)
            return cls(series, rank - 1, rank, passed, np.ones_like(series))
        cutoff = first + rank[rows:]
        cuts = np.unique(cutoff)
        seen = np.searchsorted(there, cuts, side="right")
        tied = (seen[1:] == seen[:-1]) & (cuts[1:] // len(unique) == cuts[:-1] // len(unique))
        there = np.union1d(there, cuts[1:][tied])  # a time passed between two cutoffs, if rows about it were dropped
        before = np.searchsorted(there, first)
        about, passed = (np.searchsorted(there, key, side="right") - before for key in (target, cutoff))
        if not (passed < about).all():
            row = int(np.argmin(passed < about))
            problem = f"a forecast is about a time after its cutoff, got {both[row]} and {both[row + rows]}"
            raise InputError(problem, argument=named[1], row=row)
        return cls(series, rank[rows:], rank[:rows], passed, about - passed)

    def play(
        self, make: Callable[[], Panel], outputs: Any, labels: np.ndarray, delay: int = 0
    ) -> tuple[Played, dict[int, Panel]]:
        """Play the rows of each number of steps ahead by a panel of their own; nothing after its cutoff is known.

        Args:
            make: makes a panel.
            outputs: of the model, one for each row, or a tuple of two columns.
            labels: one for each row, NaN where there is none.
            delay: labels become known so many times later.

        Returns the results in the order of the rows, and the panels by steps.
        """
        panels: dict[int, Panel] = {}
        parts, places = [], []
        for steps in np.unique(self.steps).tolist():
            rows = np.flatnonzero(self.steps == steps)
            panel = panels[steps] = make()
            mine = tuple(column[rows] for column in outputs) if isinstance(outputs, tuple) else outputs[rows]
            parts.append(self._play(panel, rows, mine, labels[rows], steps, delay))
            places.append(rows)
        if not parts:
            return Played.empty(0, make()), panels
        names = ("radii", "lower", "upper", "covered")
        together = Played(*[np.concatenate([getattr(part, name) for part in parts]) for name in names])
        return together.unsorted(np.concatenate(places)), panels

    def _play(self, panel: Panel, rows: np.ndarray, outputs: Any, labels: np.ndarray, steps: int, delay: int) -> Played:
        """Play the rows that look so many steps ahead."""
        series, passed = self.series[rows], self.passed[rows]
        order = np.lexsort((passed, series))
        again = (np.diff(series[order]) == 0) & (np.diff(passed[order]) == 0)
        if again.any():
            a, b = sorted(rows[order[np.argmax(again) + np.array([0, 1])]].tolist())
            raise InputError(f"the series, time and cutoff are those of row {a}", row=b, cure="drop one")
        if panel.settings.pooled:
            present, starts = stretches(series[order])
            places = panel.index.places(present, add=True)
            when = (self.about[rows] + delay, self.made[rows])
            return panel._run_sorted(places, starts, outputs, labels, 0, order, *when)
        return spaced(panel, series, passed, order, steps + delay, outputs, labels)


def spaced(
    panel: Panel, series: np.ndarray, passed: np.ndarray, order: np.ndarray, ahead: int, outputs: Any, labels: Any
) -> Played:
    """Play rows whose labels are known ``ahead`` times later, as a panel wants it: a fixed number of rows later.

    Rows are as far apart as the times that had passed, divided by the greatest divisor that all distances in the series
    have in common: forecasts made at regular times leave no row empty. Empty rows have no label.
    """
    one, at = series[order], passed[order]
    present, starts = stretches(one)
    lengths = np.diff(starts)
    number = np.repeat(np.arange(len(present)), lengths)
    gaps = np.diff(at, prepend=0)
    gaps[starts[:-1]] = 0
    unit = np.maximum(np.gcd.reduceat(gaps, starts[:-1]), 1)
    place = np.cumsum(gaps // unit[number] + (gaps == 0)) - 1  # a series begins one row later
    sizes = np.diff(place[starts[:-1]], append=place[-1:] + 1)
    owner = np.repeat(np.arange(len(present)), sizes)
    # Fill empty rows with a forecast of the same series, which nobody sees.
    back = np.zeros(len(owner), dtype=np.intp)
    back[place] = np.arange(len(order))
    filled = order[np.maximum.accumulate(back)]
    known = np.full(len(owner), np.nan)
    known[place] = labels[order]
    laid = tuple(column[filled] for column in outputs) if isinstance(outputs, tuple) else outputs[filled]
    made = Played.empty(len(owner), panel)
    delays = -(-ahead // unit) - 1
    for delay in np.unique(delays).tolist():
        rows = np.flatnonzero(delays[owner] == delay)
        mine = tuple(column[rows] for column in laid) if isinstance(laid, tuple) else laid[rows]
        places = panel.index.places(present[owner[rows]], add=True)
        part = panel._run_at(places, mine, known[rows], delay)
        for name in ("radii", "lower", "upper", "covered"):
            getattr(made, name)[rows] = getattr(part, name)
    return made.take(place).unsorted(order)


def numbered(ids: Any) -> tuple[list[Any], np.ndarray]:
    """The different ids in the order of their first rows, and a number for the series of each row.

    >>> numbered(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    numbers: dict[Any, int] = {}
    rows = [numbers.setdefault(key, len(numbers)) for key in (ids.tolist() if isinstance(ids, np.ndarray) else ids)]
    return list(numbers), np.array(rows, dtype=np.int64)


def ahead(steps: int) -> str:
    """How far a forecast looks, in words.

    >>> ahead(1), ahead(7)
    ('1 step ahead', '7 steps ahead')
    """
    return f"{steps} step{'' if steps == 1 else 's'} ahead"


def same_kind(times: np.ndarray, cutoffs: np.ndarray, named: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Times and cutoffs, if they can be compared."""
    kinds = ["f" if array.dtype.kind in "iuf" else array.dtype.kind for array in (times, cutoffs)]
    if kinds[0] != kinds[1]:
        problem = f"{named[0]!r} and {named[1]!r} must be of one kind, got {times.dtype} and {cutoffs.dtype}"
        raise InputTypeError(problem, argument=named[1])
    return times, cutoffs
