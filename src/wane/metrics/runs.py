"""Misses in a row, and how long a method takes to cover again after a shift."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from wane.checks import described, number, share, whole
from wane.errors import InputError, InputTypeError
from wane.metrics.base import SLACK, hits, labelled, miss_of, misses, rounds_at_most
from wane.metrics.coverage import OfWindows, window_misses
from wane.state.limits import MOST
from wane.state.stateful import Stateful


def longest_run(covered: Any) -> int:
    """The most misses in a row.

    >>> longest_run([True, False, False, True, False])
    2
    """
    missed = misses(covered)
    fences = np.flatnonzero(np.concatenate([[0], missed, [0]]) == 0)
    return int(np.diff(fences).max()) - 1


class LongestRun(Stateful):
    """``longest_run`` of the rounds so far.

    >>> metric = LongestRun()
    >>> for hit in [True, False, False, True, False]:
    ...     metric.add(hit)
    >>> metric.value
    2
    """

    memory = ("rounds", "current", "longest")

    def __init__(self) -> None:
        """Nothing seen."""
        self.rounds = self.current = self.longest = 0

    def add(self, covered: Any) -> None:
        """A round; without a label it neither ends a run nor makes it longer."""
        miss = miss_of(covered)
        if miss is not None:
            self.rounds += 1
            self.current = (self.current + 1) * miss
            self.longest = max(self.longest, self.current)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Rounds are counted."""
        return dict.fromkeys(("rounds", "current", "longest"), (0, MOST))

    def misfit(self) -> str | None:
        """A run is not longer than the longest, and that not longer than all rounds."""
        return None if self.current <= self.longest <= self.rounds else "longest"

    @property
    def value(self) -> float:
        """The most misses in a row, a whole number; NaN before the first label."""
        return self.longest if self.rounds else math.nan


def recovery(covered: Any, shifts: Any, alpha: float, k: int = 50, tolerance: float = 0.05) -> list[int | None]:
    """After how many rounds coverage is right again, for each shift.

    That is the smallest n >= 0 such that the k rounds which begin n rounds after the shift, and end before the next
    shift or the end of the run, have a coverage within ``tolerance`` of 1 - alpha, above or below; None if there is
    none. Misses are compared as whole numbers: between k (alpha - tolerance) and k (alpha + tolerance), and a product
    within 1e-13 k of a whole number is that number.

    Args:
        covered: (T,).
        shifts: the rounds at which something changed, in order, from 0 to T.
        alpha: the share of rounds that may be missed.
        k: rounds that are judged together. The default fits several times between shifts that are some hundred rounds
            apart, and at alpha = 0.1 tells 90 % from 70 %: of independent rounds, 77 % of the windows at the former and
            0.7 % of those at the latter have 3 to 7 misses.
        tolerance: of coverage. The default is 1.2 standard deviations of such a window: a method at its level passes
            at once or soon, and one that covers everything does not. Give a smaller one if alpha is at most 0.05.

    >>> recovery([False] * 4 + [True, False] * 4, shifts=[0, 8], alpha=0.5, k=4, tolerance=0.0)
    [3, 0]
    >>> recovery([False] * 4, shifts=[0], alpha=0.5, k=2)
    [None]
    """
    array = hits(covered)
    labelled("covered", array)
    k = whole("k", k, 1)
    fewest, most = _allowed(share("alpha", alpha), k, tolerance)
    marks = _in_order(shifts, len(array))
    known = ~np.isnan(array)
    before = np.concatenate([[0], np.cumsum(known)])  # labels before each round
    ends = [*before[marks], before[-1]]
    missed = (array[known] == 0.0).astype(np.int64)
    found: list[int | None] = []
    for start, end in itertools.pairwise(ends):
        counts = window_misses(missed[start:end], k)
        good = (counts >= fewest) & (counts <= most)
        found.append(int(np.argmax(good)) if good.any() else None)
    return found


class Recovery(OfWindows):
    """``recovery`` after the last shift; rounds before the first shift count for nothing.

    Attributes:
        shifts: how many were marked.
        recovered: how many of them were followed by recovery.

    >>> metric = Recovery(alpha=0.5, k=4, tolerance=0.0)
    >>> _ = metric.shift()
    >>> for hit in [False] * 4 + [True, False] * 2:
    ...     metric.add(hit)
    >>> metric.value
    3
    """

    parameters = ("alpha", "k", "tolerance")
    memory = ("local", "shifts", "recovered", "found")

    def __init__(self, alpha: float, k: int = 50, tolerance: float = 0.05) -> None:
        """Nothing seen."""
        super().__init__(alpha, k)
        self.fewest, self.most = _allowed(self.alpha, self.k, tolerance)
        self.tolerance = number("tolerance", tolerance)
        self.shifts = self.recovered = 0
        self.found = -1  # the recovery from the last shift; -1: not yet

    def shift(self) -> float:
        """Something changes with the next round; returns the ``value`` of the shift before this one."""
        last = self.value
        self.shifts += 1
        self.found = -1
        self.local.reset()
        return last

    def add(self, covered: Any) -> None:
        """A round."""
        full = self.local.ends_window(covered)
        if full and self.shifts and self.found < 0 and self.fewest <= self.local.misses <= self.most:
            self.found = self.local.window.seen - self.k
            self.recovered += 1

    def limits(self) -> dict[str, tuple[float, float]]:
        """Shifts are counted; -1 says that the last has not been recovered from."""
        return {"shifts": (0, MOST), "recovered": (0, MOST), "found": (-1, MOST)}

    @property
    def value(self) -> float:
        """Rounds until coverage was right again, a whole number; NaN while it is not, and before the first shift."""
        return self.found if self.found >= 0 else math.nan


def _allowed(alpha: float, k: int, tolerance: Any) -> tuple[int, int]:
    """The fewest and the most misses of k rounds that are within the tolerance."""
    wide = number("tolerance", tolerance)
    if not 0.0 <= wide <= 1.0:
        raise InputError(f"tolerance, of coverage, must lie in [0, 1], got {tolerance!r}", argument="tolerance")
    fewest = max(0, math.ceil(k * (alpha - wide - SLACK)))
    most = min(k, rounds_at_most(alpha + wide, k))
    if fewest > most:
        raise InputError(
            f"no whole number of misses in k={k} rounds is within tolerance={wide:g} of alpha={alpha:g}",
            argument="tolerance",
            cure="give a larger k or tolerance",
        )
    return fewest, most


def _in_order(shifts: Any, rounds: int) -> list[int]:
    try:
        marks = [whole("shifts", s, 0, rounds + 1) for s in shifts]
    except TypeError:
        raise InputTypeError(f"must be rounds, got {described(shifts)}", about="shifts") from None
    if marks != sorted(marks):
        raise InputError(f"must be in order, got {described(marks)}", about="shifts")
    return marks
