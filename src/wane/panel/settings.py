"""What all streams of a panel share: the settings of any prediction, a method by name, and how streams begin."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from wane.checks import described, whole
from wane.conformal.settings import Settings, trackers_for
from wane.errors import InputError, InputTypeError, Setting
from wane.scores import IntervalScore, OneSided, as_score
from wane.state.encoding import dumps


class PanelSettings(Settings):
    """The settings of a panel, checked, with one set of trackers, ``levels``, that has learned nothing.

    Args:
        method, score, alpha, lower_limit, upper_limit, on_unbounded, warm_up: as for ``Panel``.
        hyperparameters: of the method.
    """

    def __init__(
        self,
        method: Any,
        score: Any,
        alpha: Any,
        lower_limit: float,
        upper_limit: float,
        on_unbounded: str,
        warm_up: int,
        hyperparameters: dict[str, Any],
    ) -> None:
        """Make the trackers, which fails early if they cannot be made."""
        found = as_score(score)
        if not isinstance(found, IntervalScore):
            raise InputTypeError(
                f"a panel makes intervals: the score must be one of real labels, got {found!r}", argument="score"
            )
        levels, trackers = trackers_for(method, found, alpha, hyperparameters)
        past = ("give ", Setting("warm_up"))
        super().__init__(found, levels, lower_limit, upper_limit, on_unbounded, past, "row")
        self.method = method
        self.hyperparameters = {k: v for k, v in hyperparameters.items() if k != "coverage"}  # which has become alpha
        self.warm_up = whole("warm_up", warm_up, 0)
        self.levels = self.arranged(trackers)
        self.auto = any(getattr(t, "waiting", 0.0) for t in trackers)
        if self.auto and not self.warm_up:
            raise InputError(
                f"{Setting('epsilon', 'auto')} is chosen from the first labels of each stream",
                argument="warm_up",
                cure=("give ", Setting("warm_up"), ", how many"),
            )
        self.parts = 2 if hasattr(found, "pair") else 1  # numbers that the score takes of a model

    def columns_of(self, outputs: Any) -> np.ndarray:
        """Model outputs, checked, as an array (rows, parts)."""
        made = self.score.outputs(outputs)
        return made[:, None] if self.parts == 1 else np.column_stack(made)

    def outputs_of(self, columns: np.ndarray) -> Any:
        """Columns as the score takes model outputs."""
        if self.parts == 1:
            return np.ascontiguousarray(columns[:, 0])
        return np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1])

    def intervals(self, outputs: Any, radii: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower ends, upper ends and widths of the i-th level; NaN where the radius is NaN."""
        radius = self.at(radii, i)
        lower, upper = self.score.bounds(outputs, radius, self.limits)
        if isinstance(self.score, OneSided):
            lower, upper = (np.where(np.isnan(radius), math.nan, end) for end in (lower, upper))  # one does not move
            return lower, upper, self.score.width(outputs, radius, None, self.limits)
        with np.errstate(invalid="ignore", over="ignore"):
            return lower, upper, np.maximum(upper - lower, 0.0)

    def plain(self) -> dict[str, Any]:
        """As plain data, the arguments of ``Panel``."""
        if not isinstance(self.method, str):
            raise InputTypeError(f"a panel made by the name of a method can be saved, got {described(self.method)}")
        return {
            "method": self.method,
            "score": self.score.state_dict(),
            "alpha": list(self.alpha) if isinstance(self.alpha, tuple) else self.alpha,
            "limits": list(self.limits),
            "on_unbounded": self.on_unbounded,
            "warm_up": self.warm_up,
            "hyperparameters": self.hyperparameters,
        }

    def fingerprint(self) -> bytes:
        """Eight bytes that are the same for equal settings, and differ for others."""
        return hashlib.sha256(dumps(self.plain()).encode()).digest()[:8]
