"""Sets of labels in a file, as ``wane run`` wrote them for a classifier, as tracks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.errors import InputError, Setting
from wane.panel.frames import COLD
from wane.report.labels import LabelTrack
from wane.runs.events import BETWEEN
from wane.tables.chunks import Chunk, keys, missing, moments, numbers, refused
from wane.tables.columns import first


def holds_sets(names: Sequence[str], prefix: str) -> bool:
    """Whether a table with these columns holds sets of labels."""
    return {f"{prefix}size", f"{prefix}{COLD}"} <= {*names} or any(name.startswith(f"{prefix}size_") for name in names)


def columns_of(names: Sequence[str], prefix: str, alpha: float, path: Any) -> dict[float, tuple[str, str]]:
    """The columns of sets and sizes by level.

    >>> columns_of(["label", "set_0.1", "size_0.1", "cold"], "", 0.1, "sets.csv")
    {0.1: ('set_0.1', 'size_0.1')}
    """
    found = {}
    for name in names:
        end = name.removeprefix(f"{prefix}set")
        if end != name and f"{prefix}size{end}" in names:
            try:
                found[alpha if end == "" else float(end.removeprefix("_"))] = (name, f"{prefix}size{end}")
            except ValueError:
                continue
    if not found:
        raise InputError(
            f"{path} has a column {prefix}size, but no column {prefix}set beside it",
            argument="prefix",
            cure=("make it with wane run, or give ", Setting("prefix")),
        )
    return found


def read_sets(
    parts: Sequence[Chunk],
    roles: dict[str, str | None],
    levels: dict[float, tuple[str, str]],
    cold: str,
    method: str,
    stem: str,
) -> list[LabelTrack]:
    """The tracks in a table of sets, one for each series, and for each method if there is a column of methods.

    Args:
        parts: the table.
        roles: the columns of the labels (``y``), of ids, times and methods; None where there is none.
        levels: as ``columns_of`` gives them.
        cold: the column that marks rows without a set.
        method: the name of what made the sets, if no column says it.
        stem: the name of a table with one series.
    """
    # Read every row that has a set: its series and method, its time, its label, and the labels in its sets.
    series: dict[tuple[str, str], list[int]] = {}
    labels: list[str | None] = []
    sets: list[list[frozenset[str]]] = []
    times: list[np.ndarray] | None = None if roles["time"] is None else []
    for chunk in parts:
        at = np.flatnonzero(numbers(chunk, cold) != 1.0)
        ids, methods = (texts(chunk, roles[role], other) for role, other in (("id", stem), ("method", method)))
        for i in at.tolist():
            series.setdefault((ids[i], methods[i]), []).append(len(labels) + int(np.searchsorted(at, i)))
        cells = chunk.values(str(roles["y"]))
        labels += [None if missing(cells[i]) else str(cells[i]).strip() for i in at]
        columns = [split(chunk, *names) for names in levels.values()]
        sets += [[column[i] for column in columns] for i in at]
        if times is not None and roles["time"] is not None:
            try:
                times.append(moments(chunk, roles["time"])[at])
            except ValueError:
                times = None
    # The classes are all labels that occur, as true ones or in a set.
    classes = ordered({label for label in labels if label is not None}.union(*(one for row in sets for one in row)))
    place = {name: k for k, name in enumerate(classes)}
    inside = np.zeros((len(sets), len(levels), len(classes)), dtype=bool)
    for t, row in enumerate(sets):
        for level, one in enumerate(row):
            inside[t, level, [place[name] for name in one]] = True
    when = None if times is None else np.concatenate(times)
    return [
        LabelTrack(
            name, by, None if when is None else when[at], [labels[t] for t in at], list(levels), inside[at], classes
        )
        for (name, by), at in series.items()
    ]


def split(chunk: Chunk, name: str, size: str) -> list[frozenset[str]]:
    """The labels in each cell of a column; a cell whose size is another one is an error."""
    cells, sizes = chunk.values(name), numbers(chunk, size)
    found = [frozenset() if missing(cell) else frozenset(str(cell).split(BETWEEN)) for cell in cells]
    for i, (one, n) in enumerate(zip(found, sizes.tolist(), strict=True)):
        if n == n and len(one) != n:
            problem = f"the set {cells[i]!r} in {name!r} has {len(one)} labels, and {size!r} says {n:g}"
            raise refused(chunk, i, name, problem, f"labels must not contain {BETWEEN!r}")
    return found


def texts(chunk: Chunk, name: str | None, other: str) -> list[str]:
    """A column as text, or the same text for every row if there is no such column."""
    return [other] * chunk.rows if name is None else [str(key) for key in keys(chunk, name)]


def ordered(labels: set[str]) -> list[str]:
    """Labels in the order of numbers if all are numbers, else of letters.

    >>> ordered({"10", "9"}), ordered({"b", "a"})
    (['9', '10'], ['a', 'b'])
    """
    try:
        return sorted(labels, key=float)
    except ValueError:
        return sorted(labels)


def label_of(names: Sequence[str], given: str | None, path: Any) -> str:
    """The column of the true labels."""
    found = given or first("label", names)
    if found is None:
        raise InputError(
            f"{path} has no column with a usual name for the labels: it has {', '.join(names)}",
            argument="y",
            cure=("say which one it is with ", Setting("y")),
        )
    return found
