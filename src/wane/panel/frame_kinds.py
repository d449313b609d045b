"""The two kinds of tables that ``wane.panel.run`` takes: dicts of arrays, and data frames of any library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError, InputTypeError, MissingExtraError, NotFoundError, installing
from wane.panel.batch import stretches
from wane.panel.index import as_list
from wane.panel.sorting import boolean, moments, neighbours, one_sort, refuse_duplicates

ROW = "wane: row"  # a column of our own while rows are sorted


class Columns:
    """What the two kinds of tables share."""

    columns: list[str]

    def need(self, names: list[str]) -> None:
        """Raise an error about the first of these columns that does not exist."""
        for name in names:
            if name not in self.columns:
                there = ", ".join(map(str, self.columns)) or "none"
                raise NotFoundError(f"there is no column {name!r}", argument=name, cure=f"there are {there}")


class Arrays(Columns):
    """A table that was given as a dict of arrays. It has the methods of ``Frame``."""

    def __init__(self, frame: Mapping[str, Any]) -> None:
        """Check that the arrays have the same length."""
        self.arrays = {k: v if isinstance(v, np.ndarray) else np.asarray(v) for k, v in frame.items()}
        lengths = {k: len(v) for k, v in self.arrays.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns must be of one length, got {lengths}", argument="frame")
        self.columns = list(frame)

    def missing(self, name: str) -> int | None:
        """Return the first row in which a column has no value, or None."""
        values = self.arrays[name]
        gone = np.array([v is None or v != v for v in values]) if values.dtype.kind == "O" else values != values
        return int(np.argmax(gone)) if gone.any() else None

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats; missing values become NaN."""
        values = self.arrays[name]
        if values.dtype.kind == "O":
            values = np.array([math.nan if v is None else v for v in values])
        return as_floats(name, values)

    def values(self, name: Any) -> list[Any]:
        """Return a column as a list."""
        return as_list(self.arrays[name])

    def array(self, name: str) -> np.ndarray:
        """Return a column as an array; a missing value is an error."""
        refuse_missing(self, name)
        return self.arrays[name]

    def streams(self, id: str | None, time: str | None, duplicates: str) -> tuple[Any, np.ndarray, Any]:
        """Find the order that brings the rows of each stream together, in time.

        Returns that order (None if the rows are in it already), where each stream begins in it, and the ids.
        """
        rows = len(next(iter(self.arrays.values())))
        codes = np.zeros(rows, dtype=np.intp)
        ids: Any = np.array([0])
        if id is not None:
            ids, codes = np.unique(self.array(id), return_inverse=True)
        when = np.arange(rows) if time is None else moments(time, self.array(time))
        order = np.lexsort((np.arange(rows), when, codes))
        present, starts = stretches(codes[order])
        if time is not None and rows:
            at, same = when[order], codes[order][1:] == codes[order][:-1]
            refuse_duplicates(same & (at[1:] == at[:-1]), order, duplicates, time)
        return None if (np.diff(order) == 1).all() else order, starts, ids[present]

    def extended(self, new: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the dict with new columns, in which ``covered`` is 1, 0, or NaN."""
        made = {k: np.where(v < 0, math.nan, v) if v.dtype == np.int8 else v for k, v in new.items()}
        return {**self.arrays, **made}

    def like(self, data: dict[str, Any], id: str | None, by: str | None) -> dict[str, Any]:
        """Return a summary as a table of the same kind, with the names that ids and groups have in the frame."""
        return {renamed(k, id, by): np.asarray(v) for k, v in data.items()}


class Frame(Columns):
    """A table that was given as a data frame, of any kind that narwhals knows."""

    def __init__(self, frame: Any) -> None:
        """Wrap the frame."""
        try:
            import narwhals as nw
        except ImportError:
            cure = f"{installing('frames')}, or give a dict of arrays"
            raise MissingExtraError("frames need narwhals", cure=cure) from None
        self.nw = nw
        known = nw.from_native(frame, pass_through=True)
        if isinstance(known, nw.LazyFrame):  # of Polars, DuckDB, Ibis and so on
            known = known.collect()
        elif not isinstance(known, nw.DataFrame):
            known = nw.from_native(arrow_table(frame), eager_only=True)
        self.frame = known
        self.columns = list(self.frame.columns)
        self.index: Any = None  # of a pandas frame, if columns of it are used
        self.levels: list[str] = []

    def need(self, names: list[str]) -> None:
        """Raise an error about the first of these columns that does not exist; the levels of a pandas index are some.

        A level without a name is called as ``reset_index`` calls it: ``index``, or ``level_0`` and so on.
        """
        if self.frame.implementation.is_pandas() and not set(names) <= {*self.columns}:
            native = self.frame.to_native()
            with_index = native.reset_index()
            levels = list(with_index.columns[: native.index.nlevels])
            if set(names) & set(levels):
                self.index, self.levels = native.index, levels
                self.frame = self.nw.from_native(with_index, eager_only=True)
                self.columns = list(self.frame.columns)
        super().need(names)

    def missing(self, name: str) -> int | None:
        """Return the first row in which a column has no value, or None."""
        series = self.frame[name]
        gone = boolean(series.is_null())
        if series.dtype.is_float():
            gone |= boolean(series.is_nan())
        return int(np.argmax(gone)) if gone.any() else None

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats; missing values become NaN."""
        series = self.frame[name]
        if not (series.dtype.is_numeric() or series.dtype == self.nw.Boolean or series.null_count() == len(series)):
            raise InputTypeError(
                f"the column {name!r} must hold numbers, got {series.dtype}", argument=name, cure="convert it first"
            )
        return as_floats(name, series.cast(self.nw.Float64).to_numpy())

    def values(self, name: Any) -> list[Any]:
        """Return a column as a list."""
        return self.frame[name].to_list()

    def array(self, name: str) -> np.ndarray:
        """Return a column as an array; a missing value is an error."""
        refuse_missing(self, name)
        return self.frame[name].to_numpy()

    def streams(self, id: str | None, time: str | None, duplicates: str) -> tuple[Any, np.ndarray, Any]:
        """Find the order that brings the rows of each stream together, in time.

        Returns that order (None if the rows are in it already), where each stream begins in it, and the ids.
        """
        # Sort only if a stream is not in time, or comes in several stretches, because sorting a long frame is slow.
        frame, rows = self.frame, len(self.frame)
        if time is not None and frame[time].dtype in (self.nw.String, self.nw.Categorical, self.nw.Enum):
            frame = frame.with_columns(
                self.nw.new_series(time, moments(time, self.array(time)), backend=frame.implementation)
            )
        changed, sorted_in_time = self.changes(frame, id, time)
        order = None
        if not (sorted_in_time and (id is None or self.begins(frame, changed, id).n_unique() == int(changed.sum()))):
            keys = [c for c in (id, time) if c is not None]
            frame = frame.select(*keys)
            # One sort of whole numbers is the fastest; the frame's own sort takes keys of any kind.
            if all(frame[c].dtype.is_integer() or frame[c].dtype.is_temporal() for c in keys):
                order = one_sort([frame[c].to_numpy() for c in keys])
            if order is None:
                frame = frame.with_row_index(ROW).sort(*keys, ROW)
                order = frame[ROW].to_numpy().astype(np.intp)
            else:
                frame = frame[order]
            changed, _ = self.changes(frame, id, time)
        # Rows of a stream with the same time are neighbours now.
        if time is not None and rows:
            earlier, later = neighbours(frame[time])
            refuse_duplicates(boolean(later == earlier) & ~changed[1:], order, duplicates, time)
        # Ids that are whole numbers stay an array, which the index looks up at once.
        begins = np.flatnonzero(changed)
        starts = np.concatenate([begins, [rows]]).astype(np.intp) if rows else np.zeros(1, dtype=np.intp)
        if id is None:
            return order, starts, np.zeros(min(rows, 1), dtype=np.int64)
        series = self.begins(frame, changed, id)
        ids = series.to_numpy() if series.dtype.is_integer() else series.to_list()
        return order, starts, ids

    def begins(self, frame: Any, changed: np.ndarray, id: str) -> Any:
        """Return the ids in the rows with which streams begin."""
        return frame[id].filter(self.nw.new_series("changed", changed, self.nw.Boolean, backend=frame.implementation))

    def changes(self, frame: Any, id: str | None, time: str | None) -> tuple[np.ndarray, bool]:
        """Find the rows whose id differs from that of the row before, and whether all rows between them are in time."""
        changed = np.zeros(len(frame), dtype=bool)
        if id is not None:
            earlier, later = neighbours(frame[id])
            changed[1:] = boolean(later != earlier)
        changed[:1] = True
        if time is None:
            return changed, True
        earlier, later = neighbours(frame[time])
        return changed, not (boolean(later < earlier) & ~changed[1:]).any()

    def extended(self, new: dict[str, np.ndarray]) -> Any:
        """Return the frame with new columns, of the kind that was given."""
        made = self.frame.with_columns(*[self.series(k, v) for k, v in new.items()]).to_native()
        return made if self.index is None else made.drop(columns=self.levels).set_axis(self.index, axis=0)

    def series(self, name: str, values: np.ndarray) -> Any:
        """Make a column of the frame's kind; ``covered`` becomes boolean with missing values."""
        nw, backend = self.nw, self.frame.implementation
        if values.dtype != np.int8:
            return nw.new_series(name, values, backend=backend)
        if backend.is_pandas():
            import pandas as pd

            array = pd.arrays.BooleanArray(values == 1, values < 0)
            return nw.from_native(pd.Series(array, name=name, index=self.frame.to_native().index), series_only=True)
        made = nw.new_series(name, values, backend=backend).to_frame()
        column = nw.col(name)
        return made.select(nw.when(column >= 0).then(column == 1).alias(name))[name]

    def like(self, data: dict[str, Any], id: str | None, by: str | None) -> Any:
        """Return a summary as a table of the same kind, with the names that ids and groups have in the frame."""
        made = {renamed(k, id, by): v for k, v in data.items()}
        return self.nw.from_dict(made, backend=self.frame.implementation).to_native()


def arrow_table(frame: Any) -> Any:
    """Return anything that gives its columns as an Arrow stream, such as a RecordBatchReader, as a table of PyArrow."""
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("a stream of Arrow needs pyarrow", cure=installing("parquet")) from None
        return pa.table(frame)
    raise InputTypeError(
        f"must be a frame of pandas, Polars or PyArrow, anything with __arrow_c_stream__, or a dict of arrays, got "
        f"{described(frame)}",
        about="frame",
    )


def as_floats(name: str, values: np.ndarray) -> np.ndarray:
    """Return a column of numbers as float64; anything else is an error."""
    if values.dtype.kind not in "fiub":
        raise InputTypeError(
            f"the column {name!r} must hold numbers, got {values.dtype}", argument=name, cure="convert it first"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


def refuse_missing(table: Arrays | Frame, name: str) -> None:
    """Raise an error about the first missing value in a column of ids, times or groups."""
    if (row := table.missing(name)) is not None:
        raise InputError(
            f"the column {name!r} has no value",
            argument=name,
            row=row,
            cure="fill missing values, or drop those rows",
        )


def renamed(name: str, id: str | None, by: str | None) -> str:
    """Return the name of a column of the summary: that of the frame for ids and groups."""
    return {"id": id, "group": by}.get(name) or name
