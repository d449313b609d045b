"""The scores of every series of a table, on which methods are compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from wane.errors import InputError, Setting
from wane.panel.frames import COLD
from wane.runs.events import SETS
from wane.runs.forecasts import Forecaster, as_floats
from wane.runs.glance import dates_not_used
from wane.runs.options import Options, refuse_both
from wane.runs.records import occurrences
from wane.runs.run import refuse_gaps, unforecast
from wane.runs.session import shown
from wane.scores import make, uniforms
from wane.tables.chunks import Rows, every_row, grouped
from wane.tables.columns import LABEL_SCORES, Columns
from wane.tables.files import kind_of, reading


@dataclass(frozen=True, eq=False)
class Series:
    """The scores of one series, in the order of its times; rows without a true value are left out."""

    id: Any
    scores: np.ndarray
    rows: np.ndarray  # their numbers among all rows


class ScoredTable(NamedTuple):
    """A table that was read: the columns used, its series, whether its rows are in time, all names, and its rows."""

    columns: Columns
    series: list[Series]
    ordered: bool
    names: list[str]
    rows: Rows | None = None  # all rows, in the order of time
    scores: np.ndarray | None = None  # of them
    scorer: Any = None  # what made them

    @property
    def prefix(self) -> str:
        """What the names of new columns must begin with, so that none exists already."""
        tried = itertools.chain(["", "wane_"], (f"wane{n}_" for n in itertools.count(2)))
        new = ("set", "size", COLD) if self.columns.classes else ("lower", "upper", COLD)
        return next(prefix for prefix in tried if not {f"{prefix}{name}" for name in new} & {*self.names})

    def labelled(self, series: int) -> tuple[np.ndarray, list[str], np.ndarray]:
        """The probabilities, the labels and the scores of one series of a classifier."""
        one, rows = self.series[series], self.rows
        outputs = np.column_stack(rows.y_hat)[one.rows]  # type: ignore[union-attr]
        labels = [self.columns.classes[int(k)] for k in rows.y[one.rows]]  # type: ignore[union-attr]
        return outputs, labels, one.scores

    def lateness(self, delay: int) -> tuple[np.ndarray, np.ndarray] | None:
        """When each row is predicted and when its true value is known, in numbers; None if each is known at once.

        Rows have learned what was known before them: times, or with a delay the places of rows in their series.
        """
        rows = self.rows
        if rows is not None and rows.arrived is not None and rows.times is not None:
            return as_floats(rows.times), as_floats(rows.arrived)
        if rows is None or not delay:
            return None
        now = occurrences(grouped(rows.ids)[1]).astype(float)
        return now, now + delay


def series(
    path: str,
    options: Options,
    kind: str | None = None,
    told: Callable[[str], Any] = lambda text: None,
) -> ScoredTable:
    """Read every series of a table as scores, in the order of their first rows; the rows need not be in time.

    Rows without a forecast at the beginning of a series are left out.
    """
    o, kind = options, kind or kind_of(path)
    if o.score not in (None, "absolute", "normalised", *LABEL_SCORES):
        problem = f"methods are compared on scores that are not negative, got {o.score}"
        raise InputError(problem, argument="score", cure="take absolute or normalised")
    with reading(path, kind, o.notation()) as reader:
        columns = o.columns(reader.names, o.score, path, kind)
        refuse_both(columns, o)
        told(f"using {columns.said()}")
        if not o.no_time and (hint := dates_not_used(path, kind, columns, o.notation())):
            told(hint)
        rows = every_row(reader, columns, gaps=True)
        for remark in reader.remarks:
            told(remark)
    if not len(rows.y):
        raise InputError(f"{path} has no rows", argument="path")
    # Play nothing yet, but bring all rows into the order of time, make forecasts, and leave out rows without one.
    place = grouped(rows.ids)[1]
    in_time = np.argsort(occurrences(place) if rows.times is None else rows.times, kind="stable")
    ordered = bool(
        (np.diff(np.argsort(in_time)[np.argsort(place, kind="stable")])[np.diff(np.sort(place)) == 0] > 0).all()
    )
    if columns.cutoff is None:
        refuse_twice(rows, place, columns)
    rows = rows.ordered(in_time)
    if o.forecast is not None:
        rows = replace(rows, y_hat=(Forecaster(o.forecast, o.delay or 0)(rows),))
    gone = np.isnan(np.array(rows.y_hat)).any(axis=0)
    if gone.any():
        refuse_gaps(rows, gone, set(), columns)
        told(unforecast(int(gone.sum())) + ("is" if gone.sum() == 1 else "are") + " left out.")
        rows = rows.ordered(np.flatnonzero(~gone))
    scorer = SETS[o.score or "raps"](list(columns.classes)) if columns.classes else make(o.score or "absolute")
    found = scores_of(scorer, rows, columns)
    # Bring the rows of each series together, and leave out those without a score.
    ids, place = grouped(rows.ids)
    order = np.argsort(place, kind="stable")
    order = order[~np.isnan(found[order])]
    cuts = np.searchsorted(place[order], np.arange(len(ids) + 1))
    every = [
        Series(key, found[order[cuts[k] : cuts[k + 1]]], order[cuts[k] : cuts[k + 1]]) for k, key in enumerate(ids)
    ]
    return ScoredTable(columns, every, ordered, reader.names, rows, found, scorer)


def scores_of(scorer: Any, rows: Rows, columns: Columns) -> np.ndarray:
    """The score of each row, NaN where the true value is not known."""
    if not columns.classes:
        return np.asarray(scorer.score(scorer.outputs(rows.outputs), rows.y), dtype=float)
    outputs = scorer.outputs(np.column_stack(rows.y_hat))
    found = scorer.score(outputs, np.nan_to_num(rows.y).astype(np.int64), uniforms_of(scorer, len(rows.y)))
    return np.where(np.isnan(rows.y), np.nan, found)


def uniforms_of(scorer: Any, rows: int) -> np.ndarray | None:
    """The random numbers of a randomised score; None if it is none."""
    return uniforms(scorer.seed, 0, rows) if scorer.randomised else None


def refuse_twice(rows: Rows, place: np.ndarray, columns: Columns) -> None:
    """Raise an error if a series has the same time twice: most often the rows are of several series."""
    if rows.times is None:
        return
    order = np.lexsort((rows.times, place))
    time, one = rows.times[order], place[order]
    twice = np.flatnonzero((time[1:] == time[:-1]) & (one[1:] == one[:-1])) + 1
    if len(twice):
        at = int(order[twice].min())
        several = (
            () if columns.id is not None else ("if a column names several series, give it as ", Setting("id"), "; ")
        )
        raise InputError(
            f"the time {shown(rows.times[at])} in {columns.time!r} comes twice in the same series",
            argument="time",
            row=at,
            cure=(
                *several,
                "drop one row; if they are forecasts made at different times, say when with ",
                Setting("cutoff"),
            ),
            where=rows.where(at),
        )
