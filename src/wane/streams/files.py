"""Streams in files: tables and npz in, npz out. Nothing is pickled: reading a file runs no code of it.

A table is read as `wane run` reads it, with the same usual names of columns (``wane.tables.GUESSES``); other columns
are ignored.

- forecasts: the true values and the forecasts of them, such as ``y`` and ``yhat``, and possibly ``scale``;
- scores: ``score`` (or ``scores``);
- both possibly with a time and an id, when there are several series in one file. Rounds are in the order of the time
  (ISO dates or numbers), and without one in that of the file; those with a missing number are left out;
- labels (npz only): ``probs`` (T, K) and ``label``, and possibly ``severity``, ``corruption``, ``kinds``;
- an npz file may also hold ``name``, ``warm_up``, ``shifts`` and ``about``, as `write` does.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import zipfile
import zlib
from typing import Any

import numpy as np

from wane.checks import described, file_path, real_array, whole
from wane.errors import InputError, InputTypeError, MissingFileError, located
from wane.state.files import Path, replace_file
from wane.streams.types import About, ForecastStream, LabelStream, ScoreStream, Stream
from wane.tables.chunks import MISSING, Chunk, Rows, every_row, grouped, keys, moments, numbers
from wane.tables.columns import GUESSES, Columns, first
from wane.tables.files import KINDS, reading

Table = dict[str, np.ndarray]

SUFFIXES = (".npz", *KINDS)
IN_FOLDERS = tuple(end for end in SUFFIXES if end not in (".txt", ".json"))  # which most often are something else
WARM_UP, LONG_ENOUGH = 1000, 2000  # the published protocol: 1,000 clean rounds first, then the stream itself
UNPACKED = 2**28  # bytes that any npz file may unpack to
RATIO = 100  # times its size that a larger one may unpack to
HEADER_2 = np.lib.format.read_array_header_2_0
UNREADABLE = "nothing that is pickled is; save numbers, text or datetime64"
RENAME = "or give the column another name, and the order of the rows counts"


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
    path = file_path("path", path)
    if os.path.isdir(path):
        cure = "give one file, or use wane.streams.read_all for all of it"
        raise InputError(f"{os.fspath(path)!r} is a folder", argument="path", cure=cure)
    found = read_all(path)
    if len(found) > 1:
        shown = ", ".join(s.name for s in found[:5]) + (", ..." if len(found) > 5 else "")
        problem = f"{os.fspath(path)!r} holds {len(found)} series ({shown})"
        raise InputError(problem, argument="path", cure="give a file with one, or use wane.streams.read_all")
    return found[0]


def read_all(path: Path) -> list[Stream]:
    """Every stream in a file, or in the files of a folder, in the order of their names; series as they first appear."""
    name = file_path("path", path)
    if os.path.isdir(name):
        files = sorted(f for f in os.listdir(name) if not f.startswith(".") and f.lower().endswith(IN_FOLDERS))
        if not files:
            raise InputError(f"no file in {name!r} ends in {', '.join(IN_FOLDERS)}", argument="path")
        return [stream for file in files for stream in read_all(os.path.join(name, file))]
    if not os.path.isfile(name):
        raise MissingFileError(f"there is no file {name!r}", argument="path")
    stem, suffix = os.path.splitext(os.path.basename(name))
    if suffix.lower() not in SUFFIXES:
        raise InputError(f"{name!r} must end in one of {', '.join(SUFFIXES)}", argument="path")
    with located(lambda row: repr(name) if row is None else f"{name!r}, round {row}"):
        if suffix.lower() == ".npz":
            return _arrays(npz(name), stem)
        with reading(name) as reader:
            columns, fields = _columns_of(reader.names, "wanted columns y and yhat, or score")
            how = {
                "gaps": True,
                "no_time": ("fill it, drop the row, " + RENAME),
                "no_date": ("write it in one of these ways, " + RENAME),
            }
            return _rounds(every_row(reader, columns, **how), fields, columns, stem)


def npz(path: str) -> Table:
    """The arrays of an npz file, of which none may be pickled."""
    table = {}
    try:
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("not a zip archive")
        _refuse_unbacked(path)
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                try:
                    table[name] = arrays[name]
                except ValueError as error:
                    raise InputError(f"{name!r} is not read ({error})", argument=name, cure=UNREADABLE) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"this is not an npz file, or is damaged: {error}") from error
    return table


def _refuse_unbacked(path: str) -> None:
    """An error if an array claims more entries than the archive holds, or if a small file unpacks to a giant."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        total, size = sum(m.file_size for m in members), os.path.getsize(path)
        if total > max(UNPACKED, RATIO * size):
            problem = f"{size} bytes unpack to {total}, more than {RATIO} times as many"
            raise InputError(problem, cure="if it is yours, write it with np.savez, which does not compress")
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                try:
                    version = np.lib.format.read_magic(file)
                    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else HEADER_2
                    shape, _, dtype = read(file)
                except ValueError as error:
                    raise InputError(f"{name!r} is not read ({error})", argument=name, cure=UNREADABLE) from error
                held, claimed = member.file_size - file.tell(), math.prod(shape) * dtype.itemsize
            if claimed != held and not dtype.hasobject:  # what is pickled is refused when it is read
                problem = f"{name!r} claims the shape {shape}, {claimed} bytes, and there are {held}"
                raise InputError(problem, argument=name, cure="restore it from a copy")


def write(path: Path, stream: Stream, half: bool = False) -> None:
    """Put a stream in an npz file, from which `read` gets it back; an older file is replaced as a whole.

    Args:
        path: of the file, which ends in .npz.
        stream: of any kind.
        half: probabilities with three digits, in a quarter of the room: `read` scales them to add up to 1 again.
    """
    path = file_path("path", path)
    if not path.endswith(".npz"):
        raise InputError(f"a stream is written to a file that ends in .npz, got {path!r}", argument="path")
    columns = {name: column for name, column in _columns(stream).items() if column is not None}
    if half and "probs" in columns:
        columns["probs"] = columns["probs"].astype(np.float16)
    for name, column in columns.items():
        if np.asarray(column).dtype.hasobject:
            cure = "make it numbers, text or datetime64"
            raise InputTypeError("holds Python objects, which are not written", about=name, cure=cure)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)
    replace_file(path, buffer.getvalue(), sync=False)


def _columns(stream: Stream) -> dict[str, Any]:
    """What stands in the file of a stream."""
    if not isinstance(stream, Stream):
        raise InputTypeError(f"only a stream can be written, got {described(stream)}", argument="stream")
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


def _columns_of(names: list[str], wanted: str) -> tuple[Columns, tuple[str, ...]]:
    """The columns of forecasts, or else of scores, and the fields of the stream that they fill."""
    found = {role: first(role, names) for role in GUESSES}
    y, y_hat, scale, score = (found[role] for role in ("y", "y_hat", "scale", "score"))
    if y is not None and y_hat is not None:
        pair = (y_hat,) if scale is None else (y_hat, scale)
        return Columns(y, pair, found["id"], found["time"]), ("y", "y_hat", "scale")[: 1 + len(pair)]
    if score is not None:
        return Columns(score, (), found["id"], found["time"]), ("scores",)
    raise InputError(f"{wanted}; there are {', '.join(names)}", cure="rename them")


def _arrays(table: Table, stem: str) -> list[Stream]:
    """The streams in the arrays of an npz file: of labels, of forecasts or of scores, whichever are there."""
    name = str(table["name"]) if "name" in table and table["name"].ndim == 0 else stem
    if "probs" in table and "label" in table:
        return [_labels(table, name)]
    columns, fields = _columns_of(list(table), "wanted columns y and yhat, or score, or probs and label")
    used = [c for c in (columns.y, *columns.y_hat, columns.id, columns.time) if c is not None]
    lengths = {c: table[c].shape for c in used}
    if set(lengths.values()) != {(table[columns.y].size,)}:
        raise InputError(f"columns must have one entry a round, got {lengths}")

    def cells(column: str) -> Any:
        return table[column].tolist() if table[column].dtype.kind in "OU" else table[column]

    # Numbers and ids are read as those of tables; times keep their type, and may be any text.
    chunk = Chunk(list(table), table[columns.y].size, cells, cells, lambda i: f"row {i}", ".npz", None)
    y, *y_hat = (
        numbers(chunk, c) if table[c].dtype.kind in "OU" else real_array(c, table[c])
        for c in (columns.y, *columns.y_hat)
    )
    ids = None if columns.id is None else keys(chunk, columns.id)
    times = None if columns.time is None else _times(chunk, columns.time, table[columns.time])
    return _rounds(Rows(ids, times, y, tuple(y_hat), chunk.where), fields, columns, name, table)


def _times(chunk: Chunk, name: str, column: np.ndarray) -> np.ndarray:
    """Times in an npz file: numbers and dates, also when they are written as text; other text is kept as it is."""
    if column.dtype.kind in "OU":
        lost = np.array([str(cell).strip().lower() in MISSING for cell in column.tolist()], dtype=bool)
    else:
        lost = np.isnan(column) if column.dtype.kind in "fM" else np.zeros(1, dtype=bool)
    if lost.any():
        row = int(np.argmax(lost))
        raise InputError(
            f"{name} of row {row} is missing", argument=name, cure="fill it, or drop the row or the column"
        )
    if column.dtype.kind not in "OU":
        return column
    try:
        return moments(chunk, name)
    except InputError:
        return column.astype(str)


def _labels(table: Table, name: str) -> LabelStream:
    severity = table.get("severity")
    if "warm_up" in table:
        warm_up = whole("warm_up", table["warm_up"][()], 0)
    else:
        published = severity is not None and len(severity) >= LONG_ENOUGH and not severity[:WARM_UP].any()
        warm_up = WARM_UP if published else 0
    kinds = tuple(table["kinds"].tolist()) if "kinds" in table else ()
    return LabelStream(name, table["probs"], table["label"], severity, table.get("corruption"), kinds, warm_up)


def _rounds(
    rows: Rows, fields: tuple[str, ...], columns: Columns, name: str, marks: Table | None = None
) -> list[Stream]:
    """One stream for each series; ``marks`` are the arrays of an npz file, which may say more about the stream."""
    marks = marks or {}
    if columns.id is None:
        return [_stream(rows, fields, name, np.arange(len(rows.y)), marks)]
    if "shifts" in marks:
        problem = f"shifts belong to one series, and there is a column {columns.id!r}"
        raise InputError(problem, argument="shifts", cure="write a file for each")
    ids, place = grouped(rows.ids)
    parts = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    return [_stream(rows, fields, f"{name}-{key}", part, marks) for key, part in zip(ids, parts, strict=True)]


def _stream(rows: Rows, fields: tuple[str, ...], name: str, at: np.ndarray, table: Table) -> Stream:
    """The stream of these rows; what is counted in rounds, counts those that are left."""
    if rows.times is not None and rows.times.dtype.kind != "U":
        at = at[np.argsort(rows.times[at], kind="stable")]
    # A round counts if it has what it needs; a scale that is missing is an error of the stream.
    columns = dict(zip(fields, (rows.y, *rows.y_hat), strict=True))
    left = np.logical_not(np.isnan([columns[field][at] for field in fields if field != "scale"]).any(axis=0))
    if not left.any():
        raise InputError(f"{name}: no round has numbers in all of {', '.join(columns)}")
    kept = at[left]
    marks: dict[str, Any] = {}
    if "warm_up" in table:
        marks["warm_up"] = int(left[: whole("warm_up", table["warm_up"][()], 0, len(at) + 1)].sum())
    if "shifts" in table:
        shifts = [int(left[: whole("shift", t, 0, len(at))].sum()) for t in table["shifts"]]
        marks["shifts"] = tuple(t for t in shifts if t < len(kept))  # after the others nothing is left
    values = {field: column[kept] for field, column in columns.items()}
    if "scores" in values:
        return ScoreStream(name, **values, **marks)
    about = About(**json.loads(str(table["about"]))) if "about" in table else None
    return ForecastStream(name, **values, time=None if rows.times is None else rows.times[kept], **marks, about=about)
