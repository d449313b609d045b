"""Results in a file, as ``wane run`` or ``conformalize`` wrote them, as tracks: values, forecasts and intervals."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wane.errors import InputError, InputTypeError, Setting, located
from wane.panel.backtests import Backtest, ahead, numbered
from wane.panel.frames import COLD
from wane.report import label_results
from wane.report.track import Track
from wane.tables.chunks import Chunk, chunks, moments, numbers
from wane.tables.columns import first, refuse_unknown
from wane.tables.files import reading

METHOD = "method"  # the column of a file with several, and the role of it
ROLES = ("y", "y_hat", "id", "time", "cutoff", METHOD)
BOUND = re.compile(r"(.+)-lo-([\d.]+)")  # the names of ends in Nixtla's format
USUAL = 0.1  # the alpha of ``wane run``, if it is not given
SAID = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


def read(
    path: str | os.PathLike[str],
    alpha: float | None = None,
    method: str = "",
    prefix: str = "",
    told: Callable[[str], Any] = lambda text: None,
    **named: str | None,
) -> list[Any]:
    """Read the tracks in a table: one for each series, and for each method if there is a column of methods.

    In a backtest, each number of steps ahead is a series of its own. Sets of labels give objects of ``LabelTrack``.

    Args:
        path: a CSV, Parquet or JSON-lines file. It needs a column with the true values, and columns lower and upper, or
            lower_0.1 and upper_0.1 for each alpha; or those of ``conformalize``, such as Naive-lo-90 and Naive-hi-90,
            where each model is a method; or the labels of a classifier and columns set, size and cold.
        alpha: of a file with plain lower and upper, which does not say it; None is 0.1, as for ``wane run``.
        method: the name of what made the intervals, if no column says it.
        prefix: what the names of lower and upper begin with.
        told: is called with sentences for the user: which columns are used, and what looks wrong.
        named: the column of ``y``, ``y_hat``, ``id``, ``time``, ``cutoff`` or ``method``, if it has no usual name.

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
        level = USUAL if alpha is None else alpha
        if label_results.holds_sets(reader.names, prefix):
            return _sets(reader, named, path, method, prefix, level, alpha is None, told)
        roles = _roles(reader.names, named, path)
        sources = _sources(reader.names, roles, method, prefix, level, path)
        told(f"using {_said(roles)}")
        if alpha is None and any(f"{prefix}lower" in pair for source in sources for pair in source.ends.values()):
            told("Using alpha = 0.1 (90 % intervals), because the names lower and upper do not say it. --alpha does.")
        timed = named.get("time") is not None
        parts = [_part(chunk, roles, sources, timed) for chunk in chunks(reader)]
    if not parts:
        raise InputError(f"{path} has no rows", argument="path", cure="there is nothing to report")
    # Each series by each method is a track.
    time, cutoff = _joined(parts, "time"), _joined(parts, "cutoff")
    names = _names(parts, time, cutoff, (str(roles["time"]), str(roles["cutoff"])))
    y = _joined(parts, "y")
    stem = _stem(path)
    made = []
    for source in sources:
        methods = [m for part in parts for m in part["method"]] if roles[METHOD] else [source.method] * len(names)
        groups: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(names, methods, strict=True)):
            groups.setdefault(key, []).append(row)
        own = {k: _joined([part[source] for part in parts], k) for k in ("y_hat", "lower", "upper", "covered")}
        columns = {"time": time, "y": y, **own}
        for (name, by), at in groups.items():
            here = {k: None if column is None else column[at] for k, column in columns.items()}
            made.append(Track.judged(name or stem, by, levels=list(source.ends), **here))
    found = [track for track in made if track is not None]
    if not found:
        raise InputError(f"{path} has no row with an interval", argument="path", cure="there is nothing to report")
    # Say what looks wrong, though a report can be made of it.
    if roles["time"] is not None and time is None:
        told(f"not every cell of {roles['time']!r} is a time, so rows are numbered: give the column of times as --time")
    if roles["id"] is None and any(t.time is not None and (t.time[1:] == t.time[:-1]).any() for t in found):
        told("times come more than once in one series: if a column names several series, give it as --id")
    return found


def _sets(
    reader: Any, named: dict[str, str | None], path: Any, method: str, prefix: str, alpha: float, usual: bool, told: Any
) -> list[Any]:
    """The tracks in a table of sets of labels."""
    with located(lambda row: str(path)):
        refuse_unknown([name for name in named.values() if name is not None], reader.names)
    roles = {role: named.get(role) or first(role, reader.names) for role in ("id", "time")}
    roles |= {"y": label_results.label_of(reader.names, named.get("y"), path)}
    roles[METHOD] = named.get(METHOD) or (METHOD if METHOD in reader.names else None)
    levels = label_results.columns_of(reader.names, prefix, alpha, path)
    told(f"using {_said(roles)}")
    if usual and any(name == f"{prefix}set" for name, _ in levels.values()):
        told("Using alpha = 0.1 (90 % sets), because the name set does not say it. --alpha does.")
    found = label_results.read_sets(list(chunks(reader)), roles, levels, f"{prefix}{COLD}", method, _stem(path))
    if not found:
        raise InputError(f"{path} has no row with a set", argument="path", cure="there is nothing to report")
    return found


def _said(roles: dict[str, str | None]) -> str:
    return ", ".join(f"{role}={name!r}" for role, name in roles.items() if name is not None)


def _stem(path: Any) -> str:
    return os.path.splitext(os.path.basename(os.fspath(path)))[0]


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


class _Source(NamedTuple):
    """The columns of one method: its forecasts, and by level the ends and what says if they cover."""

    method: str
    y_hat: str | None
    levels: tuple[tuple[float, tuple[str, str, str]], ...]

    @property
    def ends(self) -> dict[float, tuple[str, str, str]]:
        """The columns by level."""
        return dict(self.levels)


def _sources(
    names: Sequence[str], roles: dict[str, str | None], method: str, prefix: str, alpha: float, path: Any
) -> list[_Source]:
    """The methods whose intervals a table holds: one of ``wane run``, or the models of ``conformalize``."""
    found: dict[float, tuple[str, str, str]] = {}
    for name in names:
        end = name.removeprefix(f"{prefix}lower")
        if end != name and f"{prefix}upper{end}" in names:
            level = alpha if end == "" else _level(end)
            if level in found:
                raise InputError(
                    f"{path}: {found[level][0]} and {name} are both of alpha {level:g}",
                    argument="alpha",
                    cure=("leave one of them out, or give ", Setting("alpha"), " for the plain one"),
                )
            if level is not None:
                found[level] = (name, f"{prefix}upper{end}", f"covered{end}")
    if found:
        return [_Source(method, roles["y_hat"], tuple(found.items()))]
    models: dict[str, dict[float, tuple[str, str, str]]] = {}
    for name in names:
        match = BOUND.fullmatch(name)
        if match and f"{match[1]}-hi-{match[2]}" in names:
            level = round(1.0 - float(match[2]) / 100.0, 12)
            models.setdefault(match[1], {})[level] = (name, f"{match[1]}-hi-{match[2]}", "")
    if not models:
        raise InputError(
            f"{path} has no columns {prefix}lower and {prefix}upper, nor {prefix}lower_0.1 and {prefix}upper_0.1, nor "
            f"such as Naive-lo-90 and Naive-hi-90: it has {', '.join(names)}",
            argument="prefix",
            cure=("make them with wane run, or give ", Setting("prefix")),
        )
    shared = set.intersection(*(set(ends) for ends in models.values()))
    if not shared:
        raise InputError(f"the models of {path} have no level in common", argument="path", cure="report on one of them")
    return [
        _Source(model, model if model in names else None, tuple((a, ends[a]) for a in sorted(shared)))
        for model, ends in models.items()
    ]


def _names(
    parts: Sequence[dict[str, Any]], time: np.ndarray | None, cutoff: np.ndarray | None, named: tuple[str, str]
) -> list[str]:
    """The name of the series of each row; in a backtest with the number of steps ahead."""
    ids = [key for part in parts for key in part["id"]]
    if time is None or cutoff is None:
        return ids
    steps = Backtest.of(numbered(ids)[1], time, cutoff, named).steps.tolist()
    return [f"{id}, {ahead(h)}" if id else ahead(h) for id, h in zip(ids, steps, strict=True)]


def _level(end: str) -> float | None:
    """The alpha that the end of a column's name says."""
    try:
        return float(end.removeprefix("_"))
    except ValueError:
        return None


def _part(chunk: Chunk, roles: dict[str, str | None], sources: Sequence[_Source], timed: bool) -> dict[Any, Any]:
    """The columns of some rows; if ``timed``, the user named the column of times, so it must hold some."""
    ends = [name for source in sources for pair in source.ends.values() for name in pair[:2]]
    used = [roles["y"], *(source.y_hat for source in sources), *ends]
    chunk.notation.settle([chunk.column(name) for name in used if name is not None])
    y = numbers(chunk, str(roles["y"]))
    ids, methods = (label_results.texts(chunk, roles[role], "") for role in ("id", METHOD))
    time = cutoff = None
    if roles["time"] is not None:
        try:
            time = moments(chunk, roles["time"])
            cutoff = None if roles["cutoff"] is None else moments(chunk, roles["cutoff"])
        except ValueError:
            if timed:
                raise
    made: dict[Any, Any] = {"id": ids, "method": methods, "y": y, "time": time, "cutoff": cutoff}
    for source in sources:
        lower, upper, covered = zip(*source.ends.values(), strict=True)
        made[source] = {
            "y_hat": None if source.y_hat is None else numbers(chunk, source.y_hat),
            "lower": _side(chunk, lower),
            "upper": _side(chunk, upper),
            "covered": _covered(chunk, covered, y),
        }
    return made


def _side(chunk: Chunk, names: Sequence[str]) -> np.ndarray:
    """The lower or the upper ends, a column a level."""
    return np.column_stack([numbers(chunk, name, infinite=True) for name in names])


def _covered(chunk: Chunk, names: Sequence[str], y: np.ndarray) -> np.ndarray | None:
    """What the run itself says about coverage, if it does: at the very ends of an interval it knows better."""
    if not set(names) <= set(chunk.names):
        return None
    found = [[SAID.get(str(cell).lower(), np.nan) for cell in chunk.values(name)] for name in names]
    return np.where(np.isnan(y)[:, None], np.nan, np.array(found).T)


def _joined(parts: Sequence[dict[str, Any]], key: str) -> Any:
    """A column of all rows; None if a part does not have it."""
    columns = [part[key] for part in parts]
    if any(column is None or column.dtype.kind != columns[0].dtype.kind for column in columns):
        return None
    return np.concatenate(columns)
