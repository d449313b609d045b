"""Widths: their mean, that of every window, and the best a fixed width could do there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import share, whole
from wane.metrics.base import WIDTH, Total, Window, blocks_of_windows, labelled, rank
from wane.state.stateful import Stateful


def width(widths: Any) -> float:
    """The mean width; inf if one is infinite.

    >>> width([1.0, 2.0, 6.0])
    3.0
    """
    w = labelled("widths", WIDTH.column("widths", widths))
    return math.fsum(w) / len(w)


class Width(Stateful):
    """``width`` of the rounds so far.

    >>> metric = Width()
    >>> for w in [1.0, 2.0, 6.0]:
    ...     metric.add(w)
    >>> metric.value
    3.0
    """

    memory = ("total",)

    def __init__(self) -> None:
        """Nothing seen."""
        self.total = Total()

    def add(self, width: Any) -> None:
        """A round; NaN is left out."""
        w = WIDTH.one("width", width)
        if not math.isnan(w):
            self.total.add(w)

    @property
    def value(self) -> float:
        """The mean width; NaN before the first."""
        return self.total.mean


def local_width(widths: Any, k: int = 100) -> np.ndarray:
    """The mean width in every window of k rounds; inf where one is infinite.

    Returns shape (T - k + 1,): entry t is that of rounds t to t + k - 1; empty if the run is shorter than k.

    >>> local_width([1.0, 3.0, 5.0], k=2)
    array([2., 4.])
    """
    k = whole("k", k, 1)
    return window_sums(labelled("widths", WIDTH.column("widths", widths)), k) / k


class OfWidths(Stateful):
    """What is known of the widths of the last k rounds."""

    extents = ("k",)

    def __init__(self, k: int) -> None:
        """Nothing seen."""
        self.window = Window(k)
        self.k = self.window.k

    def add(self, width: Any) -> None:
        """A round; NaN is left out."""
        w = WIDTH.one("width", width)
        if not math.isnan(w):
            self.window.push(w)

    @property
    def value(self) -> float:
        """Of the last k rounds; NaN while there are fewer."""
        return self._of(self.window.numbers) if self.window.full else math.nan

    def _of(self, widths: np.ndarray) -> float:
        raise NotImplementedError


class LocalWidth(OfWidths):
    """``local_width`` of the last k rounds; summed when it is asked for, so that nothing drifts.

    >>> metric = LocalWidth(k=2)
    >>> for w in [1.0, 3.0, 5.0]:
    ...     metric.add(w)
    >>> metric.value
    4.0
    """

    parameters = ("k",)
    memory = ("window",)

    def __init__(self, k: int = 100) -> None:
        """Nothing seen."""
        super().__init__(k)

    def _of(self, widths: np.ndarray) -> float:
        return math.fsum(widths) / self.k


def best_fixed_local_width(optimal_widths: Any, alpha: float, k: int = 100) -> np.ndarray:
    """The best fixed width of every window of k rounds: the 1 - alpha quantile of the optimal widths.

    That is the smallest width w of the window such that at least a share 1 - alpha of the window is at most w.

    Args:
        optimal_widths: (T,), that of the smallest set which covers the label of the round.
        alpha: the share of rounds that may be missed.
        k: the length of a window.

    Returns shape (T - k + 1,): entry t is that of rounds t to t + k - 1; empty if the run is shorter than k.

    >>> best_fixed_local_width([5.0, 1.0, 2.0, 4.0, 3.0], alpha=0.25, k=4)
    array([4., 3.])
    """
    level, k = share("alpha", alpha), whole("k", k, 1)
    w = labelled("optimal_widths", WIDTH.column("optimal_widths", optimal_widths))
    best = np.empty(max(len(w) - k + 1, 0))
    for place, (rows,) in blocks_of_windows([w], k):
        best[place] = quantiles(rows, level)
    return best


class BestFixedLocalWidth(OfWidths):
    """``best_fixed_local_width`` of the last k rounds; ``add`` takes the optimal width.

    >>> metric = BestFixedLocalWidth(alpha=0.25, k=4)
    >>> for w in [5.0, 1.0, 2.0, 4.0, 3.0]:
    ...     metric.add(w)
    >>> metric.value
    3.0
    """

    parameters = ("alpha", "k")
    memory = ("window",)

    def __init__(self, alpha: float, k: int = 100) -> None:
        """Nothing seen."""
        super().__init__(k)
        self.alpha = share("alpha", alpha)

    def _of(self, widths: np.ndarray) -> float:
        return quantiles(widths, self.alpha).item()


def quantiles(rows: np.ndarray, alpha: float) -> np.ndarray:
    """The smallest entry of each row with at least a share 1 - alpha of the row at or below it.

    >>> ten = np.arange(1.0, 11.0)
    >>> quantiles(ten, 0.7).item(), quantiles(ten, 0.69).item()
    (3.0, 4.0)
    """
    i = rank(alpha, rows.shape[-1])
    return np.partition(rows, i, axis=-1)[..., i]


def window_sums(x: np.ndarray, k: int) -> np.ndarray:
    """The sum of every window of k entries, in linear time and without subtraction.

    Blocks of k entries are added up from both ends: a window is the end of one block and the beginning of the next, so
    that no entry outside it, however large, leaves a trace.

    >>> window_sums(np.array([1e30, 1.0, 2.0, 3.0]), 2)
    array([1.e+30, 3.e+00, 5.e+00])
    """
    n = len(x)
    if n < k:
        return np.empty(0)
    blocks = np.concatenate([x, np.zeros(-n % k)]).reshape(-1, k)
    ends = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1].ravel()[: n - k + 1]
    beginnings = np.cumsum(blocks, axis=1).ravel()[k - 1 : n]
    return np.where(np.arange(n - k + 1) % k == 0, ends, ends + beginnings)
