"""Plain data as JSON, and what is not plain, identifiers and arguments of calls, as plain data."""

from __future__ import annotations

import datetime
import json
import math
import uuid
import zoneinfo
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError, InputTypeError

LARGEST_TEXT = 1 << 20  # bytes of an array of text that may be wider than its longest entry
NONFINITE = "$float"  # JSON has no infinity: {"$float": "inf"}

# JSON in which every float comes back as it was, the infinite ones and NaN included.


def dumps(data: Any) -> str:
    """Plain data as JSON, in ASCII, without line breaks.

    >>> dumps([0.1, float("inf")])
    '[0.1, {"$float": "inf"}]'
    """
    try:
        text = ENCODER.encode(data)
        if f'"{NONFINITE}"' not in text:
            return text
    except ValueError:  # not finite, which is rare
        pass
    return ENCODER.encode(marked(data))


def marked(data: Any) -> Any:
    """The same data, each float that is not finite as an object."""
    if isinstance(data, float) and not math.isfinite(data):
        return {NONFINITE: repr(float(data))}
    if isinstance(data, (list, tuple)):
        return [marked(v) for v in data]
    if isinstance(data, dict):
        if NONFINITE in data:
            raise InputError(f"a state cannot hold the key {NONFINITE!r}, which the file uses itself", argument="state")
        return {k: marked(v) for k, v in data.items()}
    return data


def loads(text: str | bytes) -> Any:
    """What ``dumps`` was given, tuples as lists."""
    return DECODER.decode(text if isinstance(text, str) else text.decode())


def loads_small(text: str) -> Any:
    """The same for text that begins and ends with what it holds: in a third of the time."""
    if NONFINITE in text:
        return DECODER.decode(text)
    try:
        found, end = SCANNER.scan_once(text, 0)
    except StopIteration:
        end = None
    if end != len(text):
        raise json.JSONDecodeError("something else than one value", text, 0)
    return found


def unmarked(data: dict[str, Any]) -> Any:
    """A JSON object, or the float that it stands for."""
    return float(data[NONFINITE]) if NONFINITE in data else data


ENCODER = json.JSONEncoder(allow_nan=False)  # made once: that takes as long as a small piece of data
DECODER = json.JSONDecoder(object_hook=unmarked)
SCANNER: Any = json.JSONDecoder()


# Identifiers of predictions, and arguments of calls.


def encode_key(key: Any) -> Any:
    """An identifier as plain data: text, a number, a date or time, a UUID, or a tuple of these.

    What ``decode_key`` gives back is equal to it and has the same hash.

    >>> encode_key(("store 7", 12))
    {'tuple': ['store 7', 12]}
    """
    if type(key) is int or type(key) is str:
        return key
    key = own_kind(key)
    if isinstance(key, (float, datetime.datetime)) and key != key:
        raise InputError(f"an id must equal itself, got {described(key)}", argument="id")
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
    raise InputTypeError(
        "an id can be saved if it is a str, int, float, bool, date, datetime, UUID or a tuple of these, "
        f"got {described(key)}",
        argument="id",
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
        raise InputError(f"times are saved to the microsecond, got {described(time)}", argument="id", cure="round it")
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
    raise InputError(f"an id must be what encode_key gave, got {described(data)}", argument="id")


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
            raise InputTypeError(f"an array can be saved if it holds numbers or text, got {described(value)}")
        return {"array": array.tolist(), "dtype": array.dtype.str}
    try:
        return encode_key(value)
    except TypeError:
        raise InputTypeError(
            "an argument can be saved if it is None, a number, text, a date, datetime or UUID, an array, or a list, "
            f"tuple or dict of these, got {described(value)}"
        ) from None


def decode_array(entries: Any, kind: str) -> np.ndarray:
    """An array of numbers or text. Its size is that of its entries: no name of a type makes it larger."""
    try:
        wanted = np.dtype(kind)
        if wanted.kind in "biuf" and wanted.itemsize <= 8:
            return np.array(entries, dtype=wanted)
        if wanted.kind == "U":
            text = np.array(entries, dtype=str)
            return text.astype(wanted) if text.size * wanted.itemsize <= LARGEST_TEXT else text
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"an array cannot be read, of type {kind!r}: {error}", argument="dtype") from error
    raise InputError(f"an array holds numbers or text, got the type {kind!r}", argument="dtype")


def decode_value(data: Any) -> Any:
    """What ``encode_value`` was given, numpy's scalars as Python's, what is like an array as an array."""
    kind = type(data)
    if kind is float or kind is int or kind is str:
        return data
    match data:
        case None:
            return None
        case list():
            return [decode_value(v) for v in data]
        case {"tuple": items}:
            return tuple(decode_value(v) for v in items)
        case {"dict": items}:
            return {decode_key(k): decode_value(v) for k, v in items}
        case {"array": list(), "dtype": str()} | {"array": int() | float() | str(), "dtype": str()}:
            return decode_array(data["array"], data["dtype"])
    return decode_key(data)
