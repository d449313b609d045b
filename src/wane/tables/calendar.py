"""Groups that a time says by itself: its weekday, its hour, its month."""

from __future__ import annotations

import numpy as np

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)
CALENDAR = ("weekday", "hour", "month")  # what can be told from a time


def calendar(name: str, times: np.ndarray) -> list[object]:
    """Return the weekday, hour or month of dates and times.

    >>> calendar("weekday", np.array(["2024-02-29", "2024-03-03"], dtype="datetime64[us]"))
    ['Thursday', 'Sunday']
    """
    if name == "hour":
        return (times.astype("datetime64[h]").astype(np.int64) % 24).tolist()
    if name == "month":
        return [MONTHS[m] for m in (times.astype("datetime64[M]").astype(np.int64) % 12).tolist()]
    days = times.astype("datetime64[D]").astype(np.int64)  # day 0 was a Thursday
    return [WEEKDAYS[d] for d in ((days + 3) % 7).tolist()]
