"""Regret of the radii: how much more pinball loss than the best fixed radius, in hindsight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import share, whole
from wane.metrics.base import BOUND, LABEL, Total, Window, blocks_of_windows, rank
from wane.metrics.losses import labelled_pairs, pinball_losses
from wane.metrics.widths import quantiles
from wane.order_statistics import OrderStatistics
from wane.state.limits import MOST
from wane.state.stateful import Stateful

LOWEST = -1e300  # below the regret of any window


def regret(radii: Any, scores: Any, alpha: float) -> float:
    """The sum of the pinball losses, minus the least sum of a fixed radius.

    That radius is the 1 - alpha quantile of the scores. Below 0 the radii, which move, beat every fixed one. An
    infinite radius has an infinite regret.

    >>> regret([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], alpha=0.5)
    1.5
    """
    level = share("alpha", alpha)
    r, s = labelled_pairs(radii, scores)
    best = pinball_losses(quantiles(s, level), s, level)
    return math.fsum(np.concatenate([pinball_losses(r, s, level), -best]))


class Regret(Stateful):
    """``regret`` of the rounds so far.

    It keeps every score: an exact quantile in one pass needs memory that is linear in the run. ``add`` takes
    logarithmic time, ``value`` linear.

    >>> metric = Regret(alpha=0.5)
    >>> for _ in range(3):
    ...     metric.add(2.0, 1.0)
    >>> metric.value
    1.5

    Reference: Munro and Paterson, "Selection and sorting with limited storage", 1980.
    """

    parameters = ("alpha",)
    memory = ("losses", "scores")

    def __init__(self, alpha: float) -> None:
        """Nothing seen."""
        self.alpha = share("alpha", alpha)
        self.losses = Total()
        self.scores = OrderStatistics()

    def add(self, radius: Any, score: Any) -> None:
        """A round; a score that is NaN is left out."""
        r, s = BOUND.one("radius", radius), LABEL.one("score", score)
        if not math.isnan(s):
            self.losses.add(float(pinball_losses(r, s, self.alpha)))
            self.scores.insert(s)

    @property
    def value(self) -> float:
        """The regret; NaN before the first label."""
        if not self.losses.count:
            return math.nan
        if self.losses.infinite:
            return math.inf
        sorted_scores = self.scores.values
        best = pinball_losses(sorted_scores[rank(self.alpha, len(sorted_scores))], sorted_scores, self.alpha)
        return math.fsum([self.losses.main, self.losses.lost, *(-best).tolist()])

    def misfit(self) -> str | None:
        """There are as many scores as losses."""
        return None if self.losses.count == self.scores.size else "scores"


def window_regret(radii: Any, scores: Any, alpha: float, k: int = 100) -> np.ndarray:
    """``regret`` on every window of k rounds, each against its own best fixed radius.

    Returns shape (T - k + 1,): entry t is that of rounds t to t + k - 1; empty if the run is shorter than k.
    The largest is the strongly adaptive regret for this length.

    >>> window_regret([2.0, 2.0, 2.0], [1.0, 1.0, 4.0], alpha=0.5, k=2)
    array([1., 0.])
    """
    level, k = share("alpha", alpha), whole("k", k, 1)
    r, s = labelled_pairs(radii, scores)
    regrets = np.empty(max(len(s) - k + 1, 0))
    for place, (losses, window) in blocks_of_windows([pinball_losses(r, s, level), s], k):
        regrets[place] = regrets_of(losses, window, level)
    return regrets


class WindowRegret(Stateful):
    """``window_regret`` of the last k rounds, and the largest so far. A round takes the time of a pass over k.

    >>> metric = WindowRegret(alpha=0.5, k=2)
    >>> for s in [1.0, 1.0, 4.0]:
    ...     metric.add(2.0, s)
    >>> metric.value, metric.largest
    (0.0, 1.0)
    """

    parameters = ("alpha", "k")
    memory = ("losses", "scores", "most", "unbounded")
    extents = ("k",)

    def __init__(self, alpha: float, k: int = 100) -> None:
        """Nothing seen."""
        self.alpha = share("alpha", alpha)
        self.losses = Window(k)
        self.k = self.losses.k
        self.scores = Window(k)
        self.most = LOWEST  # of the finite regrets
        self.unbounded = 0  # windows with an infinite regret

    def add(self, radius: Any, score: Any) -> None:
        """A round; a score that is NaN is left out."""
        r, s = BOUND.one("radius", radius), LABEL.one("score", score)
        if math.isnan(s):
            return
        self.losses.push(float(pinball_losses(r, s, self.alpha)))
        self.scores.push(s)
        now = self.value
        if now == math.inf:
            self.unbounded += 1
        elif now > self.most:
            self.most = now

    @property
    def value(self) -> float:
        """The regret on the last k rounds; NaN while there are fewer."""
        if not self.losses.full:
            return math.nan
        return regrets_of(self.losses.numbers, self.scores.numbers, self.alpha).item()

    @property
    def largest(self) -> float:
        """The largest regret of a window so far; NaN before the first."""
        if not self.losses.full:
            return math.nan
        return math.inf if self.unbounded else self.most

    def limits(self) -> dict[str, tuple[float, float]]:
        """Windows are counted."""
        return {"unbounded": (0, MOST)}

    def misfit(self) -> str | None:
        """There are as many scores as losses."""
        return None if self.losses.seen == self.scores.seen else "scores"


def regrets_of(losses: np.ndarray, scores: np.ndarray, alpha: float) -> np.ndarray:
    """The regret of each row."""
    best = quantiles(scores, alpha)[..., np.newaxis]
    return (losses - pinball_losses(best, scores, alpha)).sum(axis=-1)
