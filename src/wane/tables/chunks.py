"""Some rows of a table at a time: what a reader gives and a writer takes, and its cells as numbers, ids and times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from wane.checks import EXTREME, described
from wane.errors import Cure, InputError, Setting, located
from wane.tables.calendar import calendar
from wane.tables.columns import Columns
from wane.tables.text import MOMENT, Notation, no_moment, read_times

MOST = 65_536  # rows of a chunk, and of a row group that is written
MISSING = (  # what a cell without a value says, in small letters; the last ones are Excel's, in English and German
    *("", "n/a", "na", "nan", "nat", "none", "null"),
    *("#n/a", "#na", "#nv"),
)
LOCAL = re.compile(r"[-+]?\d[\d., '\u2019\u00a0\u202f]*")  # a number as people write it
NO_TIME: Cure = ("fill it, drop the row, or give ", Setting("no_time", True))
NO_CUTOFF = "fill it, or drop the row"
NO_DATE: Cure = ("write it in one of these ways, or give ", Setting("no_time", True), " if the rows are in order")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table, as its reader has them.

    Args:
        names: of the columns.
        rows: how many there are.
        column: gives the cells of a column to compute with: an array, or a list with None or empty text where a cell
            is missing.
        values: gives the cells of a column to write elsewhere: Python's values, from which nothing is lost.
        where: gives what an error calls row i, such as "sales.csv, line 7".
        kind: of the file: ".csv", ".jsonl", ".parquet".
        own: the rows as they stand in the file, from which the writer of the same kind takes them untouched.
        notation: how the table writes numbers and dates, which all its chunks share.
    """

    names: Sequence[str]
    rows: int
    column: Callable[[str], Any]
    values: Callable[[str], list[Any]]
    where: Callable[[int], str]
    kind: str
    own: Any
    notation: Notation = field(default_factory=Notation)

    @classmethod
    def empty(cls, names: Sequence[str], kind: str, own: Any) -> Chunk:
        """A chunk without rows."""
        return cls(names, 0, lambda name: [], lambda name: [], str, kind, own)


class Reader(Protocol):
    """A table that is read once, from its beginning."""

    names: list[str]
    notation: Notation  # how it writes numbers and dates
    remarks: list[str]  # sentences for the user, about what was met so far

    def read(self, rows: int) -> Chunk | None:
        """Read about so many rows, or fewer; None at the end."""

    def nothing(self) -> Chunk:
        """Give a chunk without rows, for a table that has none."""

    def share(self) -> float | None:
        """Say how much of the table has been read, where that is known."""


class Writer(Protocol):
    """A table that is written from its beginning."""

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Write these rows with new columns of numbers; ``known`` are columns as numbers, for files that have them."""

    def close(self, whole: bool = True) -> None:
        """Write what is left, unless there was an error and nothing is wanted; the file itself stays open."""


def plain_numbers(values: np.ndarray) -> list[Any]:
    """Numbers as Python's, with None for NaN.

    >>> plain_numbers(np.array([1.5, np.nan]))
    [1.5, None]
    """
    found: list[Any] = values.tolist()
    return [None if v != v else v for v in found] if np.isnan(values).any() else found


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to compute with; ``where(i)`` is what an error calls row i."""

    ids: Any
    times: np.ndarray | None
    y: np.ndarray
    y_hat: tuple[np.ndarray, ...]
    where: Callable[[int], str]
    cutoffs: np.ndarray | None = None  # of a backtest
    arrived: np.ndarray | None = None  # when each true value became known
    groups: dict[str, list[Any]] | None = None  # by column, None where a row belongs to no group

    @property
    def outputs(self) -> Any:
        """What the score takes: one array of forecasts, or several."""
        return self.y_hat[0] if len(self.y_hat) == 1 else self.y_hat

    def ordered(self, order: np.ndarray) -> Rows:
        """The same rows in another order."""
        ids = self.ids[order] if isinstance(self.ids, np.ndarray) else [self.ids[i] for i in order.tolist()]
        times = None if self.times is None else self.times[order]
        y_hat = tuple(column[order] for column in self.y_hat)
        cutoffs, arrived = (None if c is None else c[order] for c in (self.cutoffs, self.arrived))
        where = lambda i: self.where(int(order[i]))  # noqa: E731
        groups = None
        if self.groups is not None:
            groups = {name: [values[i] for i in order.tolist()] for name, values in self.groups.items()}
        return Rows(ids, times, self.y[order], y_hat, where, cutoffs, arrived, groups)


def parsed(
    chunk: Chunk, columns: Columns, gaps: bool = False, no_time: Cure = NO_TIME, no_date: Cure = NO_DATE
) -> Rows:
    """The rows of a chunk, ready to compute with.

    A true value may be missing. A forecast may not, unless ``gaps`` are allowed; an id or a time never. ``no_time`` and
    ``no_date`` are what an error tells the user to do about a time that is missing, or is none.
    """
    with located(lambda row: chunk.where(0)):
        used = columns.y_hat if columns.classes else (columns.y, *columns.y_hat)
        chunk.notation.settle([chunk.column(name) for name in used])
    y_hat = tuple(numbers(chunk, name) for name in columns.y_hat)
    if not gaps and y_hat and (lost := np.isnan(y_hat).any(axis=0)).any():
        i = int(np.argmax(lost))
        name = next(name for name, column in zip(columns.y_hat, y_hat, strict=True) if np.isnan(column[i]))
        raise refused(chunk, i, name, f"there is no forecast in the column {name!r}", "fill it, or drop the row")
    ids = np.zeros(chunk.rows, dtype=np.int64) if columns.id is None else keys(chunk, columns.id)
    times = None if columns.time is None else moments(chunk, columns.time, no_time, no_date)
    cutoffs = None if columns.cutoff is None else moments(chunk, columns.cutoff, NO_CUTOFF, no_date)
    y = labels(chunk, columns) if columns.classes else numbers(chunk, columns.y)
    arrived = None if columns.arrived is None else arrivals(chunk, columns.arrived, y)
    groups = None
    if columns.by:
        cut = {name: numbers(chunk, name).tolist() for name in columns.cut}
        groups = {name: cut.get(name) or groups_in(chunk, name, times) for name in columns.by}
    return Rows(ids, times, y, y_hat, chunk.where, cutoffs, arrived, groups)


def groups_in(chunk: Chunk, name: str, times: np.ndarray | None) -> list[Any]:
    """The group of each row in a column, None where the cell is empty; weekday, hour and month may come from times."""
    if name in chunk.names:
        cells = chunk.values(name)
        return [None if missing(cell) else cell.strip() if isinstance(cell, str) else cell for cell in cells]
    if times is None or times.dtype.kind != "M":
        problem = f"there is no column {name!r}, and no dates from which it could be told"
        raise InputError(problem, argument="by", cure=("give ", Setting("time"), ", a column of dates and times"))
    return calendar(name, times)


def labels(chunk: Chunk, columns: Columns) -> np.ndarray:
    """The labels of a classifier as numbers of its classes, NaN where one is not known yet."""
    place = {name: float(k) for k, name in enumerate(columns.classes)}
    found = np.full(chunk.rows, math.nan)
    for i, cell in enumerate(chunk.column(columns.y)):
        if missing(cell):
            continue
        text = str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()
        if text not in place:
            problem = f"the label {described(cell)} is none of the classes {', '.join(columns.classes)}"
            cure = ("give a column of probabilities for it as ", Setting("proba"), ", or correct it")
            raise refused(chunk, i, columns.y, problem, cure)
        found[i] = place[text]
    return found


def arrivals(chunk: Chunk, name: str, y: np.ndarray) -> np.ndarray:
    """When true values became known; where there is none yet, there may be no time either."""
    cells = chunk.column(name)
    gone = np.array([missing(cell) for cell in cells], dtype=bool)
    bad = gone & ~np.isnan(y)
    if bad.any():
        problem = f"the row has a true value, and the column {name!r} does not say when it came"
        raise refused(chunk, int(np.argmax(bad)), name, problem, "fill it, or empty the true value")
    there = np.flatnonzero(~gone)
    if not len(there):
        return np.full(chunk.rows, np.nan)
    part = Chunk(
        chunk.names, len(there), lambda name: [cells[i] for i in there.tolist()], chunk.values,
        lambda i: chunk.where(int(there[i])), chunk.kind, None, chunk.notation,
    )  # fmt: skip
    if isinstance(cells, np.ndarray):
        part = replace(part, column=lambda name: cells[there])
    times = moments(part, name)
    found = np.full(chunk.rows, np.nan if times.dtype.kind == "f" else "NaT", dtype=times.dtype)
    found[there] = times
    return found


def every_row(reader: Reader, columns: Columns, **how: Any) -> Rows:
    """All rows of a table at once; ``how`` is as for ``parsed``."""
    parts = [parsed(chunk, columns, **how) for chunk in chunks(reader)]
    return joined(parts or [parsed(reader.nothing(), columns, **how)])


def chunks(reader: Reader) -> Iterator[Chunk]:
    """The rest of a table, chunk by chunk."""
    while (chunk := reader.read(MOST)) is not None:
        yield chunk


def joined(parts: list[Rows]) -> Rows:
    """The rows of several chunks as one."""
    ids: Any = [key for part in parts for key in part.ids]
    if all(isinstance(part.ids, np.ndarray) for part in parts):
        ids = np.concatenate([part.ids for part in parts])
    times, cutoffs, arrived = (joined_times(parts, name) for name in ("times", "cutoffs", "arrived"))
    y_hat = tuple(np.concatenate(columns) for columns in zip(*[part.y_hat for part in parts], strict=True))
    starts = np.cumsum([0, *(len(part.y) for part in parts)])

    def where(i: int) -> str:
        k = int(np.searchsorted(starts, i, side="right")) - 1
        return parts[k].where(i - int(starts[k]))

    names = parts[0].groups or {}
    groups = {name: [v for part in parts for v in (part.groups or {})[name]] for name in names} or None
    return Rows(ids, times, np.concatenate([part.y for part in parts]), y_hat, where, cutoffs, arrived, groups)


def joined_times(parts: list[Rows], name: str) -> np.ndarray | None:
    """The times, the cutoffs or the arrivals of several chunks; None if there are none."""
    columns = [getattr(part, name) for part in parts]
    if columns[0] is None:
        return None
    kind = next((column.dtype for column in columns if not np.isnan(column).all()), columns[0].dtype)
    for i, (part, column) in enumerate(zip(parts, columns, strict=True)):
        if column.dtype != kind and not np.isnan(column).all():
            raise InputError(
                f"{name} must be all dates or all numbers, and these are not like those before",
                argument="time",
                cure="write them alike",
                where=part.where(0),
            )
        if column.dtype != kind:  # nothing has arrived yet
            columns[i] = np.full(len(column), np.nan if kind.kind == "f" else "NaT", dtype=kind)
    return np.concatenate(columns)


def grouped(ids: Any) -> tuple[list[Any], np.ndarray]:
    """The different ids in the order of their first rows, and for each row the place of its id among them.

    >>> grouped(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    places: dict[Any, int] = {}
    keys = ids.tolist() if isinstance(ids, np.ndarray) else ids
    found = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
    return list(places), found


def missing(cell: Any) -> bool:
    """Whether a cell holds nothing.

    >>> missing(""), missing(" NA"), missing(None), missing("0")
    (True, True, True, False)
    """
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def refused(chunk: Chunk, i: int, name: str, problem: str, cure: Cure) -> InputError:
    """The error about one cell."""
    return InputError(problem, argument=name, row=i, cure=cure, where=chunk.where(i))


def numbers(chunk: Chunk, name: str, infinite: bool = False) -> np.ndarray:
    """A column as floats; NaN where there is no number. Infinite numbers are an error unless they are allowed."""
    cells = chunk.column(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        found = cells.astype(np.float64)
    else:
        with located(lambda row: chunk.where(0)):
            chunk.notation.settle([cells])
        try:
            found = chunk.notation.floats(cells)
        except (TypeError, ValueError):  # look at each cell, to find the missing ones and the first bad one
            found = np.array([number(c, chunk, name, i) for i, c in enumerate(cells)], dtype=np.float64)
    bad = np.abs(found) > EXTREME  # false for NaN
    if infinite:
        bad &= np.isfinite(found)
    if bad.any():
        i = int(np.argmax(bad))
        problem = f"the column {name!r} must hold numbers up to {EXTREME:g}, got {found[i]}"
        raise refused(chunk, i, name, problem, "correct it")
    return found


def number(cell: Any, chunk: Chunk, name: str, i: int) -> float:
    """One cell as a float; NaN if it is missing."""
    if missing(cell):
        return math.nan
    if type(cell) is not bool and (isinstance(cell, (int, float)) or (isinstance(cell, str) and "_" not in cell)):
        try:
            return chunk.notation.number(cell) if isinstance(cell, str) else float(cell)
        except (ValueError, OverflowError):
            pass
    hint: Cure = "correct it, or leave the cell empty if the true value is not known yet"
    if isinstance(cell, str) and LOCAL.fullmatch(cell.strip()):
        marks = (Setting("decimal", "point"), " or ", Setting("decimal", "comma"))
        hint = ("write it as 1234.5, or give ", *marks, " to say what separates the decimals")
    raise refused(chunk, i, name, f"the column {name!r} must hold numbers, got {described(cell)}", hint)


def keys(chunk: Chunk, name: str) -> Any:
    """A column of ids: whole numbers as an array, others as a list, decimal numbers as text."""
    cells = chunk.column(name)
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "iu":
            return cells
        cells = cells.tolist() if cells.dtype.kind == "M" else chunk.values(name)
        cells = [str(cell) if isinstance(cell, Decimal) else cell for cell in cells]
    if not all(cells) or any(cell != cell for cell in cells):
        for i, cell in enumerate(cells):
            if cell is None or cell != cell or cell == "":
                raise refused(chunk, i, name, f"there is no id in the column {name!r}", "fill it, or drop the row")
    if {dict, list} & set(map(type, cells)):
        i = next(i for i, cell in enumerate(cells) if isinstance(cell, (dict, list)))
        problem = f"the column {name!r} must hold ids, got {described(cells[i])}"
        raise refused(chunk, i, name, problem, "write text")
    return cells


def moments(chunk: Chunk, name: str, no_time: Cure = NO_TIME, no_date: Cure = NO_DATE) -> np.ndarray:
    """A column of times: float64, or datetime64 to the microsecond."""
    cells = chunk.column(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiuM":
        found = cells.astype(MOMENT if cells.dtype.kind == "M" else np.float64)
    else:
        found = times_in_text([str(c) if c is not None else "" for c in cells], chunk, name, no_time, no_date)
    if (lost := np.isnan(found)).any():
        raise refused(chunk, int(np.argmax(lost)), name, f"there is no time in the column {name!r}", no_time)
    return found


def times_in_text(cells: list[str], chunk: Chunk, name: str, no_time: Cure, no_date: Cure) -> np.ndarray:
    """Times that are written as text: numbers, or dates and times."""
    with located(lambda row: chunk.where(0)):
        found, bad = read_times(cells, name, chunk.notation)
    if bad is not None:
        if missing(cells[bad]):
            raise refused(chunk, bad, name, f"there is no time in the column {name!r}", no_time)
        raise refused(chunk, bad, name, no_moment(name, cells[bad]), no_date)
    return found
