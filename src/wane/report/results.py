"""Results in a file, as ``wane run`` writes them, as tracks: true values, forecasts and intervals."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wane.errors import InputError, InputTypeError, Setting, located
from wane.report.track import Track
from wane.tables.chunks import Chunk, chunks, keys, moments, numbers
from wane.tables.columns import first, refuse_unknown
from wane.tables.files import reading

METHOD = "method"  # the column of a file with several, and the role of it
ROLES = ("y", "y_hat", "id", "time", METHOD)
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
    """Read the tracks in a table: one for each series, and for each method if there is a column of methods.

    Args:
        path: a CSV, Parquet or JSON-lines file. It needs a column with the true values, and columns lower and upper, or
            lower_0.1 and upper_0.1 for each alpha.
        alpha: of a file with plain lower and upper, which does not say it; None is 0.1, as for ``wane run``.
        method: the name of what made the intervals, if no column says it.
        prefix: what the names of lower and upper begin with.
        told: is called with sentences for the user: which columns are used, and what looks wrong.
        named: the column that is ``y``, ``y_hat``, ``id``, ``time`` or ``method``, where it has no usual name.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "results.csv")
    ...     _ = path.write_text("y,yhat,lower_0.1,upper_0.1\\n1,2,0,4\\n,2,0,4\\n5,2,0,4\\n")
    ...     (track,) = read(path)
    >>> track.levels, track.covered[:, 0]
    ((0.1,), array([ 1., nan,  0.]))
    """
    if strange := sorted(set(named) - {*ROLES}):
        raise InputTypeError(
            f"columns can be named for {', '.join(ROLES)}, got {', '.join(strange)}", argument=strange[0]
        )
    with reading(os.fspath(path)) as reader:
        roles = _roles(reader.names, named, path)
        ends = _ends(reader.names, prefix, USUAL if alpha is None else alpha, path)
        told(f"using {', '.join(f'{role}={name!r}' for role, name in roles.items() if name is not None)}")
        if alpha is None and "" in ends.values():
            told("Using alpha = 0.1 (90 % intervals): the names lower and upper do not say it, --alpha does.")
        timed = named.get("time") is not None
        parts = [_part(chunk, roles, prefix, ends, method, timed) for chunk in chunks(reader)]
    if not parts:
        raise InputError(f"{path} has no rows", argument="path", cure="there is nothing to report")
    # Each series by each method is a track.
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
        raise InputError(f"{path} has no row with an interval", argument="path", cure="there is nothing to report")
    # Say what looks wrong, though a report can be made of it.
    if roles["time"] is not None and time is None:
        told(f"not every cell of {roles['time']!r} is a time, so rows are numbered: give the column of times as --time")
    if roles["id"] is None and any(t.time is not None and (t.time[1:] == t.time[:-1]).any() for t in found):
        told("times come more than once in one series: if a column names several series, give it as --id")
    return found


def _roles(names: Sequence[str], named: dict[str, str | None], path: Any) -> dict[str, str | None]:
    """The column of each role, None where there is none."""
    with located(lambda row: str(path)):
        refuse_unknown([name for name in named.values() if name is not None], names)
    usual = {role: first(role, names) for role in ROLES if role != METHOD}
    found = {role: named.get(role) or name for role, name in usual.items()}
    found[METHOD] = named.get(METHOD) or (METHOD if METHOD in names else None)
    if found["y"] is None:
        raise InputError(
            f"{path} has no column with a usual name for the true values: it has {', '.join(names)}",
            argument="y",
            cure=("say which one it is with ", Setting("y")),
        )
    return found


def _ends(names: Sequence[str], prefix: str, alpha: float, path: Any) -> dict[float, str]:
    """The ends of the names of lower, upper and covered, by level."""
    found: dict[float, str] = {}
    for name in names:
        end = name.removeprefix(f"{prefix}lower")
        if end != name and f"{prefix}upper{end}" in names:
            level = alpha if end == "" else _level(end)
            if level in found:
                raise InputError(
                    f"{path}: {prefix}lower{found[level]} and {name} are both of alpha {level:g}",
                    argument="alpha",
                    cure=("leave one of them out, or give ", Setting("alpha"), " for the plain one"),
                )
            if level is not None:
                found[level] = end
    if not found:
        raise InputError(
            f"{path} has no columns {prefix}lower and {prefix}upper, nor {prefix}lower_0.1 and {prefix}upper_0.1: it "
            f"has {', '.join(names)}",
            argument="prefix",
            cure=("make them with wane run, or give ", Setting("prefix")),
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
    """The columns of some rows; if ``timed``, the user named the column of times, so it must hold some."""
    y = numbers(chunk, str(roles["y"]))
    ids, methods = (_texts(chunk, roles[role], other) for role, other in (("id", ""), (METHOD, method)))
    time = None
    if roles["time"] is not None:
        try:
            time = moments(chunk, roles["time"])
        except ValueError:
            if timed:
                raise
    return {
        "series": list(zip(ids, methods, strict=True)),
        "y": y,
        "y_hat": None if roles["y_hat"] is None else numbers(chunk, roles["y_hat"]),
        "lower": _side(chunk, f"{prefix}lower", ends),
        "upper": _side(chunk, f"{prefix}upper", ends),
        "covered": _covered(chunk, list(ends.values()), y),
        "time": time,
    }


def _side(chunk: Chunk, name: str, ends: dict[float, str]) -> np.ndarray:
    """The lower or the upper ends, a column a level."""
    return np.column_stack([numbers(chunk, f"{name}{end}", infinite=True) for end in ends.values()])


def _texts(chunk: Chunk, name: str | None, other: str) -> list[str]:
    return [other] * chunk.rows if name is None else [str(key) for key in keys(chunk, name)]


def _covered(chunk: Chunk, ends: Sequence[str], y: np.ndarray) -> np.ndarray | None:
    """What the run itself says about coverage, if it does: at the very ends of an interval it knows better."""
    if not {f"covered{end}" for end in ends} <= set(chunk.names):
        return None
    found = [[SAID.get(str(cell).lower(), np.nan) for cell in chunk.values(f"covered{end}")] for end in ends]
    return np.where(np.isnan(y)[:, None], np.nan, np.array(found).T)


def _joined(parts: Sequence[dict[str, Any]], key: str) -> Any:
    """A column of all rows; None if a part does not have it."""
    columns = [part[key] for part in parts]
    if any(column is None or column.dtype.kind != columns[0].dtype.kind for column in columns):
        return None
    return np.concatenate(columns)
