"""A table that is read as a whole, to be judged: the scores of its series."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wane.scores import make
from wane.tables import cells
from wane.tables.chunk import MOST
from wane.tables.columns import Columns, chosen
from wane.tables.files import reading
from wane.tables.run import Options
from wane.tables.session import shown


@dataclass(frozen=True, eq=False)
class Series:
    """The scores of one series, in the order of its times; rows without a label are left out."""

    id: Any
    scores: np.ndarray


class Whole(NamedTuple):
    """A table that was read: which columns are used, its series, whether its rows are in time, the names of all."""

    columns: Columns
    series: list[Series]
    ordered: bool
    names: list[str]

    @property
    def prefix(self) -> str:
        """What tells new columns from those that are there."""
        tried = itertools.chain(["", "wane_"], (f"wane{n}_" for n in itertools.count(2)))
        return next(prefix for prefix in tried if not {f"{prefix}lower", f"{prefix}upper"} & {*self.names})


def series(
    path: str,
    options: Options,
    kind: str | None = None,
    told: Callable[[str], Any] = lambda text: None,
) -> Whole:
    """Every series of a table as scores, in the order of their first rows; times need not be in order."""
    score = options.score or "absolute"
    if score not in ("absolute", "normalised"):
        raise ValueError(f"methods are compared on scores that are not negative: absolute or normalised, got {score}")
    with reading(path, kind) as reader:
        o = options
        columns = chosen(reader.names, score, o.y, o.y_hat, o.id, o.time, o.no_id, o.no_time)
        told(f"using {columns.said()}")
        parts = []
        while (chunk := reader.read(MOST)) is not None:
            parts.append(cells.parsed(chunk, columns))
    if not parts:
        raise ValueError(f"{path} has no rows")
    rows = cells.joined(parts)
    scorer = make(score)
    found = np.asarray(scorer.score(scorer.outputs(rows.outputs()), rows.y), dtype=float)
    names: dict[Any, int] = {}
    ids = rows.ids.tolist() if isinstance(rows.ids, np.ndarray) else rows.ids
    place = np.array([names.setdefault(key, len(names)) for key in ids], dtype=np.intp)
    order = np.argsort(place, kind="stable") if rows.times is None else np.lexsort((rows.times, place))
    refuse_twice(rows, place, order, columns)
    ordered = bool((np.diff(order)[np.diff(place[order]) == 0] > 0).all())
    order = order[~np.isnan(found[order])]
    cuts = np.searchsorted(place[order], np.arange(len(names) + 1))
    every = [Series(key, found[order[cuts[k] : cuts[k + 1]]]) for key, k in names.items()]
    return Whole(columns, every, ordered, reader.names)


def refuse_twice(rows: cells.Rows, place: np.ndarray, order: np.ndarray, columns: Columns) -> None:
    """An error where a series has a time twice: most often the rows are of several series."""
    if rows.times is None:
        return
    time, one = rows.times[order], place[order]
    twice = np.flatnonzero((time[1:] == time[:-1]) & (one[1:] == one[:-1])) + 1
    if len(twice):
        at = int(order[twice].min())
        several = "" if columns.id is not None else "if a column names several series, give it as --id; "
        raise ValueError(
            f"{rows.where(at)}: the time {shown(rows.times[at])} in {columns.time!r} comes twice in the same series: "
            f"{several}drop one row, or give --no-time"
        )
