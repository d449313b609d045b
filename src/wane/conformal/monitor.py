# cython: wraparound=False
"""``Monitor``: coverage and widths while they happen, over all rounds and over the last ones, and alarms."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.checks import LARGEST, discount_factor, discount_factors, number, real_array, room, scalar, share
from wane.errors import InputError
from wane.state.limits import MOST
from wane.state.stateful import Stateful

BOOLS = (bool, np.bool_)
DEVIATIONS = 3.0  # half the default band; independent rounds at the right level leave it in about 1 window of 370
LIMIT = LARGEST  # the discounted error stops growing here, because memory holds finite numbers only
WIDEST = LARGEST  # wider sets count as unbounded
UNBOUNDED = 2e300  # stands for an infinite width in the ring, for the same reason
UNKNOWN = 3e300  # stands for a NaN width in the ring, and for a place that is still empty


class Monitor(Stateful):
    r"""Watch the coverage and the widths of one level, over all rounds and over the last ``window`` rounds.

    Use it beside any method that makes sets; ``OnlineConformal`` has one for each level. The time for a round does not
    depend on the window. An alarm is raised when the window is full and its coverage leaves the band
    ``low <= local_coverage <= high``. The next alarm comes only after coverage was back in the band, or if it moves
    beyond the other end. A monitor belongs to one thread at a time.

    Args:
        alpha: the share of rounds that may be missed.
        window: over how many rounds local coverage is measured.
        discount: multiplies ``coverage_error`` in each round that brings no discount of its own.
        low: the lowest local coverage without an alarm; below 0 there is never one. None is
            :math:`1 - \alpha - 3 \sqrt{\alpha (1 - \alpha) / window}`.
        high: the highest local coverage without an alarm; above 1 there is never one. None is as far above the level.

    Attributes:
        band: the values of low and high that are used.
        rounds: how many rounds there were.
        misses: how many of them were not covered.
        local_misses: the misses among the last ``window`` rounds.
        current_misses: how many of the last rounds in a row were misses.
        longest_misses: the most misses in a row.
        worst_round: the last round, from 0, of the first window that covers least; -1 before the window is full.
        bounded: how many widths were finite.
        unbounded: how many widths were infinite.
        coverage_error: the sum of miss - alpha, in which each round is multiplied by the discounts after it; it stays
            within 1e300.

    >>> monitor = Monitor(0.5, window=4, low=0.5)
    >>> alarms, local = monitor.run([1, 1, 0, 1, 0, 0, 1], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, float("inf")])
    >>> alarms
    array([ 0,  0,  0,  0,  0, -1,  0], dtype=int8)
    >>> monitor.local_coverage, monitor.worst_local_coverage, monitor.worst_round, monitor.longest_misses
    (0.5, 0.25, 5, 2)
    >>> monitor.width, monitor.unbounded, monitor.coverage_error
    (1.5, 1, -0.5)
    """

    parameters = ("alpha", "window", "discount", "low", "high")
    memory = (
        "rounds",
        "misses",
        "local_misses",
        "most_local_misses",
        "worst_round",
        "current_misses",
        "longest_misses",
        "bounded",
        "unbounded",
        "mean_width",
        "coverage_error",
        "side",
        "place",
        "missed",
        "widths",
    )
    extents = ("window",)

    def __init__(
        self,
        alpha: float,
        window: int = 100,
        discount: float = 1.0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Check the band, and begin without rounds."""
        self.alpha = share("alpha", alpha)
        self.window = room("window", window, 1)
        self.discount = discount_factor(discount)
        self.low = None if low is None else number("low", low)
        self.high = None if high is None else number("high", high)
        half = DEVIATIONS * math.sqrt(self.alpha * (1.0 - self.alpha) / self.window)
        bottom = 1.0 - self.alpha - half if self.low is None else self.low
        top = 1.0 - self.alpha + half if self.high is None else self.high
        if not (bottom <= top and bottom <= 1.0 and top >= 0.0):
            raise InputError(
                f"low <= high, low <= 1 and high >= 0 are wanted of the band of local coverage, got [{bottom}, {top}]",
                argument="low",
                cure="None is 3 standard deviations from 1 - alpha, low=-1 and high=2 never raise an alarm",
            )
        self.band = (bottom, top)
        # Express the band in misses, so that each round compares whole numbers, with the result of comparing shares.
        shares = range(self.window + 1)
        self.most_allowed = self.window - bisect_left(shares, bottom, key=self._share)
        self.fewest_allowed = self.window + 1 - bisect_right(shares, top, key=self._share)
        self.rounds = self.misses = self.local_misses = self.current_misses = self.longest_misses = 0
        self.bounded = self.unbounded = self.place = 0
        self.most_local_misses = self.worst_round = -1  # there is no full window yet
        self.mean_width = self.coverage_error = 0.0
        self.side = 0  # of the band: -1 below, 1 above
        self.missed: Any = np.zeros(self.window).data  # a ring of the last rounds, as is the next one
        self.widths: Any = np.full(self.window, UNKNOWN).data

    @property
    def coverage(self) -> float:
        """The share of the rounds that were covered; NaN before the first."""
        return (self.rounds - self.misses) / self.rounds if self.rounds else math.nan

    @property
    def local_coverage(self) -> float:
        """The share of the last ``window`` rounds, or of all while there are fewer, that were covered."""
        seen = min(self.rounds, self.window)
        return (seen - self.local_misses) / seen if seen else math.nan

    @property
    def worst_local_coverage(self) -> float:
        """The smallest local coverage of a full window; NaN before the first."""
        return math.nan if self.worst_round < 0 else self._share(self.window - self.most_local_misses)

    @property
    def width(self) -> float:
        """The mean of the finite widths; NaN before the first."""
        return self.mean_width if self.bounded else math.nan

    @property
    def local_width(self) -> float:
        """The mean of the finite widths of the last ``window`` rounds; NaN if there is none."""
        widths = np.asarray(self.widths)
        widths = widths[widths <= WIDEST]
        if not widths.any():
            return 0.0 if len(widths) else math.nan
        largest = np.abs(widths).max()
        return float(largest * np.mean(widths / largest))  # the sum of the widths could overflow

    def add(self, covered: Any, width: Any, discount: Any = None) -> int:
        """Record a round.

        Args:
            covered: whether the truth was in the set, a bool or 0 or 1.
            width: of the set; infinite if the set is not bounded, NaN if it has no width. (The width of a half-line
                may be negative.)
            discount: multiplies the error of the rounds before this one; None is the parameter.

        Returns -1 when local coverage has just fallen below the band, 1 when it has just risen above it, otherwise 0.

        >>> Monitor(0.1, window=1, low=0.5).add(False, 2.0)
        -1
        """
        rate = self.discount if discount is None else discount_factor(discount)
        return self._add(miss_of(covered), width if type(width) is float else scalar("width", width), rate)

    def run(self, covered: Any, widths: Any, discounts: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Record many rounds, bit for bit as one by one.

        Returns for each round the alarm, as int8, and the local coverage. ``discounts`` is None, one number, or one for
        each round. An error names its round; then nothing has changed.
        """
        hits = real_array("covered", covered)
        sizes = real_array("widths", widths)
        if hits.ndim != 1 or hits.shape != sizes.shape:
            raise InputError(
                f"covered and widths must have the same shape (rounds,), got {hits.shape} and {sizes.shape}",
                argument="covered",
            )
        if (bad := (hits != 0.0) & (hits != 1.0)).any():
            t = int(np.argmax(bad))
            raise InputError(
                f"must be True or False, 1 or 0, got {hits[t]}; nothing was recorded", about="covered", row=t
            )
        rates = discount_factors(self.discount if discounts is None else discounts, len(hits))
        alarms = np.empty(len(hits), dtype=np.int8)
        local = np.empty(len(hits))
        first = self.rounds
        self._play((hits == 0.0).view(np.int8).data, sizes.data, rates.data, alarms.data, local.data)
        seen = np.minimum(np.arange(first + 1, first + 1 + len(hits)), self.window)
        return alarms, (seen - local) / seen

    def limits(self) -> dict[str, tuple[float, float]]:
        """Counts of rounds, the place in the ring, and -1 where there is no full window yet."""
        counts = ("rounds", "misses", "local_misses", "current_misses", "longest_misses", "bounded", "unbounded")
        return {
            **dict.fromkeys(counts, (0, MOST)),
            **dict.fromkeys(("most_local_misses", "worst_round"), (-1, MOST)),
            "side": (-1, 1),
            "place": (0, self.window - 1),
            "missed": (0.0, 1.0),
        }

    def misfit(self) -> str | None:
        """The counts agree with the rounds of the window, and with each other."""
        return None if self.sound() else "rounds"

    def sound(self) -> bool:
        """Return whether the memory is consistent; a file that was damaged or edited is not.

        The rounds of the window are replayed by a new monitor, and the counts must agree with it and with each other.
        """
        window = self.window
        missed, widths = np.asarray(self.missed), np.asarray(self.widths)
        # The rings may hold only values that a round can write.
        known = (
            np.isin(missed, (0.0, 1.0)).all()
            and ((np.abs(widths) <= WIDEST) | np.isin(widths, (UNBOUNDED, UNKNOWN))).all()
        )
        if not known or self.rounds < 0 or self.place != self.rounds % window or abs(self.coverage_error) > LIMIT:
            return False
        # Replay the rounds of the window, oldest first.
        kept = min(self.rounds, window)
        missed, widths = (np.roll(ring, -self.place)[window - kept :] for ring in (missed, widths))
        widths = np.where(widths == UNBOUNDED, np.inf, np.where(widths == UNKNOWN, np.nan, widths))
        again = Monitor(**{k: getattr(self, k) for k in self.parameters})
        again.run(1.0 - missed, widths)
        # If these were all rounds, everything must be equal.
        if self.rounds <= window:
            free = ("coverage_error",) if self.rounds > 1 else ()  # it depends on discounts that are not stored
            return all(np.array_equal(getattr(self, k), getattr(again, k)) for k in self.memory if k not in free)
        # Otherwise the counts must be possible, given how many rounds have left the window.
        gone = self.rounds - window
        run = again.current_misses
        return (
            self.local_misses == again.local_misses
            and self.side == again.side
            and 0 <= self.misses - again.misses <= gone
            and 0 <= self.bounded - again.bounded
            and 0 <= self.unbounded - again.unbounded
            and self.bounded - again.bounded + self.unbounded - again.unbounded <= gone
            and (abs(self.mean_width) <= WIDEST if self.bounded else self.mean_width == 0.0)
            and run <= self.current_misses <= (run if run < window else self.misses)
            and max(again.longest_misses, self.current_misses) <= self.longest_misses <= self.misses
            and max(self.local_misses, min(self.longest_misses, window)) <= self.most_local_misses
            and self.most_local_misses <= min(window, self.misses)
            and window - 1 <= self.worst_round < self.rounds
            and self.most_local_misses - self.local_misses <= self.rounds - 1 - self.worst_round  # one a round at most
        )

    def _share(self, count: int) -> float:
        return count / self.window

    def _add(self, miss, width, discount):
        """Record one round whose values are checked."""
        # Replace the oldest round of the window, and count misses.
        place = self.place
        left = int(self.missed[place])  # the miss that leaves the window; 0 while the window is not full
        self.missed[place] = miss
        self.place = place + 1 if place + 1 < self.window else 0
        self.rounds = self.rounds + 1
        self.misses = self.misses + miss
        self.local_misses = self.local_misses + miss - left
        self.current_misses = (self.current_misses + 1) * miss
        self.longest_misses = max(self.longest_misses, self.current_misses)
        self.coverage_error = min(max(discount * self.coverage_error + (miss - self.alpha), -LIMIT), LIMIT)
        # The mean is over finite widths. The ring marks the other widths, because memory holds finite numbers only.
        if -WIDEST <= width <= WIDEST:
            self.bounded = self.bounded + 1
            self.mean_width = self.mean_width + (width - self.mean_width) / self.bounded  # a sum could overflow
            self.widths[place] = width
        elif width == width:
            self.unbounded = self.unbounded + 1
            self.widths[place] = UNBOUNDED
        else:
            self.widths[place] = UNKNOWN
        # A full window may be the worst so far. Raise an alarm only when it changes its side of the band.
        alarm = 0
        if self.rounds >= self.window:
            if self.local_misses > self.most_local_misses:
                self.most_local_misses = self.local_misses
                self.worst_round = self.rounds - 1
            side = -1 if self.local_misses > self.most_allowed else 1 if self.local_misses < self.fewest_allowed else 0
            if side != self.side:
                alarm = side
                self.side = side
        return alarm

    def _play(self, missed, widths, discounts, alarms, local):
        """Record many rounds whose values are checked."""
        with cython.nogil:
            for t in range(missed.shape[0]):
                alarms[t] = self._add(missed[t], widths[t], discounts[t])
                local[t] = self.local_misses


def miss_of(covered):
    """Return 1 for a round that was not covered, 0 for one that was.

    >>> miss_of(True), miss_of(0)
    (0, 1)
    """
    hit = (1.0 if covered else 0.0) if isinstance(covered, BOOLS) else scalar("covered", covered)
    if hit != 1.0 and hit != 0.0:
        raise InputError(f"must be True or False, 1 or 0, got {covered!r}", about="covered")
    return 1 if hit == 0.0 else 0
