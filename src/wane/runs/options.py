"""What the user of a run asked for, and which columns of a table that means."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wane.errors import InputError, Setting
from wane.tables.chunks import missing, numbers
from wane.tables.columns import Columns, chosen
from wane.tables.files import reading
from wane.tables.text import Notation

FIRST = 1_024  # rows that show which columns are probabilities
SUMS = 0.01  # how far from 1 the probabilities of a row may add up to


@dataclass(frozen=True)
class Options:
    """What the user asked for; what is None, or empty, is left to the state or to the defaults.

    Args:
        y, y_hat, id, time, no_id, no_time, cutoff, proba, arrived: the columns, as for ``chosen``.
        method: the name of a method; None is auto for one series, and pool for more.
        alpha: the shares of misses to allow; none is 0.1.
        score: the name of a score; None is absolute, and raps for a classifier.
        delay: after how many more rows of its series a true value is learned.
        warm_up: with how many true values each series begins, before it gets intervals.
        settings: further settings of the method and of the panel.
        duplicates: what to do about rows of a series with the same time: "error" or "keep".
        prefix: what the names of the new columns begin with.
        sort: whether to read the whole table first and play it in the order of its times.
        skip: how many rows to pass over at the beginning.
        again: whether to learn rows that the state has learned already.
        forecast: how to make forecasts, as for ``Forecaster``, if the table has none.
        by: columns of groups, which may overlap; "price:4" cuts a column of numbers into four groups.
        dates, decimal: how the table writes dates and numbers, as for ``Notation``.
    """

    y: str | None = None
    y_hat: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    no_id: bool = False
    no_time: bool = False
    cutoff: str | None = None
    method: str | None = None
    alpha: tuple[float, ...] = ()
    score: str | None = None
    delay: int | None = None
    warm_up: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    duplicates: str = "error"
    prefix: str = ""
    sort: bool = False
    skip: int = 0
    again: bool = False
    proba: tuple[str, ...] = ()
    arrived: str | None = None
    forecast: str | None = None
    dates: str | None = None
    decimal: str | None = None
    by: tuple[str, ...] = ()

    def columns(self, names: list[str], score: str | None, path: str, kind: str) -> Columns:
        """The columns of a table that has these."""
        return chosen(
            names, score, self.y, self.y_hat, self.id, self.time, self.no_id, self.no_time, self.cutoff, self.proba,
            self.arrived, self.forecast is not None, partial(called_as_labels, path, kind),
        )  # fmt: skip

    def notation(self) -> Notation:
        """How the table writes dates and numbers."""
        return Notation(self.decimal, self.dates)


def refuse_both(columns: Columns, options: Options) -> None:
    """Raise an error if true values come at times of their own, and also a number of rows later."""
    if columns.arrived is not None and options.delay:
        cure = ("give either ", Setting("arrived"), " or ", Setting("delay"))
        raise InputError(
            "a true value is known at its own time or a number of rows later, not both", argument="arrived", cure=cure
        )


def called_as_labels(path: str, kind: str, label: str) -> tuple[str, ...]:
    """The columns of probabilities that are called as the labels: those whose first rows add up to 1; else none."""
    if not os.path.isfile(path):
        return ()
    with reading(path, kind) as reader:
        chunk = reader.read(FIRST)
    if chunk is None or label not in chunk.names:
        return ()
    labels = {str(cell).strip() for cell in chunk.column(label) if not missing(cell)}
    if not labels or not labels <= {*chunk.names}:
        return ()
    found = {}
    for name in chunk.names:
        try:
            values = numbers(chunk, name)
        except InputError:
            continue
        if name != label and ((values >= 0.0) & (values <= 1.0)).all():
            found[name] = values
    sums = np.sum(list(found.values()), axis=0)
    return tuple(found) if labels <= {*found} and (np.abs(sums - 1.0) <= SUMS).all() else ()
