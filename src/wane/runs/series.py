"""The scores of every series of a table, on which methods are compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wane.errors import InputError, Setting
from wane.runs.run import Options
from wane.runs.session import occurrences, shown
from wane.scores import make
from wane.tables.chunks import Rows, every_row, grouped
from wane.tables.columns import Columns, chosen
from wane.tables.files import reading


@dataclass(frozen=True, eq=False)
class Series:
    """The scores of one series, in the order of its times; rows without a true value are left out."""

    id: Any
    scores: np.ndarray


class ScoredTable(NamedTuple):
    """A table that was read: the columns used, its series, whether its rows are in time, all names, and its rows."""

    columns: Columns
    series: list[Series]
    ordered: bool
    names: list[str]
    rows: Rows | None = None  # all rows, in the order of time
    scores: np.ndarray | None = None  # of them

    @property
    def prefix(self) -> str:
        """What the names of new columns must begin with, so that none exists already."""
        tried = itertools.chain(["", "wane_"], (f"wane{n}_" for n in itertools.count(2)))
        return next(prefix for prefix in tried if not {f"{prefix}lower", f"{prefix}upper"} & {*self.names})


def series(
    path: str,
    options: Options,
    kind: str | None = None,
    told: Callable[[str], Any] = lambda text: None,
) -> ScoredTable:
    """Read every series of a table as scores, in the order of their first rows; the rows need not be in time."""
    score = options.score or "absolute"
    if score not in ("absolute", "normalised"):
        problem = f"methods are compared on scores that are not negative, got {score}"
        raise InputError(problem, argument="score", cure="take absolute or normalised")
    with reading(path, kind) as reader:
        o = options
        columns = chosen(reader.names, score, o.y, o.y_hat, o.id, o.time, o.no_id, o.no_time, o.cutoff)
        told(f"using {columns.said()}")
        rows = every_row(reader, columns)
    if not len(rows.y):
        raise InputError(f"{path} has no rows", argument="path")
    scorer = make(score)
    found = np.asarray(scorer.score(scorer.outputs(rows.outputs), rows.y), dtype=float)
    # Bring the rows of each series together, in the order of time, and leave out those without a score.
    ids, place = grouped(rows.ids)
    order = np.argsort(place, kind="stable") if rows.times is None else np.lexsort((rows.times, place))
    if columns.cutoff is None:
        refuse_twice(rows, place, order, columns)
    ordered = bool((np.diff(order)[np.diff(place[order]) == 0] > 0).all())
    order = order[~np.isnan(found[order])]
    cuts = np.searchsorted(place[order], np.arange(len(ids) + 1))
    every = [Series(key, found[order[cuts[k] : cuts[k + 1]]]) for k, key in enumerate(ids)]
    when = occurrences(place) if rows.times is None else rows.times
    in_time = np.argsort(when, kind="stable")
    return ScoredTable(columns, every, ordered, reader.names, rows.ordered(in_time), found[in_time])


def refuse_twice(rows: Rows, place: np.ndarray, order: np.ndarray, columns: Columns) -> None:
    """Raise an error if a series has the same time twice: most often the rows are of several series."""
    if rows.times is None:
        return
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
