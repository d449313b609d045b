"""A file of results as tracks: outcomes, forecasts and intervals, as ``wane run`` writes them."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.checks import described
from wane.report.track import Track

NAMES = {
    "y": ("y", "actual", "target", "value", "truth"),
    "y_hat": ("yhat", "y_hat", "forecast", "prediction", "pred"),
    "id": ("unique_id", "id", "series"),
    "time": ("ds", "time", "timestamp", "date"),
    "method": ("method",),
}
ABSENT = ("", "nan", "na", "null", "none")  # cells without a value, in any case


def read(
    path: str | os.PathLike[str],
    alpha: float | None = None,
    method: str = "",
    **named: str | None,
) -> list[Track]:
    """The tracks in a CSV, Parquet or JSON-lines file: one for each series, and for each method if it has that column.

    Args:
        path: the file. It needs a column of outcomes, and lower and upper, or lower_0.1 and upper_0.1 for each alpha.
        alpha: of a file with plain lower and upper, which does not say it.
        method: what made the intervals, if the file has no column that says so.
        named: the column that is ``y``, ``y_hat``, ``id``, ``time`` or ``method``, where the usual names do not fit.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "results.csv")
    ...     _ = path.write_text("y,yhat,lower_0.1,upper_0.1\\n1,2,0,4\\n,2,0,4\\n5,2,0,4\\n")
    ...     (track,) = read(path)
    >>> track.levels, track.covered[:, 0]
    ((0.1,), array([ 1., nan,  0.]))
    """
    table = columns(path)
    found = {role: _chosen(table, role, usual, named.get(role), path) for role, usual in NAMES.items()}
    if unknown := set(named) - set(NAMES):
        raise TypeError(f"columns can be named for {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    if found["y"] is None:
        raise ValueError(f"{path} has no column of outcomes: it has {', '.join(table)}; say which with --y")
    ends = _ends(table, alpha, path)
    rows = len(next(iter(table.values())))
    if not rows:
        raise ValueError(f"{path} has no rows: there is nothing to report")
    keys = [
        (str(a), str(b))
        for a, b in zip(_texts(table, found["id"], "", rows), _texts(table, found["method"], method, rows), strict=True)
    ]
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    y = _numbers(table, found["y"])
    y_hat = None if found["y_hat"] is None else _numbers(table, found["y_hat"])
    time = None if found["time"] is None else _moments(table[found["time"]])
    lower, upper = (np.column_stack([_numbers(table, pair[side]) for pair in ends.values()]) for side in (0, 1))
    covered = _covered(table, ends, y)
    stem = os.path.splitext(os.path.basename(os.fspath(path)))[0]
    made = []
    for (name, by), at in groups.items():
        t, hat, hits = (None if a is None else a[at] for a in (time, y_hat, covered))
        made.append(Track(name or stem, by, t, y[at], hat, list(ends), lower[at], upper[at], hits))
    return made


def columns(path: str | os.PathLike[str]) -> dict[str, list[Any]]:
    """The columns of a file by name, as lists of cells."""
    kind = os.path.splitext(os.fspath(path))[1].lower()
    if kind == ".parquet":
        try:
            import pyarrow.parquet
        except ModuleNotFoundError:
            raise ImportError("reading Parquet needs pyarrow: pip install pyarrow, or write CSV") from None
        return pyarrow.parquet.read_table(path).to_pydict()
    with open(path, newline="", encoding="utf-8-sig") as file:
        if kind in (".jsonl", ".ndjson", ".json"):
            return _objects(file, path)
        head, *rows = list(csv.reader(file)) or [[]]
    if bad := next((n for n, row in enumerate(rows, 2) if len(row) != len(head)), None):
        raise ValueError(f"{path}, line {bad}, has {len(rows[bad - 2])} cells; the head has {len(head)}")
    return dict(zip(head, map(list, zip(*rows, strict=True)) if rows else ([] for _ in head), strict=True))


def _objects(file: Any, path: Any) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {}
    for n, line in enumerate(line for line in file if line.strip()):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}: object {n + 1} is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"{path}: each line must be a JSON object, got {described(row)}")
        for name in row.keys() - table.keys():
            table[name] = [None] * n
        for name, cells in table.items():
            cells.append(row.get(name))
    return table


def _chosen(table: dict[str, Any], role: str, usual: Sequence[str], wanted: str | None, path: Any) -> str | None:
    if wanted is not None and wanted not in table:
        raise ValueError(f"{path} has no column {wanted!r}: it has {', '.join(table)}")
    return wanted if wanted is not None else next((name for name in usual if name in table), None)


def _ends(table: dict[str, Any], alpha: float | None, path: Any) -> dict[float, tuple[str, str, str]]:
    """The names of the columns lower, upper and covered by level."""
    found: dict[float, tuple[str, str, str]] = {}
    for name in table:
        end = name.removeprefix("lower")
        if end != name and f"upper{end}" in table:
            level = _level(end, alpha)
            if level is not None:
                found[level] = (name, f"upper{end}", f"covered{end}")
    if not found:
        raise ValueError(
            f"{path} has no columns lower and upper, nor lower_0.1 and upper_0.1: it has {', '.join(table)}; "
            "make them with wane run"
        )
    return found


def _level(end: str, alpha: float | None) -> float | None:
    """The alpha that the end of a column's name says."""
    if end == "":
        if alpha is None:
            raise ValueError(
                "the columns lower and upper do not say how many misses they allow: give --alpha, such as 0.1"
            )
        return alpha
    try:
        return float(end.removeprefix("_"))
    except ValueError:
        return None


def _missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in ABSENT)


def _numbers(table: dict[str, list[Any]], name: str) -> np.ndarray:
    try:
        return np.array([np.nan if _missing(cell) else float(cell) for cell in table[name]])
    except (TypeError, ValueError):
        row, cell = next((n, c) for n, c in enumerate(table[name]) if not _missing(c) and not _real(c))
        raise ValueError(f"the column {name!r} must hold numbers, got {described(cell)} in row {row + 1}") from None


def _real(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _texts(table: dict[str, list[Any]], name: str | None, other: str, rows: int) -> Sequence[Any]:
    return [other] * rows if name is None else table[name]


def _covered(table: dict[str, list[Any]], ends: dict[float, tuple[str, str, str]], y: np.ndarray) -> np.ndarray | None:
    """What the run itself says, where it does: at the very ends it knows better."""
    if not all(names[2] in table for names in ends.values()):
        return None
    said = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
    cells = [[np.nan if _missing(c) else said.get(str(c).lower(), 2.0) for c in table[n[2]]] for n in ends.values()]
    found = np.array(cells).T
    found[np.isnan(y)] = np.nan
    return found


def _moments(cells: list[Any]) -> np.ndarray | None:
    """Numbers or dates; None if they are neither."""
    if all(isinstance(c, str) for c in cells):
        if all(map(_real, cells)):
            return np.array(cells, dtype=np.float64)
        try:
            return np.array([c.strip().removesuffix("Z").removesuffix("+00:00") for c in cells], dtype="datetime64[ms]")
        except ValueError:
            return None
    if all(hasattr(c, "isoformat") for c in cells):
        return np.array(
            [np.datetime64(c.replace(tzinfo=None) if getattr(c, "tzinfo", None) else c) for c in cells],
            dtype="datetime64[ms]",
        )
    return np.array(cells, dtype=np.float64) if all(isinstance(c, (int, float)) for c in cells) else None
