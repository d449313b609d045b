"""Coverage, of a run, of its windows, and with discounts.

The errors on windows are those of Bhatnagar, Wang, Xiong, Bai, "Improved online conformal prediction via strongly
adaptive online learning", 2023. Their code, and that of Zhang, Bombara, Yang, "Discounted adaptive online learning:
towards better regularization", 2024, smooths the local coverage first; the text of both does not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import LARGEST, discount_factor, discount_factors, positive, share, whole
from wane.errors import InputError, TooLargeError
from wane.metrics.base import Window, hits, labelled, miss_of, misses
from wane.state.limits import MOST
from wane.state.stateful import Stateful

TRUNCATE = 4.0  # scipy's default: the filter ends at 4 standard deviations
WIDEST = 1e6  # standard deviation of the filter, whose memory is 8 times as many rounds


def coverage(covered: Any) -> float:
    """The share of rounds that were covered.

    >>> coverage([True, True, False, True])
    0.75
    """
    missed = misses(covered)
    return (len(missed) - int(missed.sum())) / len(missed)


class Coverage(Stateful):
    """``coverage`` of the rounds so far.

    >>> metric = Coverage()
    >>> for hit in [True, True, False, True]:
    ...     metric.add(hit)
    >>> metric.value
    0.75
    """

    memory = ("rounds", "misses")

    def __init__(self) -> None:
        """Nothing seen."""
        self.rounds = self.misses = 0

    def add(self, covered: Any) -> None:
        """A round: True or False, 1 or 0; NaN if there is no label."""
        miss = miss_of(covered)
        if miss is not None:
            self.rounds += 1
            self.misses += miss

    def limits(self) -> dict[str, tuple[float, float]]:
        """Rounds are counted."""
        return {"rounds": (0, MOST), "misses": (0, MOST)}

    def misfit(self) -> str | None:
        """Misses are rounds."""
        return None if self.misses <= self.rounds else "misses"

    @property
    def value(self) -> float:
        """The share that was covered; NaN before the first label."""
        return (self.rounds - self.misses) / self.rounds if self.rounds else math.nan


def local_coverage(covered: Any, k: int = 100) -> np.ndarray:
    """The share of rounds that were covered, in every window of k rounds.

    Returns shape (T - k + 1,): entry t is that of rounds t to t + k - 1; empty if the run is shorter than k.

    >>> local_coverage([True, True, False, False], k=2)
    array([1. , 0.5, 0. ])
    """
    k = whole("k", k, 1)
    return _shares(window_misses(misses(covered), k), k)


class LocalCoverage(Stateful):
    """``local_coverage`` of the last k rounds.

    >>> metric = LocalCoverage(k=2)
    >>> for hit in [True, True, False]:
    ...     metric.add(hit)
    >>> metric.value
    0.5
    """

    parameters = ("k",)
    memory = ("window", "misses")
    extents = ("k",)

    def __init__(self, k: int = 100) -> None:
        """Nothing seen."""
        self.window = Window(k)
        self.k = self.window.k
        self.misses = 0  # of the window

    def add(self, covered: Any) -> None:
        """A round: True or False, 1 or 0; NaN if there is no label."""
        self.ends_window(covered)

    def ends_window(self, covered: Any) -> bool:
        """Add a round; returns whether it ends a full window."""
        miss = miss_of(covered)
        if miss is None:
            return False
        self.misses += miss - int(self.window.push(miss))
        return self.window.full

    @property
    def value(self) -> float:
        """The share of the last k rounds that was covered; NaN while there are fewer."""
        return (self.k - self.misses) / self.k if self.window.full else math.nan

    def limits(self) -> dict[str, tuple[float, float]]:
        """Misses of the window."""
        return {"misses": (0, self.k)}

    def misfit(self) -> str | None:
        """The count is that of the window."""
        ring = self.window.ring
        return None if np.isin(ring, (0.0, 1.0)).all() and self.misses == ring.sum() else "misses"


class OfWindows(Stateful):
    """A level, and the coverage of the last k rounds: what the errors on windows are made from."""

    extents = ("k",)

    def __init__(self, alpha: float, k: int) -> None:
        """Nothing seen."""
        self.alpha = share("alpha", alpha)
        self.local = LocalCoverage(k)
        self.k = self.local.k


def lce(covered: Any, alpha: float, k: int = 100) -> float:
    r"""The local coverage error, :math:`\max_\tau |\alpha - \frac1k \sum_{t=\tau}^{\tau+k-1} miss_t|`.

    >>> lce([True, True, False, False, True], alpha=0.5, k=2)
    0.5
    """
    k = whole("k", k, 1)
    counts = _full_windows(covered, k)
    return _deviation(share("alpha", alpha), k, int(counts.min()), int(counts.max()))


class LCE(OfWindows):
    """``lce`` of the rounds so far.

    >>> metric = LCE(alpha=0.5, k=2)
    >>> for hit in [True, False, False]:
    ...     metric.add(hit)
    >>> metric.value
    0.5
    """

    parameters = ("alpha", "k")
    memory = ("local", "fewest", "most")

    def __init__(self, alpha: float, k: int = 100) -> None:
        """Nothing seen."""
        super().__init__(alpha, k)
        self.fewest, self.most = self.k, 0  # misses of a window

    def add(self, covered: Any) -> None:
        """A round."""
        if self.local.ends_window(covered):
            self.fewest = min(self.fewest, self.local.misses)
            self.most = max(self.most, self.local.misses)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Misses of a window."""
        return {"fewest": (0, self.k), "most": (0, self.k)}

    @property
    def value(self) -> float:
        """The largest error of a window; NaN before the first."""
        return _deviation(self.alpha, self.k, self.fewest, self.most) if self.local.window.full else math.nan


def lce_smoothed(covered: Any, alpha: float, k: int = 100, sigma: float = 3.0) -> float:
    """``lce`` as published code computes it: the local coverage goes through a Gaussian filter first.

    The filter is ``scipy.ndimage.gaussian_filter1d`` with its defaults: cut at 4 sigma, reflected at both ends.

    >>> hits = [True] * 20 + [False] + [True] * 20
    >>> lce(hits, alpha=0.1, k=1), round(lce_smoothed(hits, alpha=0.1, k=1), 3)
    (0.9, 0.1)
    """
    k = whole("k", k, 1)
    local = _shares(_full_windows(covered, k), k)
    return _smoothed_deviations(local, share("alpha", alpha), _sigma(sigma)).max().item()


class SmoothedLCE(OfWindows):
    """``lce_smoothed`` of the rounds so far.

    A filtered value is final when the filter's half width of windows has come after it. The last ones change: they are
    computed when ``value`` is asked for, reflected at the end of the run so far.

    >>> metric = SmoothedLCE(alpha=0.1, k=1)
    >>> for hit in [True] * 20 + [False] + [True] * 20:
    ...     metric.add(hit)
    >>> round(metric.value, 3)
    0.1
    """

    parameters = ("alpha", "k", "sigma")
    memory = ("local", "recent", "worst")

    def __init__(self, alpha: float, k: int = 100, sigma: float = 3.0) -> None:
        """Nothing seen."""
        super().__init__(alpha, k)
        self.sigma = _sigma(sigma)
        self.half = int(TRUNCATE * self.sigma + 0.5)  # scipy's half width of the filter
        self.recent = Window(2 * self.half + 1)  # local coverage
        self.worst = 0.0  # of the values that are final

    @classmethod
    def least_numbers(cls, given: Any) -> int:
        """The window of the rounds, and that of the filter."""
        sigma = given.get("sigma")
        half = TRUNCATE * sigma if isinstance(sigma, (int, float)) and 0.0 < sigma <= WIDEST else 0.0
        return max(super().least_numbers(given), int(2.0 * half))

    def add(self, covered: Any) -> None:
        """A round."""
        if not self.local.ends_window(covered):
            return
        self.recent.push(self.local.value)
        if self.recent.seen > self.half:
            self.worst = max(self.worst, self._deviations()[-1 - self.half].item())

    @property
    def value(self) -> float:
        """The largest error after smoothing; NaN before the first window."""
        if not self.recent.seen:
            return math.nan
        return max(self.worst, self._deviations()[-self.half - 1 :].max().item())

    def _deviations(self) -> np.ndarray:
        # Right from the middle on, where the filter ends before the oldest; right everywhere while nothing has left.
        return _smoothed_deviations(self.recent.numbers, self.alpha, self.sigma)


def mean_lce(covered: Any, alpha: float, k: int = 100) -> float:
    r"""The mean over windows of :math:`|\alpha - \frac1k \sum_{t=\tau}^{\tau+k-1} miss_t|`.

    >>> mean_lce([True, True, False, False], alpha=0.5, k=2)
    0.3333333333333333
    """
    k = whole("k", k, 1)
    return _mean_deviation(np.bincount(_full_windows(covered, k), minlength=k + 1), share("alpha", alpha), k)


class MeanLCE(OfWindows):
    """``mean_lce`` of the rounds so far.

    >>> metric = MeanLCE(alpha=0.5, k=2)
    >>> for hit in [True, True, False, False]:
    ...     metric.add(hit)
    >>> metric.value
    0.3333333333333333
    """

    parameters = ("alpha", "k")
    memory = ("local", "tally")

    def __init__(self, alpha: float, k: int = 100) -> None:
        """Nothing seen."""
        super().__init__(alpha, k)
        self.tally = np.zeros(self.k + 1)  # windows by their misses: whole numbers do not drift

    def add(self, covered: Any) -> None:
        """A round."""
        if self.local.ends_window(covered):
            self.tally[self.local.misses] += 1.0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Windows are counted."""
        return {"tally": (0.0, MOST)}

    @property
    def value(self) -> float:
        """The mean error of the windows; NaN before the first."""
        return _mean_deviation(self.tally, self.alpha, self.k) if self.local.window.full else math.nan


def discounted_coverage_error(covered: Any, alpha: float, discounts: Any = 1.0) -> float:
    r"""The discounted sum :math:`\sum_i \prod_{j>i} \lambda_j (miss_i - \alpha)`; above 0 there are too many misses.

    Args:
        covered: (T,).
        alpha: the share of rounds that may be missed.
        discounts: one number, or one a round; ``discounts[t]`` arrives with round t and ages everything before it.

    >>> discounted_coverage_error([True, False, False], alpha=0.5, discounts=0.5)
    0.625
    """
    array = hits(covered)
    labelled("covered", array)
    error = DiscountedCoverageError(alpha)
    for hit, discount in zip(array.tolist(), discount_factors(discounts, len(array)).tolist(), strict=True):
        error.add(hit, discount)
    return error.value


class DiscountedCoverageError(Stateful):
    """``discounted_coverage_error`` of the rounds so far; ``discount`` is that of rounds which bring none.

    >>> metric = DiscountedCoverageError(alpha=0.5, discount=0.5)
    >>> for hit in [True, False, False]:
    ...     metric.add(hit)
    >>> metric.value
    0.625
    """

    parameters = ("alpha", "discount")
    memory = ("rounds", "misses")

    def __init__(self, alpha: float, discount: float = 1.0) -> None:
        """Nothing seen."""
        self.alpha = share("alpha", alpha)
        self.discount = discount_factor(discount)
        self.rounds = self.misses = 0.0  # discounted; undiscounted they are whole numbers, which do not drift

    def add(self, covered: Any, discount: Any = None) -> None:
        """A round, and the discount that ages those before it; None for the parameter."""
        rate = self.discount if discount is None else discount_factor(discount)
        miss = miss_of(covered)
        if miss is None:
            return
        rounds = rate * self.rounds + 1.0
        if rounds > LARGEST:
            problem = f"the discounted number of rounds is {rounds:g}, more than {LARGEST:g}"
            raise TooLargeError(problem, argument="discount", cure="use discounts of at most 1")
        self.rounds, self.misses = rounds, rate * self.misses + miss

    def limits(self) -> dict[str, tuple[float, float]]:
        """Rounds are counted."""
        return {"rounds": (0.0, LARGEST), "misses": (0.0, LARGEST)}

    @property
    def value(self) -> float:
        """The discounted error; NaN before the first label."""
        return self.misses - self.alpha * self.rounds if self.rounds else math.nan


def window_misses(missed: np.ndarray, k: int) -> np.ndarray:
    """The number of misses in every window of k rounds."""
    sums = np.concatenate([[0], np.cumsum(missed)])
    return sums[k:] - sums[:-k]


def _shares(counts: np.ndarray, k: int) -> np.ndarray:
    return (k - counts) / k


def _full_windows(covered: Any, k: int) -> np.ndarray:
    missed = misses(covered)
    counts = window_misses(missed, k)
    if not len(counts):
        problem = f"there is no window of k={k} rounds: the run has {len(missed)} with a label"
        raise InputError(problem, argument="k", cure="give a smaller k")
    return counts


def _deviation(alpha: float, k: int, fewest: int, most: int) -> float:
    return max(abs(alpha - fewest / k), abs(alpha - most / k))


def _mean_deviation(tally: np.ndarray, alpha: float, k: int) -> float:
    deviations = np.abs(alpha - np.arange(k + 1) / k)
    return math.fsum(tally * deviations) / float(tally.sum())


def _sigma(sigma: Any) -> float:
    x = positive("sigma", sigma)
    if x > WIDEST:
        raise InputError(f"sigma, in windows, must be at most {WIDEST:g}, got {sigma!r}", argument="sigma")
    return x


def _smoothed_deviations(local: np.ndarray, alpha: float, sigma: float) -> np.ndarray:
    from scipy.ndimage import gaussian_filter1d  # here, because importing it takes a tenth of a second

    return np.abs(gaussian_filter1d(local, sigma, truncate=TRUNCATE, mode="reflect") - (1.0 - alpha))
