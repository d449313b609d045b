"""Sorting the rows of a data frame, and comparing each row with the one before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.errors import AmbiguousDatesError, InputError
from wane.tables.text import no_moment, read_times

CONVERT = "convert the column to dates first"


def one_sort(keys: list[np.ndarray]) -> np.ndarray | None:
    """Return the order of the rows by these keys, from a single sort of whole numbers.

    Each row becomes one number of 64 bits that holds its keys and its row, so that no key is sorted on its own. Rows
    with equal keys keep their order. Returns None if the keys do not fit.

    >>> one_sort([np.array([2, 1, 2]), np.array(["2024-03-01", "2024-03-02", "2024-02-28"], "M8[D]")])
    array([1, 2, 0])
    """
    rows = total = len(keys[0])
    packed = np.zeros(rows, dtype=np.int64)
    for key in keys:
        steps = steps_of(key)
        if steps is None:
            return None
        span = int(steps.max()) + 1
        total *= span
        if total >= 2**63:
            return None
        packed *= span
        packed += steps
    packed *= rows
    packed += np.arange(rows)
    packed.sort()
    packed %= rows
    return packed.astype(np.intp, copy=False)


def steps_of(values: np.ndarray) -> np.ndarray | None:
    """Write whole numbers or times as steps from the smallest of them; times are often whole days. None if too large.

    >>> steps_of(np.array(["2024-03-01", "2024-03-08", "2024-02-23"], "M8[ns]"))
    array([1, 2, 0])
    """
    if values.dtype.kind not in "iumM":
        return None
    whole = values if values.dtype.kind in "iu" else values.astype(np.int64)
    low, high = int(whole.min()), int(whole.max())
    if max(abs(low), abs(high)) >= 2**62:
        return None
    steps = whole.astype(np.int64, copy=False) - low
    unit = 1 if values.dtype.kind in "iu" else max(int(np.gcd.reduce(steps)), 1)
    return steps if unit == 1 else steps // unit


def ranked(values: np.ndarray) -> np.ndarray:
    """Number the distinct values from the smallest on, without a sort if they are close to each other.

    >>> ranked(np.array([7, 3, 7, 5]))
    array([2, 0, 2, 1])
    """
    steps = steps_of(values) if len(values) else None
    most = 0 if steps is None else int(steps.max())
    if steps is None or most > 4 * len(steps) + 1024:
        return np.unique(values, return_inverse=True)[1].astype(np.intp, copy=False)
    there = np.zeros(most + 1, dtype=np.intp)
    there[steps] = 1
    return (np.cumsum(there) - 1)[steps]


def moments(name: str, times: np.ndarray) -> np.ndarray:
    """Return times that can be sorted: text is read, as the command line does, and text that is no time is an error."""
    if times.dtype.kind not in "OU" or not all(isinstance(time, str) for time in times):
        return times
    cells = list(map(str, times))
    try:
        found, bad = read_times(cells, name)
    except AmbiguousDatesError as error:
        raise InputError(error.problem, argument="time", cure=CONVERT) from None
    if bad is not None or np.isnan(found).any():
        row = bad if bad is not None else int(np.argmax(np.isnan(found)))
        raise InputError(no_moment(name, cells[row]), argument="time", row=row, cure=CONVERT)
    return found


def neighbours(series: Any) -> tuple[Any, Any]:
    """Return all values but the last, and all but the first. Unlike a shift, this keeps integers integers."""
    n = max(len(series) - 1, 0)
    return series.head(n), series.tail(n)


def boolean(series: Any) -> np.ndarray:
    """Return a comparison as an array of bools; missing values are False."""
    return np.array(series.fill_null(False).to_numpy(), dtype=bool)


def refuse_duplicates(found: np.ndarray, order: np.ndarray | None, duplicates: str, time: str) -> None:
    """Raise an error about the first two rows of a stream with the same time, unless the user keeps them."""
    if duplicates == "error" and found.any():
        t = int(np.argmax(found))
        a, b = (t, t + 1) if order is None else (int(order[t]), int(order[t + 1]))
        raise InputError(
            f"rows {a} and {b} are of one stream and have the same {time!r}",
            argument="duplicates",
            cure="drop one, or take duplicates='keep' to have them in the order of the frame",
        )


def order_of(keys: np.ndarray) -> np.ndarray:
    """Sort whole numbers from 0 on, as ``np.argsort(keys, kind="stable")`` does, 16 bits at a time."""
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    high = keys >> 16
    while high.any():
        order = order[np.argsort((high & 0xFFFF).astype(np.uint16)[order], kind="stable")]
        high = high >> 16
    return order
