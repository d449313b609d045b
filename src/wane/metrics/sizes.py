"""Sizes of label sets: how large, how often empty, how often one label."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.metrics.base import WIDTH, labelled
from wane.state.limits import MOST
from wane.state.stateful import Stateful

LARGEST_SIZE = 2**53  # whole numbers up to it are floats
WANTED = f"a whole number from 0 to {LARGEST_SIZE}, or inf, or NaN where it is missing"


@dataclasses.dataclass(frozen=True)
class SetSizes:
    """What the sizes of label sets were.

    Args:
        mean: inf if a size was infinite.
        median: the mean of the two middle sizes if there are two.
        largest: the largest size.
        empty: the share of sets with no label.
        singleton: the share of sets with one label.
        infinite: the share of infinite sizes.
        histogram: how many sets had each finite size, from small to large.
    """

    mean: float
    median: float
    largest: float
    empty: float
    singleton: float
    infinite: float
    histogram: dict[int, int]


def set_sizes(sizes: Any) -> SetSizes:
    """The sizes of label sets, summed up. They are whole numbers, or inf for a set that was not bounded.

    >>> s = set_sizes([0, 1, 1, 4])
    >>> s.mean, s.median, s.largest, s.empty, s.singleton, s.histogram
    (1.5, 1.0, 4, 0.25, 0.5, {0: 1, 1: 2, 4: 1})
    """
    array = WIDTH.column("sizes", sizes)
    if not (good := np.isnan(array) | _is_size(array)).all():
        t = int(np.argmin(good))
        raise InputError(f"must be {WANTED}, got {array[t]}", about="sizes", row=t)
    kept = labelled("sizes", array)
    finite = kept[np.isfinite(kept)]
    values, counts = np.unique(finite, return_counts=True)
    histogram = dict(zip(map(int, values), map(int, counts), strict=True))
    return _summed_up(histogram, len(kept) - len(finite))


class SizeCounts(Stateful):
    """``set_sizes`` of the rounds so far. Its memory is a count for each size that there was.

    >>> metric = SizeCounts()
    >>> for size in [0, 1, 1, 4]:
    ...     metric.add(size)
    >>> metric.value.mean, metric.value.histogram
    (1.5, {0: 1, 1: 2, 4: 1})
    """

    memory = ("distinct", "infinite", "sizes", "tally")  # in this order: the first makes room for the last two
    extents = ("distinct",)

    def __init__(self) -> None:
        """Nothing seen."""
        self.histogram: dict[int, int] = {}
        self.infinite = 0

    def add(self, size: Any) -> None:
        """A round; NaN is left out."""
        x = WIDTH.one("size", size)
        if math.isnan(x):
            return
        if not _is_size(x):
            raise InputError(f"must be {WANTED}, got {size!r}", about="size")
        if x == math.inf:
            self.infinite += 1
        else:
            self.histogram[int(x)] = self.histogram.get(int(x), 0) + 1

    @property
    def value(self) -> SetSizes:
        """The sizes summed up; every number is NaN before the first."""
        return _summed_up(dict(sorted(self.histogram.items())), self.infinite)

    @property
    def distinct(self) -> int:
        """How many finite sizes there were; setting it (as reading a state does) makes room for so many."""
        return len(self.histogram)

    @distinct.setter
    def distinct(self, distinct: int) -> None:
        self.histogram = {-1 - i: 0 for i in range(distinct)}  # to be replaced

    @property
    def sizes(self) -> np.ndarray:
        """The finite sizes."""
        return np.array(list(self.histogram), dtype=float)

    @sizes.setter
    def sizes(self, sizes: np.ndarray) -> None:
        if not np.all(_is_size(sizes)):
            raise InputError(f"every size must be {WANTED}, got {sizes}", argument="sizes")
        self.histogram = dict(zip(map(int, sizes), self.histogram.values(), strict=True))

    @property
    def tally(self) -> np.ndarray:
        """How many sets had each."""
        return np.array(list(self.histogram.values()), dtype=float)

    @tally.setter
    def tally(self, tally: np.ndarray) -> None:
        self.histogram = dict(zip(self.histogram, map(int, tally), strict=True))

    def limits(self) -> dict[str, tuple[float, float]]:
        """Sizes, and sets of each."""
        return {"distinct": (0, MOST), "infinite": (0, MOST), "sizes": (0.0, LARGEST_SIZE), "tally": (1.0, MOST)}


def _is_size(x: Any) -> Any:
    return ((x >= 0.0) & (x <= LARGEST_SIZE) & (np.floor(x) == x)) | (x == np.inf)


def _summed_up(histogram: dict[int, int], infinite: int) -> SetSizes:
    finite = sum(histogram.values())
    n = finite + infinite
    if not n:
        return SetSizes(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, {})
    total = sum(size * count for size, count in histogram.items())
    cumulative = list(itertools.accumulate(histogram.values()))

    def ranked(i: int) -> float:
        return next((size for size, c in zip(histogram, cumulative, strict=True) if c > i), math.inf)

    return SetSizes(
        mean=math.inf if infinite else total / n,
        median=(ranked((n - 1) // 2) + ranked(n // 2)) / 2,
        largest=ranked(n - 1),
        empty=histogram.get(0, 0) / n,
        singleton=histogram.get(1, 0) / n,
        infinite=infinite / n,
        histogram=histogram,
    )
