"""Objects in files: one text format, versioned, with a checksum, written as a whole or not at all.

A file is two lines of text. The first is a header, the second the payload, which is the state as one JSON document::

    {"wane": "saved", "format": 1, "version": "0.1.0", "class": "LossTracker", "bytes": 601, "sha256": "5f0c..."}
    {"format": 1, "class": "LossTracker", "parameters": {...}, "memory": {...}}

``bytes`` and ``sha256`` are those of everything after the first line. Nothing is pickled: reading runs no code.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import importlib
import json
import math
import os
import re
import secrets
import stat
import uuid
import zoneinfo
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

import numpy as np

from wane.checks import described
from wane.learners import state as plain_data
from wane.learners.stateful import Stateful
from wane.version import __version__

FORMAT = 1  # of the file; raised when a reader of the older format would go wrong
MAGIC = b'{"wane": "saved", '  # how every file begins
LONGEST_HEADER = 4096  # bytes; a foreign file without line breaks is not read as one long header
NONFINITE = "$float"  # JSON has no infinity: {"$float": "inf"}
SAVED: dict[str, type] = {}  # classes that are not Stateful but have state_dict and from_state_dict

Path = str | os.PathLike[str]
C = TypeVar("C", bound=type)


class SavedFileError(ValueError):
    """A file that cannot be read: foreign, cut short, corrupted, too new, or with a state that its class refuses."""


def known(cls: C) -> C:
    """Let ``load`` find a class with ``state_dict()`` and ``from_state_dict(state, **objects)``: a decorator."""
    SAVED[plain_data.name_of(cls)] = cls
    return cls


def save(path: Path, obj: Any, *, sync: bool = True) -> None:
    """Write an object to a file, which holds the old or the new object at every moment, whatever is killed.

    Args:
        path: the file; its directory must exist. An older file is replaced and its permissions are kept.
        obj: a learner, a tracker, or what is built on them.
        sync: wait until the disk has it. False is faster and as safe when a process dies, but not when the power fails.

    >>> import os, tempfile, wane
    >>> tracker = wane.trackers.make("magl", alpha=0.1)
    >>> radii = tracker.run([1.0, 2.0, 1.5] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "tracker.wane"), tracker)
    ...     again = load(os.path.join(folder, "tracker.wane"))
    >>> again.predict() == tracker.predict()
    True
    """
    if not isinstance(obj, Stateful) and type(obj) not in SAVED.values():
        raise TypeError(f"a learner, a tracker or what is built on them can be saved, got {described(obj)}")
    replace_file(path, written(obj.state_dict()), sync)


def load(path: Path, /, **objects: Any) -> Any:
    """The object that ``save`` wrote to a file, or a SavedFileError that says what is wrong with the file.

    ``objects`` are the arguments that a file cannot hold (functions of yours), by name.
    """
    with open(path, "rb") as file:
        raw = file.read(LONGEST_HEADER)
        if raw.startswith(MAGIC):  # else it may be anything, of any size
            raw += file.read()
    state = payload(raw, os.fspath(path))
    try:
        return rebuilt(state, objects)
    except Exception as error:
        raise SavedFileError(f"{os.fspath(path)!r} is intact, but its state was refused: {error}") from error


def rebuilt(state: Any, objects: dict[str, Any]) -> Any:
    """The object whose state this is."""
    name = state.get("class") if isinstance(state, dict) else None
    importlib.import_module("wane").complete()
    if name in SAVED:
        return SAVED[name].from_state_dict(state, **objects)  # type: ignore[attr-defined]
    return plain_data.load(Stateful, state, objects)


def written(state: dict[str, Any]) -> bytes:
    """The bytes of a file."""
    body = dumps(state).encode() + b"\n"
    header = {
        "wane": "saved",
        "format": FORMAT,
        "version": __version__,
        "class": state["class"],
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + body


def payload(raw: bytes, path: str) -> Any:
    """The state in the bytes of a file, once everything that the header says is true."""
    if not raw.startswith(MAGIC) and not MAGIC.startswith(raw):
        raise SavedFileError(f"{path!r} was not written by wane.save: it begins with {described(raw[:20])}")
    line, newline, body = raw.partition(b"\n")
    if not newline and len(line) <= LONGEST_HEADER:
        raise SavedFileError(f"{path!r} is truncated: it ends within the header, after {len(raw)} bytes")
    try:
        header = json.loads(line[:LONGEST_HEADER])
        form, size, digest, name = (header[k] for k in ("format", "bytes", "sha256", "class"))
    except (ValueError, KeyError, RecursionError):
        raise SavedFileError(f"{path!r} is corrupted: its header cannot be read, {described(line)}") from None
    if form != FORMAT:
        if isinstance(form, int) and form > FORMAT:
            raise SavedFileError(f"{path!r} has format {form}, this version of wane reads {FORMAT}: upgrade wane")
        raise SavedFileError(f"{path!r} is corrupted: there is no format {described(form)}")
    if isinstance(size, int) and len(body) < size:
        raise SavedFileError(f"{path!r} is truncated: {len(body)} of {size} bytes of its state are there")
    if len(body) != size or hashlib.sha256(body).hexdigest() != digest:
        raise SavedFileError(f"{path!r} is corrupted: its state is not what was written, restore it from a copy")
    try:
        state = loads(body)
    except (ValueError, RecursionError) as error:
        raise SavedFileError(f"{path!r} is corrupted: its state is not JSON, {error}") from error
    if not isinstance(state, dict) or state.get("class") != name:
        raise SavedFileError(f"{path!r} is corrupted: the header says {name!r}, the state is {described(state)}")
    return state


# JSON in which every float comes back as it was, the infinite ones and NaN included.


def dumps(data: Any) -> str:
    """Plain data as JSON, in ASCII, without line breaks.

    >>> dumps([0.1, float("inf")])
    '[0.1, {"$float": "inf"}]'
    """
    try:
        text = json.dumps(data, allow_nan=False)
        if f'"{NONFINITE}"' not in text:
            return text
    except ValueError:  # not finite, which is rare
        pass
    return json.dumps(marked(data), allow_nan=False)


def marked(data: Any) -> Any:
    """The same data, each float that is not finite as an object."""
    if isinstance(data, float) and not math.isfinite(data):
        return {NONFINITE: repr(float(data))}
    if isinstance(data, (list, tuple)):
        return [marked(v) for v in data]
    if isinstance(data, dict):
        if NONFINITE in data:
            raise ValueError(f"a state cannot hold the key {NONFINITE!r}, which the file uses itself")
        return {k: marked(v) for k, v in data.items()}
    return data


def loads(text: str | bytes) -> Any:
    """What ``dumps`` was given, tuples as lists."""
    return json.loads(text, object_hook=unmarked)


def unmarked(data: dict[str, Any]) -> Any:
    """A JSON object, or the float that it stands for."""
    return float(data[NONFINITE]) if NONFINITE in data else data


# Identifiers of predictions, and arguments of calls.


def encode_key(key: Any) -> Any:
    """An identifier as plain data: text, a number, a date or time, a UUID, or a tuple of these.

    What ``decode_key`` gives back is equal to it and has the same hash.

    >>> encode_key(("store 7", 12))
    {'tuple': ['store 7', 12]}
    """
    key = own_kind(key)
    if isinstance(key, (float, datetime.datetime)) and key != key:
        raise ValueError(f"an id must equal itself, got {described(key)}")
    if isinstance(key, (bool, int, float, str)):
        return key
    if isinstance(key, tuple):
        return {"tuple": [encode_key(k) for k in key]}
    if isinstance(key, datetime.datetime):
        return encode_time(key)
    if isinstance(key, datetime.date):
        return {"date": key.isoformat()}
    if isinstance(key, uuid.UUID):
        return {"uuid": str(key)}
    raise TypeError(
        "an id can be saved if it is a str, int, float, bool, date, datetime, UUID or a tuple of these, "
        f"got {described(key)}"
    )


def checked_key(key: Any) -> Any:
    """An identifier that can be saved, a scalar of numpy's as Python's own.

    >>> checked_key(np.int64(7))
    7
    """
    if type(key) is str or type(key) is int:
        return key
    encode_key(key)
    return own_kind(key)


def own_kind(key: Any) -> Any:
    """A scalar of numpy's as Python's own kind; anything else as it is."""
    if isinstance(key, np.generic) and key.dtype.kind in "biufU":
        return key.item()
    if isinstance(key, np.datetime64) and not np.isnat(key) and key == key.astype("datetime64[us]"):
        return key.astype("datetime64[us]").item()
    return key


def encode_time(time: datetime.datetime) -> dict[str, Any]:
    """A datetime as plain data; one that pandas made too."""
    if getattr(time, "nanosecond", 0):
        raise ValueError(f"times are saved to the microsecond, got {described(time)}: round it")
    if hasattr(time, "to_pydatetime"):
        time = time.to_pydatetime()
    zone = time.tzinfo
    if isinstance(zone, zoneinfo.ZoneInfo) and zone.key is not None:
        # In the hour that the clocks repeat, a time equals no time of another zone, a fixed offset included.
        return {"datetime": time.replace(tzinfo=None, fold=0).isoformat(), "zone": zone.key, "fold": time.fold}
    return {"datetime": time.isoformat()}


def decode_key(data: Any) -> Any:
    """The identifier that ``encode_key`` was given.

    >>> decode_key({"date": "2024-02-29"})
    datetime.date(2024, 2, 29)
    """
    if isinstance(data, (bool, int, float, str)):
        return data
    match data:
        case {"tuple": list(items)}:
            return tuple(decode_key(k) for k in items)
        case {"datetime": str(text), "zone": str(zone), "fold": fold}:
            return datetime.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone), fold=fold)
        case {"datetime": str(text)}:
            return datetime.datetime.fromisoformat(text)
        case {"date": str(text)}:
            return datetime.date.fromisoformat(text)
        case {"uuid": str(text)}:
            return uuid.UUID(text)
    raise ValueError(f"an id must be what encode_key gave, got {described(data)}")


def encode_value(value: Any) -> Any:
    """An argument as plain data: None, a number, what an id can be, and lists, tuples, dicts and arrays of these.

    >>> encode_value((1.5, [2, None]))
    {'tuple': [1.5, [2, None]]}
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or isinstance(value, float):  # NaN too, which is no id
        return value
    if isinstance(value, list):
        return [encode_value(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode_value(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[encode_key(k), encode_value(v)] for k, v in value.items()]}
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        array = np.asarray(value)
        if np.ma.isMaskedArray(value) or array.dtype.kind not in "biufU" or array.dtype.char == "g":
            raise TypeError(f"an array can be saved if it holds numbers or text, got {described(value)}")
        return {"array": array.tolist(), "dtype": array.dtype.str}
    try:
        return encode_key(value)
    except TypeError:
        raise TypeError(
            "an argument can be saved if it is None, a number, text, a date, datetime or UUID, an array, or a list, "
            f"tuple or dict of these, got {described(value)}"
        ) from None


def decode_value(data: Any) -> Any:
    """What ``encode_value`` was given, numpy's scalars as Python's, what is like an array as an array."""
    match data:
        case None:
            return None
        case list():
            return [decode_value(v) for v in data]
        case {"tuple": items}:
            return tuple(decode_value(v) for v in items)
        case {"dict": items}:
            return {decode_key(k): decode_value(v) for k, v in items}
        case {"array": numbers, "dtype": kind}:
            return np.array(numbers, dtype=kind)
    return decode_key(data)


# Files that are replaced as a whole.


def replace_file(path: Path, data: bytes, sync: bool) -> None:
    """Put these bytes in the place of a file, or leave the file as it is and raise."""
    with replacing(path, sync) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, sync: bool) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another at the end; after an error nothing has changed."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        old: int | None = os.stat(target).st_mode
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old):
        raise ValueError(f"{target!r} is not a regular file: give the path of a file")
    mode = 0o666 if old is None else stat.S_IMODE(old)  # what is open() to all is limited by the umask
    binary = getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, mode)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(descriptor)
        if old is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Wait until the disk has the names of the files in a directory, on systems that can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems: nothing to wait for
            raise
    finally:
        os.close(descriptor)


def leftovers(path: Path) -> list[str]:
    """The temporary files that killed processes left beside a file; one may belong to a process that saves now."""
    folder, name = os.path.split(os.path.realpath(path))
    temporary = re.compile(re.escape(f".{name}.") + r"\d+-[0-9a-f]{8}\.tmp")
    return [os.path.join(folder, file) for file in os.listdir(folder) if temporary.fullmatch(file)]
