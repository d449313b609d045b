"""Streams in files: npz, csv and parquet in, npz out. Nothing is pickled: reading a file runs no code of it.

A file is a table of columns with the names below, in any order; other columns are ignored.

- forecasts: ``y`` and ``yhat`` (or ``y_hat``), and possibly ``scale``;
- scores: ``score`` (or ``scores``);
- both possibly with a time (``timestamp``, ``time``, ``ds``, ``date`` or ``datetime``) and a series (``series``,
  ``unique_id``, ``id`` or ``state``), when there are several in one file. Rounds are in the order of the time (ISO
  dates or numbers), and without one in that of the file; those with a missing number are left out;
- labels (npz only): ``probs`` (T, K) and ``label``, and possibly ``severity``, ``corruption``, ``kinds``;
- an npz file may also hold ``name``, ``warm_up``, ``shifts`` and ``about``, as `write` does.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from typing import Any

import numpy as np

from wane.checks import described, whole
from wane.state.files import Path, replace_file
from wane.streams.tables import READERS, keys, numbers, times
from wane.streams.types import About, ForecastStream, LabelStream, ScoreStream, Stream

Table = dict[str, np.ndarray]

Y_HAT = ("yhat", "y_hat")
SCORES = ("scores", "score")
TIME = ("timestamp", "time", "ds", "date", "datetime")
SERIES = ("series", "unique_id", "id", "state")
MARKS = ("name", "warm_up", "shifts", "about", "kinds", "probs", "label")  # in npz files
WARM_UP, LONG_ENOUGH = 1000, 2000  # the published protocol: 1,000 clean rounds first, then the stream itself


def read(path: Path) -> Stream:
    """The stream in a file; an error if there are several.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "sales.csv")
    ...     with open(file, "w") as opened:
    ...         _ = opened.write("ds,y,yhat\\n2024-01-02,12,10\\n2024-01-01,9,9.5\\n2024-01-03,,11\\n")
    ...     stream = read(file)
    >>> stream.name, stream.y, stream.scores
    ('sales', array([ 9., 12.]), array([0.5, 2. ]))
    """
    if os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)!r} is a folder: give one file, or wane.streams.read_all for all of it")
    found = read_all(path)
    if len(found) > 1:
        shown = ", ".join(s.name for s in found[:5]) + (", ..." if len(found) > 5 else "")
        raise ValueError(f"{os.fspath(path)!r} holds {len(found)} series ({shown}): give a file with one, or read_all")
    return found[0]


def read_all(path: Path) -> list[Stream]:
    """Every stream in a file, or in the files of a folder, in the order of their names; series as they first appear."""
    if os.path.isdir(path):
        files = sorted(f for f in os.listdir(path) if not f.startswith(".") and os.path.splitext(f)[1] in READERS)
        if not files:
            raise ValueError(f"no file in {os.fspath(path)!r} ends in {', '.join(READERS)}")
        return [stream for file in files for stream in read_all(os.path.join(path, file))]
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}")
    stem, suffix = os.path.splitext(os.path.basename(path))
    suffix = suffix.lower()
    if suffix not in READERS:
        raise ValueError(f"{os.fspath(path)!r} must end in one of {', '.join(READERS)}")
    table = READERS[suffix](os.fspath(path))
    if suffix != ".npz":
        table = {name: column for name, column in table.items() if name not in MARKS}  # there they are columns of yours
    try:
        return _streams(table, stem, dated=suffix != ".npz")
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{os.fspath(path)!r}: {error}") from error


def write(path: Path, stream: Stream, half: bool = False) -> None:
    """Put a stream in an npz file, from which `read` gets it back; an older file is replaced as a whole.

    Args:
        path: of the file, which ends in .npz.
        stream: of any kind.
        half: probabilities with three digits, in a quarter of the room: `read` scales them to add up to 1 again.
    """
    if not os.fspath(path).endswith(".npz"):
        raise ValueError(f"a stream is written to a file that ends in .npz, got {os.fspath(path)!r}")
    columns = {name: column for name, column in _columns(stream).items() if column is not None}
    if half and "probs" in columns:
        columns["probs"] = columns["probs"].astype(np.float16)
    for name, column in columns.items():
        if np.asarray(column).dtype.hasobject:
            raise TypeError(f"{name} holds Python objects, which are not written: make it numbers, text or datetime64")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)
    replace_file(path, buffer.getvalue(), sync=False)


def _columns(stream: Stream) -> dict[str, Any]:
    """What stands in the file of a stream."""
    if not isinstance(stream, Stream):
        raise TypeError(f"only a stream can be written, got {described(stream)}")
    common: dict[str, Any] = {"name": stream.name, "warm_up": stream.warm_up}
    if isinstance(stream, LabelStream):
        kinds = np.array(stream.kinds, dtype=str)
        labels = {"probs": stream.probabilities, "label": stream.labels}
        return common | labels | {"severity": stream.severity, "corruption": stream.corruption, "kinds": kinds}
    common["shifts"] = np.array(stream.shifts, dtype=np.int64)
    if isinstance(stream, ScoreStream):
        return common | {"scores": stream.scores}
    about = None if stream.about is None else json.dumps(dataclasses.asdict(stream.about))
    return common | {
        "y": stream.y,
        "yhat": stream.y_hat,
        "scale": stream.scale,
        "timestamp": stream.time,
        "about": about,
    }


def _streams(table: Table, stem: str, dated: bool) -> list[Stream]:
    """The streams in a table: of labels, of forecasts or of scores, whichever columns are there.

    ``dated``: a time must be one that can be put in order; otherwise text is kept as it is.
    """
    name = str(table["name"]) if "name" in table and table["name"].ndim == 0 else stem
    y_hat, scores = _first(table, Y_HAT), _first(table, SCORES)
    if "probs" in table and "label" in table:
        return [_labels(table, name)]
    if "y" in table and y_hat:
        return _rounds(table, name, {"y": "y", "y_hat": y_hat}, dated)
    if scores:
        return _rounds(table, name, {"scores": scores}, dated)
    raise ValueError(
        f"wanted columns y and yhat, or score, or (npz) probs and label; there are {', '.join(table)}: rename them"
    )


def _first(table: Table, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in table), None)


def _labels(table: Table, name: str) -> LabelStream:
    severity = table.get("severity")
    if "warm_up" in table:
        warm_up = whole("warm_up", table["warm_up"][()], 0)
    else:
        published = severity is not None and len(severity) >= LONG_ENOUGH and not severity[:WARM_UP].any()
        warm_up = WARM_UP if published else 0
    kinds = tuple(table["kinds"].tolist()) if "kinds" in table else ()
    return LabelStream(name, table["probs"], table["label"], severity, table.get("corruption"), kinds, warm_up)


def _rounds(table: Table, name: str, wanted: dict[str, str], dated: bool) -> list[Stream]:
    """One stream for each series in a table of forecasts or scores."""
    columns = {field: numbers(column, table[column]) for field, column in wanted.items()}
    if "y" in columns and "scale" in table:
        columns["scale"] = numbers("scale", table["scale"])
    lengths = {field: column.shape for field, column in columns.items()}
    rounds = next(iter(columns.values())).size
    by_time, by_series = _first(table, TIME), _first(table, SERIES)
    lengths |= {key: table[key].shape for key in (by_time, by_series) if key}
    if set(lengths.values()) != {(rounds,)}:
        raise ValueError(f"columns must have one entry a round, got {lengths}")
    time = times(by_time, table[by_time], dated) if by_time else None
    missing = np.isnan(np.stack([columns[field] for field in wanted])).any(axis=0)
    if by_series is None:
        return [_stream(table, name, columns, time, np.arange(rounds), missing)]
    if "shifts" in table:
        raise ValueError(f"shifts belong to one series, and there is a column {by_series!r}: write a file for each")
    ids, first, which = np.unique(keys(by_series, table[by_series]), return_index=True, return_inverse=True)
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return [_stream(table, f"{name}-{ids[k]}", columns, time, rows[k], missing) for k in np.argsort(first)]


def _stream(
    table: Table, name: str, columns: Table, time: np.ndarray | None, rows: np.ndarray, missing: np.ndarray
) -> Stream:
    """The stream of these rows; what is counted in rounds, counts those that are left."""
    if time is not None and time.dtype.kind != "U":
        rows = rows[np.argsort(time[rows], kind="stable")]
    left = ~missing[rows]
    if not left.any():
        raise ValueError(f"{name}: no round has numbers in all of {', '.join(columns)}")
    kept = rows[left]
    marks: dict[str, Any] = {}
    if "warm_up" in table:
        marks["warm_up"] = int(left[: whole("warm_up", table["warm_up"][()], 0, len(rows) + 1)].sum())
    if "shifts" in table:
        shifts = [int(left[: whole("shift", t, 0, len(rows))].sum()) for t in table["shifts"]]
        marks["shifts"] = tuple(t for t in shifts if t < len(kept))  # after the others nothing is left
    values = {field: column[kept] for field, column in columns.items()}
    if "scores" in values:
        return ScoreStream(name, **values, **marks)
    about = About(**json.loads(str(table["about"]))) if "about" in table else None
    return ForecastStream(name, **values, time=None if time is None else time[kept], **marks, about=about)
