"""Mean losses: pinball, of radii, and the interval score, of intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import share
from wane.metrics.base import BOUND, LABEL, Total, labelled
from wane.state.stateful import Stateful


def pinball(radii: Any, scores: Any, alpha: float) -> float:
    r"""The mean pinball loss, :math:`\alpha (r - s)` where r > s, else :math:`(1 - \alpha) (s - r)`.

    Its expectation is least at the 1 - alpha quantile of the scores. An infinite radius has an infinite loss.

    >>> pinball([2.0, 2.0], [1.0, 4.0], alpha=0.25)
    0.875
    """
    losses = pinball_losses(*labelled_pairs(radii, scores), share("alpha", alpha))
    return math.fsum(losses) / len(losses)


class MeanLoss(Stateful):
    """The mean of the losses so far, at one level."""

    parameters = ("alpha",)
    memory = ("total",)

    def __init__(self, alpha: float) -> None:
        """Nothing seen."""
        self.alpha = share("alpha", alpha)
        self.total = Total()

    @property
    def value(self) -> float:
        """The mean loss; NaN before the first label."""
        return self.total.mean


class MeanPinball(MeanLoss):
    """``pinball`` of the rounds so far.

    >>> metric = MeanPinball(alpha=0.25)
    >>> metric.add(2.0, 1.0)
    >>> metric.add(2.0, 4.0)
    >>> metric.value
    0.875
    """

    def add(self, radius: Any, score: Any) -> None:
        """A round; a score that is NaN is left out."""
        r, s = BOUND.one("radius", radius), LABEL.one("score", score)
        if not math.isnan(s):
            self.total.add(float(pinball_losses(r, s, self.alpha)))


def winkler(lower: Any, upper: Any, y: Any, alpha: float) -> float:
    r"""The mean interval score: the width, and :math:`2 / \alpha` times the distance of a label from the interval.

    In full: :math:`u - l + \frac2\alpha (l - y)_+ + \frac2\alpha (y - u)_+`, also where l > u, which then costs on both
    sides. An infinite bound has an infinite score.

    Args:
        lower: (T,), l.
        upper: (T,), u.
        y: (T,), the label; NaN where it is missing.
        alpha: the share of labels that may lie outside.

    >>> winkler([0.0, 0.0], [2.0, 2.0], [1.0, 3.0], alpha=0.5)
    4.0

    Reference: Winkler, "A decision-theoretic approach to interval estimation", 1972.
    """
    low = BOUND.column("lower", lower)
    high = BOUND.column("upper", upper, len(low))
    labels = LABEL.column("y", y, len(low))
    known = ~np.isnan(labels)
    scores = interval_scores(low[known], high[known], labelled("y", labels), share("alpha", alpha))
    return math.fsum(scores) / len(scores)


class Winkler(MeanLoss):
    """``winkler`` of the rounds so far.

    >>> metric = Winkler(alpha=0.5)
    >>> metric.add(0.0, 2.0, 1.0)
    >>> metric.add(0.0, 2.0, 3.0)
    >>> metric.value
    4.0
    """

    def add(self, lower: Any, upper: Any, y: Any) -> None:
        """A round; a label that is NaN is left out."""
        low, high, label = BOUND.one("lower", lower), BOUND.one("upper", upper), LABEL.one("y", y)
        if not math.isnan(label):
            self.total.add(float(interval_scores(low, high, label, self.alpha)))


def labelled_pairs(radii: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Radii and scores of the rounds that have a label, checked."""
    r = BOUND.column("radii", radii)
    s = LABEL.column("scores", scores, len(r))
    return r[~np.isnan(s)], labelled("scores", s)


def pinball_losses(r: Any, s: Any, alpha: float) -> np.ndarray:
    """The loss of each round; s is finite."""
    return np.maximum(alpha * (r - s), (1.0 - alpha) * (s - r))


def interval_scores(low: Any, high: Any, y: Any, alpha: float) -> np.ndarray:
    """The interval score of each round; y is finite."""
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, y), np.where(bounded, high, y)  # inf - inf is no number
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return np.where(bounded, high - low + 2.0 / alpha * outside, np.inf)
