"""The quantile of the last scores, the baseline "Trail" of conformal PID control (arXiv 2307.16895).

Differences from the authors' code: none; it has no rule for ties, as it never asks whether it missed.
"""

from __future__ import annotations

import math

from wane.errors import InputError
from wane.trackers.base import Tracker
from wane.trackers.history import History, higher
from wane.trackers.registry import register

INFINITY = float("inf")


class TrailingWindow(Tracker):
    r"""The radius is the quantile of the last ``window`` scores, of rank :math:`\lceil (n-1)(1-\alpha) \rceil` from 0.

    It is infinite, and ``cold``, while there are fewer than 1 / alpha scores; a window must hold that many. Discounts
    and the radius that was played are ignored.

    Args:
        alpha: the share of misses.
        window: how many scores to look back.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> TrailingWindow(0.5, 3).run([4.0, 1.0, 3.0, 2.0, 5.0])
    array([inf, inf,  4.,  3.,  2.])
    """

    parameters = ("alpha", "window", "domain", "on_missing")
    memory = ("rounds", "past")
    extents = ("window",)
    atomic = True

    def __init__(self, alpha: float, window: int = 100, domain: str = "nonnegative", on_missing: str = "error") -> None:
        """Nothing seen."""
        self.past = History(window)
        self.window = self.past.window
        super().__init__(alpha, domain, on_missing)

    def level_changed(self, miss: float) -> None:
        """A window that is too short for the level would be infinite for ever: an error."""
        if self.window is None or self.window < math.ceil(1.0 / miss):
            raise InputError(
                f"must hold at least 1 / alpha = {math.ceil(1.0 / miss)} scores, got {self.window}",
                about="window",
                cure="a longer window or a larger alpha",
            )
        self.miss = miss

    @property
    def cold(self) -> bool:
        """Whether there are too few scores for this level."""
        return self.past.bag.n < math.ceil(1.0 / self.miss)

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.past._fields(cells)

    def _predict(self) -> float:
        if self.past.bag.n < math.ceil(1.0 / self.miss):
            return INFINITY
        return higher(self.past.bag, 1.0 - self.miss)

    def _update(self, score: float, radius: float, discount: float) -> None:
        self.past.push(score)


register("trailing-window", TrailingWindow, "The quantile of the last ``window`` scores.", window=100)
