"""A file of results as tracks: outcomes, forecasts and intervals, as ``wane run`` writes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wane.report.track import Track
from wane.tables import cells
from wane.tables.chunk import MOST, Chunk, pure
from wane.tables.columns import GUESSES, first, unknown
from wane.tables.files import reading

METHOD = "method"  # the column of a file with several, and the role of it
USUAL = 0.1  # the alpha of ``wane run``, if it is not given
SAID = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


def read(
    path: str | os.PathLike[str],
    alpha: float | None = None,
    method: str = "",
    prefix: str = "",
    told: Callable[[str], Any] = lambda text: None,
    **named: str | None,
) -> list[Track]:
    """The tracks in a CSV, Parquet or JSON-lines file: one for each series, and for each method if it has that column.

    Args:
        path: the file. It needs a column of outcomes, and lower and upper, or lower_0.1 and upper_0.1 for each alpha.
        alpha: of a file with plain lower and upper, which does not say it; None is 0.1, as for ``wane run``.
        method: what made the intervals, if the file has no column that says so.
        prefix: of the names of lower and upper.
        told: is given sentences for the user: which columns are used, and what looks wrong.
        named: the column that is ``y``, ``y_hat``, ``id``, ``time`` or ``method``, where the usual names do not fit.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "results.csv")
    ...     _ = path.write_text("y,yhat,lower_0.1,upper_0.1\\n1,2,0,4\\n,2,0,4\\n5,2,0,4\\n")
    ...     (track,) = read(path)
    >>> track.levels, track.covered[:, 0]
    ((0.1,), array([ 1., nan,  0.]))
    """
    if strange := set(named) - {*GUESSES, METHOD}:
        raise TypeError(f"columns can be named for {', '.join(GUESSES)}, {METHOD}, got {', '.join(sorted(strange))}")
    with reading(os.fspath(path)) as reader:
        roles = _roles(reader.names, named, path)
        ends = _ends(reader.names, prefix, USUAL if alpha is None else alpha, path)
        told(f"using {', '.join(f'{role}={name!r}' for role, name in roles.items() if name is not None)}")
        parts = []
        while (chunk := reader.read(MOST)) is not None:
            parts.append(_part(chunk, roles, prefix, ends, method, named.get("time") is not None))
    if not parts:
        raise ValueError(f"{path} has no rows: there is nothing to report")
    series = [key for part in parts for key in part["series"]]
    y, hat, lower, upper, covered, time = (
        _joined(parts, k) for k in ("y", "y_hat", "lower", "upper", "covered", "time")
    )
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(series):
        groups.setdefault(key, []).append(row)
    stem = os.path.splitext(os.path.basename(os.fspath(path)))[0]
    made = []
    for (name, by), at in groups.items():
        columns = {"time": time, "y": y, "y_hat": hat, "lower": lower, "upper": upper, "covered": covered}
        here = {k: None if column is None else column[at] for k, column in columns.items()}
        made.append(Track.judged(name or stem, by, levels=list(ends), **here))
    found = [track for track in made if track is not None]
    if not found:
        raise ValueError(f"{path} has no row with an interval: there is nothing to report")
    if roles["time"] is not None and time is None:
        told(f"not every cell of {roles['time']!r} is a time, so rows are numbered: give the column of times as --time")
    if roles["id"] is None and any(t.time is not None and (t.time[1:] == t.time[:-1]).any() for t in found):
        told("times come more than once in one series: if a column names several series, give it as --id")
    return found


def tells_alpha(path: str | os.PathLike[str], prefix: str = "") -> bool:
    """Whether the columns of a file say how many misses they allow."""
    with reading(os.fspath(path)) as reader:
        return not {f"{prefix}lower", f"{prefix}upper"} <= set(reader.names)


def _roles(names: Sequence[str], named: dict[str, str | None], path: Any) -> dict[str, str | None]:
    """The column of each role, None where there is none."""
    found: dict[str, str | None] = {}
    for role in (*GUESSES, METHOD):
        given = named.get(role)
        if given is not None and given not in names:
            raise ValueError(f"{path}: {unknown(given, names)}")
        usual = METHOD if METHOD in names else None
        found[role] = given or (usual if role == METHOD else first(role, names))
    if found["y"] is None:
        raise ValueError(f"{path} has no column of outcomes: it has {', '.join(names)}; say which with --y")
    return found


def _ends(names: Sequence[str], prefix: str, alpha: float, path: Any) -> dict[float, str]:
    """The ends of the names of lower, upper and covered, by level."""
    found: dict[float, str] = {}
    for name in names:
        end = name.removeprefix(f"{prefix}lower")
        if end != name and f"{prefix}upper{end}" in names:
            level = alpha if end == "" else _level(end)
            if level in found:
                raise ValueError(
                    f"{path}: {prefix}lower{found[level]} and {name} are both of alpha {level:g}: leave one of them "
                    "out, or give --alpha for the plain one"
                )
            if level is not None:
                found[level] = end
    if not found:
        raise ValueError(
            f"{path} has no columns {prefix}lower and {prefix}upper, nor {prefix}lower_0.1 and {prefix}upper_0.1: it "
            f"has {', '.join(names)}; make them with wane run, or give --prefix"
        )
    return found


def _level(end: str) -> float | None:
    """The alpha that the end of a column's name says."""
    try:
        return float(end.removeprefix("_"))
    except ValueError:
        return None


def _part(
    chunk: Chunk, roles: dict[str, str | None], prefix: str, ends: dict[float, str], method: str, timed: bool
) -> dict[str, Any]:
    """The columns of some rows; ``timed``: the column of times was named, and must hold some."""
    y = cells.numbers(chunk, str(roles["y"]))
    ids, methods = (_texts(chunk, roles[role], other) for role, other in (("id", ""), (METHOD, method)))
    time = None
    if roles["time"] is not None:
        try:
            time = cells.moments(chunk, roles["time"])
        except ValueError:
            if timed:
                raise
    return {
        "series": list(zip(ids, methods, strict=True)),
        "y": y,
        "y_hat": None if roles["y_hat"] is None else cells.numbers(chunk, roles["y_hat"]),
        "lower": _side(chunk, f"{prefix}lower", ends),
        "upper": _side(chunk, f"{prefix}upper", ends),
        "covered": _covered(chunk, list(ends.values()), y),
        "time": time,
    }


def _side(chunk: Chunk, name: str, ends: dict[float, str]) -> np.ndarray:
    """The lower or the upper ends, a column a level."""
    return np.column_stack([cells.numbers(chunk, f"{name}{end}", infinite=True) for end in ends.values()])


def _texts(chunk: Chunk, name: str | None, other: str) -> list[str]:
    return [other] * chunk.rows if name is None else [str(key) for key in cells.keys(chunk, name)]


def _covered(chunk: Chunk, ends: Sequence[str], y: np.ndarray) -> np.ndarray | None:
    """What the run itself says, where it does: at the very ends it knows better."""
    if not {f"covered{end}" for end in ends} <= set(chunk.names):
        return None
    found = [[SAID.get(str(cell).lower(), np.nan) for cell in pure(chunk.column(f"covered{end}"))] for end in ends]
    return np.where(np.isnan(y)[:, None], np.nan, np.array(found).T)


def _joined(parts: Sequence[dict[str, Any]], key: str) -> Any:
    """A column of all rows; None if a part does not have it."""
    columns = [part[key] for part in parts]
    if any(column is None or column.dtype.kind != columns[0].dtype.kind for column in columns):
        return None
    return np.concatenate(columns)
