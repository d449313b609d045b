"""Checks at the boundary: clean data, or an error that says what was given, what is wanted and what to do."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wane.errors import InputError, InputTypeError
from wane.vectors import within

INFINITY = float("inf")
NOT_REAL = (str, bytes, bytearray, complex)  # float() would take some of these
LARGEST = 1e300  # an entry of a vector: its norm then fits a float in any dimension below 1e16
SMALLEST_SHARE = 1e-9  # fewer misses than one in a billion rounds cannot be told from none
COUNTABLE = 1 << 62  # no count gets here
MOST_KEPT = 10_000_000  # how many numbers a window or a synthetic stream may hold
MOST_HEARD = 1000  # numbers beside an output, of which a regression keeps all products
MOST_COORDINATES = 1_000_000_000  # of a vector, which takes 8 GB then
EXTREME = 1e150  # hyperparameters lie within [1/EXTREME, EXTREME], so that products of two of them are finite


def number(name: str, value: Any) -> float:
    """A finite float from any real scalar."""
    x = value if type(value) is float else scalar(name, value)
    if not math.isfinite(x):
        raise InputError(f"must be finite, got {value!r}", about=name, cure="drop or clean this round")
    return x


def discount_factor(value: Any, name: str = "discount") -> float:
    """A discount: finite and not negative."""
    x = value if type(value) is float else scalar(name, value)
    if not (x >= 0.0 and math.isfinite(x)):
        raise InputError(f"must be a finite number >= 0 (0 restarts, 1 forgets nothing), got {value!r}", about=name)
    return x


def scalar(name: str, value: Any) -> float:
    """A float from any real scalar, not from text, complex numbers, times or arrays with axes."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")  # numpy's letter; other libraries' types have none
    if isinstance(value, NOT_REAL) or getattr(value, "ndim", 0) != 0 or kind not in "fiub":
        raise InputTypeError(f"must be one real number, got {described(value)}", about=name)
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"must fit a float, got {described(value)}", about=name) from None
    except (TypeError, ValueError):
        raise InputTypeError(f"must be one real number, got {described(value)}", about=name) from None


def positive(name: str, value: Any) -> float:
    """A positive hyperparameter."""
    x = scalar(name, value)
    if not 1.0 / EXTREME <= x <= EXTREME:
        raise InputError(f"must be a number in [{1.0 / EXTREME:g}, {EXTREME:g}], got {value!r}", about=name)
    return x


def share(name: str, value: Any) -> float:
    """A share strictly between 0 and 1, at least 1e-9 away from both."""
    x = scalar(name, value)
    if not SMALLEST_SHARE <= x <= 1.0 - SMALLEST_SHARE:
        problem = f"{name}, the share of misses, must lie in [1e-9, 1 - 1e-9], got {value!r}"
        raise InputError(problem, argument=name, cure="0.1 covers 90 %")
    return x


def alpha_of(coverage: Any) -> float:
    """The share of misses that a coverage allows.

    >>> alpha_of(0.9)
    0.1
    """
    x = scalar("coverage", coverage)
    if not 0.0 < x < 1.0:
        raise InputError(f"must lie between 0 and 1, got {coverage!r}", about="coverage", cure="0.9 covers 90 %")
    return round(1.0 - x, 12)


def whole(name: str, value: Any, least: int, below: float = COUNTABLE) -> int:
    """A whole number from ``least`` on, and below a limit: by default one that a count of 64 bits cannot reach."""
    found = not isinstance(value, (bool, np.bool_, type)) and hasattr(value, "__index__")
    found = found and getattr(value, "ndim", 0) == 0
    found = found and getattr(getattr(value, "dtype", None), "kind", "i") in "iu"
    if not found or not least <= value.__index__() < below:
        small = below == COUNTABLE and not (found and value.__index__() >= below)
        limit = f"at least {least}" if small else f"in [{least}, {below})"
        raise InputError(f"must be a whole number, {limit}, got {described(value)}", about=name)
    return int(value.__index__())


def room(name: str, value: Any, least: int, most: int = MOST_KEPT) -> int:
    """A whole number of things that memory is taken for: a window, or the rounds of a stream."""
    count = whole(name, value, least)
    if count > most:
        raise InputError(f"must be at most {most}, got {described(value)}", about=name)
    return count


def listed(name: str, values: Any) -> list[Any]:
    """A list of what was given one by one; one value by itself is an error."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        raise InputTypeError(f"must be several values, in a list or an array, got {described(values)}", about=name)
    return list(values)


def dimension(value: Any) -> int:
    """A number of coordinates."""
    if isinstance(value, (bool, type)) or not hasattr(value, "__index__") or getattr(value, "ndim", 0) != 0:
        raise InputTypeError(f"must be a whole number, got {described(value)}", about="dim")
    return room("dim", value, 1, MOST_COORDINATES)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """A word out of a few."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"must be {' or '.join(map(repr, choices))}, got {described(value)}", about=name)
    return value


def flag(name: str, value: Any) -> bool:
    """True or False; 1 and 0 will do."""
    if not isinstance(value, (bool, np.bool_, int, float)) or value not in (0, 1):
        raise InputTypeError(f"must be True or False, got {described(value)}", about=name)
    return bool(value)


def function(name: str, value: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise InputTypeError(f"must be a function, got {described(value)}", about=name)
    return value


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Values by their names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputTypeError(f"must be a dict with names as keys, got {described(value)}", about=name)
    return value


def file_path(name: str, value: Any) -> str:
    """The path of a file. A number is none: the system would take it for a file that the process has open."""
    if not isinstance(value, (str, os.PathLike)):
        raise InputTypeError(f"must be the path of a file, got {described(value)}", about=name)
    path = os.fsdecode(value)
    if not path or "\0" in path:
        raise InputError(f"must be the path of a file, got {described(value)}", about=name)
    return path


def vector(name: str, value: Any, size: int) -> np.ndarray:
    """A contiguous float64 vector of that many entries, each of at most 1e300; it may share the memory of ``value``."""
    array = real_array(name, value)
    if array.shape != (size,):
        raise InputError(f"must have shape ({size},), got {array.shape}", about=name)
    if not within(array.data, LARGEST):
        problem = f"must be finite, with entries up to {LARGEST:g}, got {array}"
        raise InputError(problem, about=name, cure="drop or clean this round")
    return array


def rows(name: str, values: Any, width: int | None) -> np.ndarray:
    """A contiguous float64 array, (T,) or (T, width), finite; an error names the first bad round."""
    array = real_array(name, values)
    if array.size == 0:
        array = array.reshape((0,) if width is None else (0, width))
    wanted = "(rounds,)" if width is None else f"(rounds, {width})"
    if array.ndim != (1 if width is None else 2) or array.shape[1:] != (() if width is None else (width,)):
        raise InputError(f"must have shape {wanted}, got {array.shape}", about=name)
    limit = np.finfo(float).max if width is None else LARGEST
    if array.size and not (array.max() <= limit and array.min() >= -limit):  # false for NaN too
        good = np.abs(array) <= limit
        t = int(np.argmin(good if width is None else good.all(axis=1)))
        what = "finite" if width is None else f"finite, with entries up to {LARGEST:g}"
        cure = f"drop or clean round {t}; nothing was learned"
        raise InputError(f"must be {what}, got {array[t]}", about=name, row=t, cure=cure)
    return array


def discount_factors(values: Any, rounds: int) -> np.ndarray:
    """One discount a round, from a number or an array."""
    array = real_array("discounts", values)
    if array.ndim == 0:
        array = np.full(rounds, array)
    if array.shape != (rounds,):
        problem = f"must be one number or have shape ({rounds},), one a round, got {array.shape}"
        raise InputError(problem, about="discounts")
    if rounds and not (array.min() >= 0.0 and array.max() < INFINITY):
        t = int(np.argmin((array >= 0.0) & (array < INFINITY)))
        problem, cure = f"must be a finite number >= 0, got {array[t]}", "use 0 for a restart, 1 to forget nothing"
        raise InputError(problem, about="discounts", row=t, cure=cure)
    return array


def real_array(name: str, values: Any) -> np.ndarray:
    """A contiguous float64 array of real numbers; it may share the memory of ``values``."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        problem = "must hold numbers, got an array with masked entries"
        raise InputTypeError(problem, about=name, cure="fill or drop them")
    try:
        array = np.asarray(values)
    except ValueError:
        problem = f"must be an array of numbers, got {described(values)}: rows differ in length"
        raise InputError(problem, about=name) from None
    if array.dtype.kind not in "fiub" and not (array.dtype.kind == "O" and array.size == 0):
        raise InputTypeError(f"must hold real numbers, got {described(values)} of type {array.dtype}", about=name)
    with np.errstate(over="ignore"):  # a wider float that does not fit becomes infinite, and is refused as such
        return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else np.array(array, dtype=np.float64)


def described(value: Any) -> str:
    """A value in an error message, cut short."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
