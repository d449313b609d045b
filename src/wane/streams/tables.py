"""Tables in files: npz, csv and parquet, as columns."""

from __future__ import annotations

import csv
import importlib
import math
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import described, real_array
from wane.streams.bundled import instant

MISSING = ("", "n/a", "na", "nan", "nat", "none", "null")  # what a cell without a number says, in small letters


def npz(path: str) -> dict[str, np.ndarray]:
    """The arrays of an npz file, of which none may be pickled."""
    table = {}
    try:
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("not a zip archive")
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                table[name] = _array(path, arrays, name)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path!r} is not an npz file, or is damaged: {error}") from error
    return table


def _array(path: str, arrays: Any, name: str) -> np.ndarray:
    try:
        return arrays[name]
    except ValueError as error:
        raise ValueError(
            f"{path!r}: {name!r} is not read ({error}): nothing that is pickled is; save numbers, text or datetime64"
        ) from error


def text_table(path: str) -> dict[str, np.ndarray]:
    """The columns of a csv file with a header, as text."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            numbered = [(rows.line_num, row) for row in rows if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path!r} is not a csv file in UTF-8: {error}") from error
    if not numbered:
        raise ValueError(f"{path!r} is empty: wanted a header, such as ds,y,yhat, and a row a round")
    header = [name.strip() for name in numbered[0][1]]
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise ValueError(f"{path!r} has one column, {header[0]!r}: columns are separated by commas")
    if len(set(header)) < len(header):
        raise ValueError(f"{path!r} has two columns of one name: {', '.join(header)}")
    for line, row in numbered:
        if len(row) != len(header):
            raise ValueError(f"{path!r}, line {line}: {len(row)} cells, but the header has {len(header)}")
    cells = [row for _, row in numbered[1:]]
    return {name: np.array([row[k] for row in cells], dtype=str) for k, name in enumerate(header)}


def parquet(path: str) -> dict[str, np.ndarray]:
    """The columns of a parquet file, through the first of pyarrow, polars and pandas that is installed."""
    for library, reader in PARQUET.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        try:
            return reader(module, path)
        except Exception as error:  # each library has its own
            raise ValueError(f"{path!r} is not read by {library}: {error}") from error
    raise ImportError(f"{path!r} needs a library that reads parquet: pip install pyarrow (or polars, or pandas)")


def _pyarrow(module: Any, path: str) -> dict[str, np.ndarray]:
    table = module.read_table(path)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _polars(module: Any, path: str) -> dict[str, np.ndarray]:
    return {column.name: column.to_numpy() for column in module.read_parquet(path)}


def _pandas(module: Any, path: str) -> dict[str, np.ndarray]:
    frame = module.read_parquet(path)
    return {str(name): frame[name].to_numpy() for name in frame.columns}


PARQUET: dict[str, Callable[[Any, str], dict[str, np.ndarray]]] = {
    "pyarrow.parquet": _pyarrow,
    "polars": _polars,
    "pandas": _pandas,
}
READERS: dict[str, Callable[[str], dict[str, np.ndarray]]] = {".npz": npz, ".csv": text_table, ".parquet": parquet}


def numbers(name: str, column: np.ndarray) -> np.ndarray:
    """A column as floats; NaN where there is no number.

    >>> numbers("y", np.array(["1.5", "", "NA"]))
    array([1.5, nan, nan])
    """
    if column.dtype.kind not in "OU":
        return real_array(name, column)
    return np.array([_number(name, row, cell) for row, cell in enumerate(column.ravel().tolist())])


def _number(name: str, row: int, cell: Any) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {described(cell)} in row {row}, the first being 0") from None


def times(name: str, column: np.ndarray, dated: bool = True) -> np.ndarray:
    """A column of times: dates and numbers, also when they are written as text. Rounds are put in their order.

    Other text is an error, or kept if the times need not be ``dated``.

    >>> times("ds", np.array(["2024-01-02", "2024-01-01"])).dtype
    dtype('<M8[us]')
    """
    column = keys(name, column)
    if column.dtype.kind != "U":
        return column
    for parsed in (_floats, _moments):
        try:
            return parsed(column.tolist())
        except ValueError:
            continue
    if not dated:
        return column
    raise ValueError(
        f"{name} must hold numbers or dates as in 2024-01-31, which put the rounds in order, got {str(column[0])!r}: "
        "write them so, or give the column another name, and the order of the rows counts"
    )


def keys(name: str, column: np.ndarray) -> np.ndarray:
    """A column in which nothing may be missing; Python objects as text."""
    if column.dtype.kind == "O":
        column = column.astype(str)
    if column.dtype.kind == "U":
        lost = np.array([cell.strip().lower() in MISSING for cell in column.tolist()], dtype=bool)
    else:
        lost = np.isnan(column) if column.dtype.kind in "fM" else np.zeros(1, dtype=bool)
    if lost.any():
        raise ValueError(f"{name} of row {int(np.argmax(lost))} is missing: fill it, or drop the row or the column")
    return column


def _floats(cells: list[str]) -> np.ndarray:
    return np.array([float(cell) for cell in cells])


def _moments(cells: list[str]) -> np.ndarray:
    """ISO dates and times; Z is UTC."""
    return np.array([instant(cell.strip().replace("Z", "+00:00")) for cell in cells], dtype="datetime64[us]")
