"""Numbers and times that are written as text. This is the one rule about them, for files and for data frames.

Text that is sorted as text puts 31.01.2024 after 29.02.2024, so that rows would learn from the future.
"""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError

MOMENT = "datetime64[us]"


def floats(cells: Any) -> np.ndarray:
    """Text as numbers; a ValueError if a cell is not a number, and a TypeError if it is not text."""
    if "_" in "".join(cells):
        raise InputError("1_000 is a number in Python only")
    return np.array(list(map(float, cells)), dtype=np.float64)


def read_times(cells: list[str]) -> tuple[np.ndarray, int | None]:
    """Read numbers, or dates and times in ISO form. The second result is the first row that is neither, or None.

    >>> read_times(["2024-01-31", "2024-02-29"])[0].tolist()[0]
    datetime.datetime(2024, 1, 31, 0, 0)
    >>> read_times(["31.01.2024", "29.02.2024"])[1]
    0
    """
    # Numbers and plain ISO dates are common, and can be read all at once.
    try:
        return floats(cells), None
    except ValueError:
        pass
    if all(len(cell) >= 10 and cell[4] == "-" for cell in cells):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy warns of a time zone: below
                return np.array(cells, dtype=MOMENT), None
        except (ValueError, Warning):
            pass
    # The rest is read one by one, to know time zones and to find the first cell that is no time.
    found = np.empty(len(cells), dtype=MOMENT)
    for i, cell in enumerate(cells):
        try:
            found[i] = instant(cell.strip().replace("Z", "+00:00"))
        except (ValueError, OverflowError):
            return found, i
    return found, None


def no_moment(name: str, cell: str) -> str:
    """Say that a cell of a column is no time, and what is one."""
    return (
        f"the column {name!r} must hold numbers or dates as in 2024-01-31, which put the rows in order, "
        f"got {described(cell)}"
    )


def instant(cell: str) -> datetime.datetime:
    """A moment in ISO form; in UTC if the cell says its zone."""
    moment = datetime.datetime.fromisoformat(cell)
    return moment.astimezone(datetime.timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment
