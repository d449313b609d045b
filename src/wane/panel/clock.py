"""The clock of a panel whose series learn from each other: which rows are one moment, and when each label is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wane.errors import InputError, InputTypeError
from wane.panel.batch import Rows
from wane.panel.sorting import ranked

if TYPE_CHECKING:
    from wane.panel.panel import Panel

NEVER = np.iinfo(np.intp).max


def checked_times(times: Any, rows: int, order: np.ndarray | None) -> np.ndarray | None:
    """Return times as an array, one for each row, in this order; text is an error, because it sorts by letters."""
    if times is None:
        return None
    array = np.asarray(times)
    if array.shape != (rows,):
        raise InputError(f"must be one for each of the {rows} rows, got the shape {array.shape}", about="times")
    if array.dtype.kind in "SU" or (array.dtype.kind == "O" and rows and isinstance(array[0], str)):
        raise InputTypeError("are text, which sorts by letters", about="times", cure="convert them to dates or numbers")
    if array.dtype.kind == "O":
        try:
            np.unique(array)
        except TypeError as error:
            raise InputTypeError(f"cannot be compared with each other: {error}", about="times") from None
    return array if order is None else array[order]


def moments_of(times: np.ndarray | None, starts: np.ndarray, clock: Any) -> tuple[np.ndarray, bool]:
    """Number the moments of rows that are sorted by series and in time.

    Returns the moment of each row, and whether the first moment is the one of the last call, ``clock``. Without times,
    the k-th rows of all series are one moment.
    """
    if times is None:
        count = np.diff(starts)
        return np.arange(starts[-1]) - np.repeat(starts[:-1], count), False
    if not len(times):
        return np.zeros(0, dtype=np.intp), False
    moments = ranked(times)
    if clock is None:
        return moments, False
    first = times[np.argmin(moments)]
    try:
        back, same = bool(first < clock), bool(first == clock)
    except TypeError:
        problem = f"must be of the same kind as those of the last call, {clock!r}, got {first!r}"
        raise InputTypeError(problem, about="time") from None
    if back:
        raise InputError(
            f"must not go back: the panel has seen {clock}, got {first}",
            about="time",
            row=int(np.argmin(moments)),
            cure="give the rows of all series together, in order of time, or begin with a new panel",
        )
    return moments, same


def clock_of(times: np.ndarray | None, clock: Any) -> Any:
    """Return the last time so far, in a form that files hold; None if times are of a kind that cannot be compared."""
    if times is None or not len(times) or times.dtype.kind not in "iufM":
        return clock
    last = times.max()
    return last if clock is None or last > clock else clock


def labels_known(moments: np.ndarray, starts: np.ndarray, delay: int) -> np.ndarray:
    """Return the moment before which each label is learned: the one after that of the row ``delay`` further on."""
    if delay == 0:
        return moments + 1
    known = np.full(len(moments), NEVER)
    known[:-delay] = moments[delay:] + 1
    known[np.arange(len(moments)) >= np.repeat(starts[1:] - delay, np.diff(starts))] = NEVER  # none is so much later
    return known


def older_labels_known(panel: Panel, rows: Rows, moments: np.ndarray, same: bool, delay: int) -> np.ndarray:
    """Return the same for the rows that wait from earlier calls.

    A label that was due at the end of the last call is learned before the first moment that is later than that call's.
    """
    tail = panel.tail
    known = np.full(len(tail.place), NEVER)
    if len(moments):
        known[tail.pos + panel.lag <= panel.seen[tail.place]] = 1 if same else 0
    if len(rows.places) and len(tail.place):
        # The place of the series among those of this call, if it is there, and its row that is ``delay`` later.
        rank = np.argsort(rows.places, kind="stable")
        at = np.minimum(np.searchsorted(rows.places[rank], tail.place), len(rank) - 1)
        series = rank[at]
        later = tail.pos + delay - (rows.ends - np.diff(rows.starts))[series] + rows.starts[series]
        there = (rows.places[series] == tail.place) & (later < rows.starts[series + 1]) & (known == NEVER)
        inside = np.maximum(later[there], rows.starts[series[there]])
        known[there] = np.where(later[there] < rows.starts[series[there]], 1 if same else 0, moments[inside] + 1)
    return known
