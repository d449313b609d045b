"""One expert on scores divided by a scale: FACI over the last scores, and their plain quantile."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import number, share
from wane.state.stateful import Stateful
from wane.trackers.faci import QuantileExperts
from wane.trackers.history import inverted_cdf
from wane.trackers.scale_models import ScaleModel

NAN = float("nan")
FARTHEST = 1e160  # a score in units of its scale, where that is nearly 0


class Scaled(Stateful):
    """Two radii from the scores in units of a scale model: by the levels of FACI, and by the level alpha itself.

    While there is no scale, a score other than 0 is its own unit. Memory is bounded by the window.

    Args:
        alpha: the share of misses.
        model: of the scale.
        window: how many scores to look back.
        signed: whether scores may be negative.
    """

    parameters = ("alpha", "model", "window", "signed")
    memory = ("model", "levels")
    extents = ("window",)

    def __init__(self, alpha: float, model: ScaleModel, window: int = 1000, signed: bool = False) -> None:
        """Nothing seen."""
        self.model = model
        self.levels = QuantileExperts(share("alpha", alpha), window=window, domain="real" if signed else "nonnegative")
        self.window = window
        self.signed = bool(signed)
        self.alpha = alpha

    @property
    def alpha(self) -> float:
        """The share of misses; it may be changed at any time."""
        return self.miss

    @alpha.setter
    def alpha(self, value: Any) -> None:
        self.miss = share("alpha", value)
        self.levels.alpha = self.miss

    def radii(self) -> np.ndarray:
        """Both radii for the next score."""
        found = np.zeros(2)
        self._put(found.data, 0)
        return found

    def learn(self, score: float) -> None:
        """A score."""
        self._learn(number("score", score))

    def _put(self, radii, at):
        """Write both radii, and return the next place."""
        if self.levels.past.bag.n == 0:
            radii[at] = radii[at + 1] = 0.0
        else:
            radii[at] = self.model.scale * self.levels._predict()
            radii[at + 1] = self.model.scale * inverted_cdf(self.levels.past.bag, 1.0 - self.miss)
        return at + 2

    def _learn(self, score):
        scale = self.model.scale if self.model.scale > 0.0 else abs(score)
        ratio = score / scale if scale > 0.0 else 0.0
        self.levels._ingest(min(max(ratio, -FARTHEST), FARTHEST), NAN, NAN)
        self.model._learn(score)
        return 0
