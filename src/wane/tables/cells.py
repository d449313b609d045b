"""Cells as numbers, ids and times; an error names the line."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from wane.checks import EXTREME, described
from wane.streams.bundled import instant
from wane.streams.tables import MISSING
from wane.tables.chunk import Chunk
from wane.tables.columns import Columns

MOMENT = "datetime64[us]"
LOCAL = re.compile(r"[-+]?\d[\d., '\u2019\u00a0\u202f]*")  # a number as people write it
NO_TIME = "{}: no time in the column {!r}: fill it, drop the row, or give --no-time"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a panel takes them; ``where(i)`` is what an error calls row i."""

    ids: Any
    times: np.ndarray | None
    y: np.ndarray
    y_hat: tuple[np.ndarray, ...]
    where: Callable[[int], str]

    def outputs(self) -> Any:
        """What the score takes."""
        return self.y_hat[0] if len(self.y_hat) == 1 else self.y_hat

    def ordered(self, order: np.ndarray) -> Rows:
        """The same rows in another order."""
        ids = self.ids[order] if isinstance(self.ids, np.ndarray) else [self.ids[i] for i in order.tolist()]
        times = None if self.times is None else self.times[order]
        y_hat = tuple(column[order] for column in self.y_hat)
        return Rows(ids, times, self.y[order], y_hat, lambda i: self.where(int(order[i])))


def parsed(chunk: Chunk, columns: Columns) -> Rows:
    """The rows of a chunk; forecasts, ids and times may not be missing, labels may."""
    y_hat = []
    for name in columns.y_hat:
        y_hat.append(numbers(chunk, name))
        if (lost := np.isnan(y_hat[-1])).any():
            at = chunk.where(int(np.argmax(lost)))
            raise ValueError(f"{at}: no forecast in the column {name!r}: fill it, or drop the row")
    ids = np.zeros(chunk.rows, dtype=np.int64) if columns.id is None else keys(chunk, columns.id)
    times = None if columns.time is None else moments(chunk, columns.time)
    return Rows(ids, times, numbers(chunk, columns.y), tuple(y_hat), chunk.where)


def joined(parts: list[Rows]) -> Rows:
    """All rows."""
    ids: Any = [key for part in parts for key in part.ids]
    if all(isinstance(part.ids, np.ndarray) for part in parts):
        ids = np.concatenate([part.ids for part in parts])
    times = None if parts[0].times is None else np.concatenate([same_kind(part, parts[0]) for part in parts])
    y_hat = tuple(np.concatenate(columns) for columns in zip(*[part.y_hat for part in parts], strict=True))
    starts = np.cumsum([0, *(len(part.y) for part in parts)])

    def where(i: int) -> str:
        k = int(np.searchsorted(starts, i, side="right")) - 1
        return parts[k].where(i - int(starts[k]))

    return Rows(ids, times, np.concatenate([part.y for part in parts]), y_hat, where)


def same_kind(part: Rows, first: Rows) -> Any:
    """The times of a part, or an error if they are not like the first ones."""
    if part.times is not None and first.times is not None and part.times.dtype != first.times.dtype:
        raise ValueError(
            f"{part.where(0)}: times are dates here and numbers before, or the other way: write them alike"
        )
    return part.times


def missing(cell: Any) -> bool:
    """Whether a cell holds nothing.

    >>> missing(""), missing(" NA"), missing(None), missing("0")
    (True, True, True, False)
    """
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def numbers(chunk: Chunk, name: str, infinite: bool = False) -> np.ndarray:
    """A column as floats; NaN where there is no number. An infinite one is an error unless it is said to be right."""
    cells = chunk.column(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        found = cells.astype(np.float64)
    else:
        try:
            found = floats(cells)
        except (TypeError, ValueError):  # each cell is looked at
            found = np.array([number(c, chunk, name, i) for i, c in enumerate(cells)], dtype=np.float64)
    bad = np.abs(found) > EXTREME  # false for NaN
    if infinite:
        bad &= np.isfinite(found)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"{chunk.where(i)}: the column {name!r} must hold numbers up to {EXTREME:g}, got {found[i]}: correct it"
        )
    return found


def floats(cells: Any) -> np.ndarray:
    """Text as numbers; an error if one is none, or is not text."""
    if "_" in "".join(cells):
        raise ValueError("1_000 is a number in Python only")
    return np.array(list(map(float, cells)), dtype=np.float64)


def number(cell: Any, chunk: Chunk, name: str, i: int) -> float:
    """One cell."""
    if missing(cell):
        return math.nan
    if type(cell) is not bool and (isinstance(cell, (int, float)) or (isinstance(cell, str) and "_" not in cell)):
        try:
            return float(cell)
        except (ValueError, OverflowError):
            pass
    hint = "correct it, or leave the cell empty"
    if isinstance(cell, str) and LOCAL.fullmatch(cell.strip()):
        hint = "write it with a point for decimals and nothing between thousands, as 1234.5"
    raise ValueError(f"{chunk.where(i)}: the column {name!r} must hold numbers, got {described(cell)}: {hint}")


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
                raise ValueError(f"{chunk.where(i)}: no id in the column {name!r}: fill it, or drop the row")
    if {dict, list} & set(map(type, cells)):
        i = next(i for i, cell in enumerate(cells) if isinstance(cell, (dict, list)))
        raise ValueError(f"{chunk.where(i)}: the column {name!r} must hold ids, got {described(cells[i])}: write text")
    return cells


def moments(chunk: Chunk, name: str) -> np.ndarray:
    """A column of times: float64, or datetime64 to the microsecond."""
    cells = chunk.column(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiuM":
        found = cells.astype(MOMENT if cells.dtype.kind == "M" else np.float64)
        lost = np.isnan(found)
    else:
        found = read_times([str(c) if c is not None else "" for c in cells], chunk, name)
        lost = np.isnan(found)
    if lost.any():
        raise ValueError(NO_TIME.format(chunk.where(int(np.argmax(lost))), name))
    return found


def read_times(cells: list[str], chunk: Chunk, name: str) -> np.ndarray:
    """Times that are written as text: numbers, or dates and times in ISO form."""
    try:
        return floats(cells)
    except ValueError:
        pass
    if all(len(cell) >= 10 and cell[4] == "-" for cell in cells):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a time zone: below
                return np.array(cells, dtype=MOMENT)
        except (ValueError, Warning):
            pass
    found = np.empty(len(cells), dtype=MOMENT)
    for i, cell in enumerate(cells):
        try:
            found[i] = instant(cell.strip().replace("Z", "+00:00"))
        except (ValueError, OverflowError):
            if missing(cell):
                raise ValueError(NO_TIME.format(chunk.where(i), name)) from None
            raise ValueError(
                f"{chunk.where(i)}: the column {name!r} must hold numbers or dates as in 2024-01-31, which put the "
                f"rows in order, got {described(cell)}: write it so, or give --no-time"
            ) from None
    return found
