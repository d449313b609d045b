"""Intervals in Nixtla's long format: for what StatsForecast, MLForecast and NeuralForecast give; none is imported.

A forecast is made at its cutoff and may rest on labels up to the cutoff, not later. Let the times of a series be 1, 2,
and so on: a row is about time n and was made when m times had passed (those up to the cutoff), so it looks n - m steps
ahead. All rows of a series that look equally far ahead form a stream, ordered by m, and the label of a row is known to
the rows of its stream that are made n - m or more times later.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.checks import described, scalar, whole
from wane.errors import InputError, InputTypeError
from wane.panel.batch import stretches
from wane.panel.frames import Arrays, Frame
from wane.panel.panel import Panel

__all__ = ["conformalize"]

BOUND = re.compile(r"-(lo|hi)-[\d.]+$")  # how the names of columns with the ends of intervals end
CUTOFF = "cutoff"


def conformalize(
    frame: Any,
    models: str | Iterable[str] | None = None,
    level: float | Iterable[float] = (80, 90),
    method: str = "magl",
    *,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
    cutoff_col: str | None = None,
    delay: int = 0,
    **settings: Any,
) -> Any:
    """The frame, with columns ``<model>-lo-90`` and ``<model>-hi-90`` for each model and level.

    Each interval rests on the labels of its series that were known when the forecast was made, and on those of the same
    number of steps ahead only. Rows without label get intervals too. Rows stay where they are.

    Args:
        frame: of pandas, Polars or PyArrow (with the extra ``frames``), or a dict of arrays.
        models: the columns of forecasts; None takes all that are not named below and are not ends of intervals.
        level: coverage in per cent, or several; the intervals of one model are nested.
        method: the name of a method (``wane.trackers.names()``).
        id_col: the column that names the series of a row.
        time_col: the column of the times that the forecasts are about.
        target_col: the column of labels, missing where they are not known.
        cutoff_col: the column of the last times that each forecast has seen, as ``cross_validation`` gives it; None
            takes ``cutoff`` if there is one. Without it every row is one step ahead.
        delay: labels become known so many times of their series later than the time they are about.
        settings: of ``wane.Panel``: ``score``, ``warm_up``, limits, ``threads``, hyperparameters of the method.

    >>> table = {"unique_id": np.repeat(["a", "b"], 100), "ds": np.tile(np.arange(100), 2), "AutoARIMA": np.zeros(200)}
    >>> table["y"] = np.where(table["ds"] < 99, (-1.0) ** table["ds"], np.nan)
    >>> result = conformalize(table, level=90)
    >>> list(result)[-2:], result["AutoARIMA-hi-90"][[0, 99, 199]].round(2)
    (['AutoARIMA-lo-90', 'AutoARIMA-hi-90'], array([0., 1., 1.]))
    """
    table = Arrays(frame) if isinstance(frame, Mapping) else Frame(frame)
    if cutoff_col is None and CUTOFF in table.columns:
        cutoff_col = CUTOFF
    named = [id_col, time_col, target_col] + ([] if cutoff_col is None else [cutoff_col])
    if models is None:
        models = [c for c in table.columns if c not in named and not BOUND.search(c)]
    models = [models] if isinstance(models, str) else list(models)
    if not models:
        problem = f"there is no column of forecasts beside {', '.join(named)}"
        raise InputError(problem, argument="models", cure="add one, or name it in models")
    table.need([*named, *models])
    alphas = alphas_of(level)
    names = {m: [*[f"{m}-lo-{k}" for k in reversed(alphas)], *[f"{m}-hi-{k}" for k in alphas]] for m in models}
    if taken := [name for m in models for name in names[m] if name in table.columns]:
        problem = f"the frame has the columns {', '.join(taken)} already"
        raise InputError(problem, argument="level", cure="drop them, or take other levels")
    labels = table.numbers(target_col)
    outputs = {m: forecasts(table, m) for m in models}
    plan = planned(*moments(table, id_col, time_col, cutoff_col), whole("delay", delay, 0))
    new: dict[str, np.ndarray] = {}
    for m in models:
        with warnings.catch_warnings():  # levels below 50 are meant
            warnings.filterwarnings("ignore", message="alpha = ")
            panel = Panel(method, tuple(alphas.values()), **settings)
        lower, upper = plan.run(panel, outputs[m], labels)
        ends = [*reversed(lower.T), *upper.T]
        new |= {name: np.ascontiguousarray(end) for name, end in zip(names[m], ends, strict=True)}
    return table.extended(new)


def alphas_of(level: Any) -> dict[str, float]:
    """The share of misses of each level, by its name in a column, the lowest level first.

    >>> alphas_of([99.5, 90])
    {'90': 0.1, '99.5': 0.005}
    """
    given = [level] if isinstance(level, str) or not isinstance(level, Iterable) else list(level)
    levels = sorted({scalar("level", x) for x in given})
    if not levels or not 0.0 < levels[0] <= levels[-1] < 100.0:
        problem = f"must be coverage in per cent, between 0 and 100, or several, got {described(level)}"
        raise InputError(problem, about="level")
    return {str(int(x) if x.is_integer() else x): round(1.0 - x / 100.0, 12) for x in levels}


def forecasts(table: Arrays | Frame, model: str) -> np.ndarray:
    """A column of forecasts, none of them missing."""
    values = table.numbers(model)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        problem = f"the column {model!r} must hold forecasts, got {values[row]}"
        raise InputError(problem, argument=model, row=row, cure="drop such rows")
    return values


def moments(
    table: Arrays | Frame, id_col: str, time_col: str, cutoff_col: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row a number for its series, how many times of the series had passed, and how many steps it looks ahead.

    >>> table = Arrays({"id": np.zeros(4), "ds": np.array([2, 3, 3, 4]), "cutoff": np.array([1, 1, 2, 2])})
    >>> moments(table, "id", "ds", "cutoff")
    (array([0, 0, 0, 0]), array([0, 0, 1, 1]), array([1, 2, 1, 2]))
    """
    numbers: dict[Any, int] = {}
    series = np.array([numbers.setdefault(k, len(numbers)) for k in table.array(id_col).tolist()], dtype=np.int64)
    times = table.array(time_col)
    both = times
    if cutoff_col is not None:
        both = np.concatenate(same_kind(times, time_col, table.array(cutoff_col), cutoff_col))
    unique, rank = np.unique(both, return_inverse=True)
    first = series * len(unique)
    target = first + rank[: len(times)]
    there = np.unique(target)  # the times of each series, one series after the other
    if cutoff_col is None:
        return series, np.searchsorted(there, target) - np.searchsorted(there, first), np.ones_like(series)
    cutoff = first + rank[len(times) :]
    cuts = np.unique(cutoff)
    seen = np.searchsorted(there, cuts, side="right")
    tied = (seen[1:] == seen[:-1]) & (cuts[1:] // len(unique) == cuts[:-1] // len(unique))
    there = np.union1d(there, cuts[1:][tied])  # a time passed between two cutoffs, if rows about it were dropped
    before = np.searchsorted(there, first)
    about, passed = (np.searchsorted(there, key, side="right") - before for key in (target, cutoff))
    if not (passed < about).all():
        row = int(np.argmin(passed < about))
        problem = f"a forecast is about a time after its cutoff, got {both[row]} and {both[row + len(times)]}"
        raise InputError(problem, argument=cutoff_col, row=row)
    return series, passed, about - passed


def same_kind(times: np.ndarray, time_col: str, cutoffs: np.ndarray, cutoff_col: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and cutoffs, if they can be compared."""
    kinds = ["f" if array.dtype.kind in "iuf" else array.dtype.kind for array in (times, cutoffs)]
    if kinds[0] != kinds[1]:
        problem = f"{time_col!r} and {cutoff_col!r} must be of one kind, got {times.dtype} and {cutoffs.dtype}"
        raise InputTypeError(problem, argument=cutoff_col)
    return times, cutoffs


@dataclass(frozen=True)
class Plan:
    """Rows laid out in streams: the stream of each place, the place of each row, and the delay of each stream."""

    streams: np.ndarray
    places: np.ndarray
    delays: np.ndarray

    def run(self, panel: Panel, outputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the intervals of each row, a column a level; places without a row have no label."""
        n = len(panel.settings.alphas)
        laid, known = np.zeros(len(self.streams)), np.full(len(self.streams), np.nan)
        laid[self.places], known[self.places] = outputs, labels
        lower, upper = np.empty((2, len(self.streams), n))
        late = self.delays[self.streams]
        for delay in np.unique(self.delays).tolist():
            at = np.flatnonzero(late == delay)
            made = panel.run(self.streams[at], laid[at], known[at], delay)
            lower[at], upper[at] = made.lower, made.upper
        return lower[self.places], upper[self.places]


def planned(series: np.ndarray, passed: np.ndarray, steps: np.ndarray, delay: int) -> Plan:
    """Streams in which the label of a row is known a fixed number of places later, as a panel wants it.

    Rows are as far apart as the times that had passed, divided by the greatest divisor that all distances in the stream
    have in common: forecasts made at regular times leave no place empty.
    """
    rows = len(series)
    stream = series * (int(steps.max(initial=0)) + 1) + steps
    order = np.lexsort((passed, stream))
    _, starts = stretches(stream[order])
    starts, lengths = starts[:-1], np.diff(starts)
    number = np.repeat(np.arange(len(starts)), lengths)
    gaps = np.diff(passed[order], prepend=0)
    gaps[starts] = 0
    again = gaps == 0
    again[starts] = False
    if again.any():
        a, b = sorted(order[np.argmax(again) + np.array([-1, 0])].tolist())
        raise InputError(f"the series, time and cutoff are those of row {a}", row=b, cure="drop one")
    unit = np.maximum(np.gcd.reduceat(gaps, starts), 1) if rows else gaps
    place = np.cumsum(gaps // unit[number] + (gaps == 0)) - 1 if rows else gaps  # a stream begins one place later
    ahead = steps[order][starts] + delay
    places = np.empty(rows, dtype=np.intp)
    places[order] = place
    sizes = np.diff(place[starts], append=place[-1:] + 1)
    return Plan(np.repeat(np.arange(len(starts)), sizes), places, -(-ahead // unit) - 1)
