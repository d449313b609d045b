"""Discounts that follow a clock: how much the past has aged between two labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import positive, real_array
from wane.errors import InputError


class HalfLife:
    """The past loses half of its weight in ``half_life`` units of time, however irregular the labels are.

    Args:
        half_life: in the unit of the timestamps (numbers, such as seconds).

    >>> clock = HalfLife(10.0)
    >>> clock.discounts([0.0, 10.0, 15.0]).round(4)     # one a round, for ``run``
    array([1.    , 0.5   , 0.7071])
    >>> clock.discount(25.0)     # for the next ``update``
    0.5
    """

    def __init__(self, half_life: float) -> None:
        """A clock that has not started."""
        self.half_life = positive("half_life", half_life)
        self.last: float | None = None

    def discount(self, timestamp: float) -> float:
        """The discount that arrives with a label at this time; 1 for the first."""
        return float(self.discounts([timestamp])[0])

    def discounts(self, timestamps: Any) -> np.ndarray:
        """The discounts that arrive with labels at these times, which must not go back."""
        times = real_array("timestamps", timestamps)
        if times.ndim != 1 or not np.isfinite(times).all():
            raise InputError(f"must be a row of finite numbers, got shape {times.shape}", about="timestamps")
        if times.size == 0:
            return np.empty(0)
        with np.errstate(over="ignore"):
            gaps = np.diff(times, prepend=times[0] if self.last is None else self.last)
        if (gaps < 0.0).any():
            t = int(np.argmax(gaps < 0.0))
            raise InputError(
                f"= {times[t]} lies before the one before it", about="timestamps", row=t, cure="sort the labels by time"
            )
        self.last = float(times[-1])
        with np.errstate(over="ignore"):
            return np.asarray(0.5 ** (gaps / self.half_life))
