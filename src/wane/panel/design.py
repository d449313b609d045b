"""What all streams of a panel share: the score, the levels, the limits, and how a stream begins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import EXTREME, described, whole
from wane.conformal.levels import arranged
from wane.conformal.predictions import UNBOUNDED
from wane.conformal.settings import crew, interval_limits, policy
from wane.errors import UnboundedError
from wane.scores import IntervalScore, OneSided, as_score
from wane.scores.base import EVERYWHERE


class Design:
    """The settings of a panel, checked, with one set of trackers that has learned nothing."""

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
        self.score = as_score(score)
        if not isinstance(self.score, IntervalScore):
            raise TypeError(f"a panel makes intervals: the score must be one of real labels, got {self.score!r}")
        self.method = method
        self.hyperparameters = dict(hyperparameters)
        self.alpha, trackers = crew(method, self.score, alpha, self.hyperparameters)
        self.hyperparameters.pop("coverage", None)  # it has become alpha
        self.alphas: tuple[float, ...] = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        self.limits = interval_limits(self.score, lower_limit, upper_limit)
        self.on_unbounded = policy(self.score, on_unbounded, self.limits)
        self.warm_up = whole("warm_up", warm_up, 0)
        self.levels = arranged(self.alphas, trackers, self.score.sides)
        self.auto = any(getattr(t, "waiting", 0.0) for t in trackers)
        if self.auto and not self.warm_up:
            raise ValueError("epsilon='auto' is chosen from the first labels of each stream: give warm_up, how many")
        short = tuple(f"_{a:g}" for a in self.alphas)
        exact = short if len(set(short)) == len(short) else tuple(f"_{a!r}" for a in self.alphas)
        self.suffixes = exact if isinstance(self.alpha, tuple) else ("",)  # of the names of columns by level
        self.parts = 1 if self.score.outputs(self.example()).__class__ is np.ndarray else 2

    def example(self) -> Any:
        """No model outputs, in the form that the score takes."""
        return np.zeros(0) if not hasattr(self.score, "pair") else (np.zeros(0), np.zeros(0))

    def columns(self, outputs: Any) -> np.ndarray:
        """Model outputs, checked, as an array (rows, parts)."""
        made = self.score.outputs(outputs)
        return made[:, None] if self.parts == 1 else np.column_stack(made)

    def form(self, columns: np.ndarray) -> Any:
        """Model outputs as the score takes them."""
        if self.parts == 1:
            return np.ascontiguousarray(columns[:, 0])
        return np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1])

    def labels(self, y: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels, checked, and whether each is known."""
        labels, known = self.score.labels(y, rows)
        low, high = self.limits
        if self.limits is not EVERYWHERE:
            outside = known & ~((labels >= low) & (labels <= high))
            if outside.any():
                t = int(np.argmax(outside))
                raise ValueError(f"y[{t}] = {labels[t]} is outside the limits {self.limits}: correct it, or widen them")
        return labels, known

    def scores(self, outputs: Any, labels: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the two sides (one side: twice the same), NaN where there is no label."""
        made = self.score.score(outputs, labels)
        sides = made if self.score.sides == 2 else (made,)
        for side in sides:
            if len(side) and not (side.max() <= EXTREME and side.min() >= -EXTREME):
                t = int(np.argmin(np.abs(side) <= EXTREME))
                raise ValueError(f"a score must be within +-{EXTREME:g}, got {side[t]}: measure in a larger unit")
        if not known.all():
            sides = tuple(np.where(known, side, math.nan) for side in sides)
        return sides[0], sides[-1]

    def floors(self, outputs: Any) -> np.ndarray:
        """The smallest radius that gives an interval, a row each."""
        return np.array(np.broadcast_to(np.asarray(self.score.floor(outputs), dtype=float), self.score.rows(outputs)))

    def at(self, radii: np.ndarray, i: int) -> Any:
        """The radii of the i-th level."""
        c = self.levels.columns[i]
        if self.score.sides == 1:
            return np.ascontiguousarray(radii[:, c])
        return np.ascontiguousarray(radii[:, c]), np.ascontiguousarray(radii[:, len(self.alphas) + c])

    def intervals(self, outputs: Any, radii: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower ends, upper ends and widths of the i-th level."""
        radius = self.at(radii, i)
        lower, upper = self.score.bounds(outputs, radius, self.limits)
        if isinstance(self.score, OneSided):
            lower, upper = (np.where(np.isnan(radius), math.nan, end) for end in (lower, upper))  # one does not move
            return lower, upper, self.score.width(outputs, radius, None, self.limits)
        with np.errstate(invalid="ignore", over="ignore"):
            return lower, upper, np.maximum(upper - lower, 0.0)

    def covered(self, below: np.ndarray, above: np.ndarray, radii: np.ndarray, i: int) -> np.ndarray:
        """The paper's rule at the i-th level; False where there is no label or no radius."""
        c = self.levels.columns[i]
        inside = below < radii[:, c]
        return inside if self.score.sides == 1 else inside & (above < radii[:, len(self.alphas) + c])

    def refuse_unbounded(self, radii: np.ndarray, order: np.ndarray | None = None) -> None:
        """An error about the first infinite radius, unless it is allowed; NaN is a row without prediction.

        Row t of radii was row ``order[t]`` for the user.
        """
        if self.on_unbounded != "error" or not (infinite := np.isinf(radii)).any():
            return
        bad = np.flatnonzero(infinite.any(axis=1))
        rows = bad if order is None else order[bad]
        t = int(bad[np.argmin(rows)])
        what = UNBOUNDED.replace("give past data to warm_start", "give warm_up")
        raise UnboundedError(f"row {rows.min()}: " + what.format(radii=", ".join(map(str, radii[t].tolist()))))

    def state(self) -> dict[str, Any]:
        """As plain data."""
        if not isinstance(self.method, str):
            raise TypeError(f"a panel made by the name of a method can be saved, got {described(self.method)}")
        return {
            "method": self.method,
            "score": self.score.state_dict(),
            "alpha": list(self.alpha) if isinstance(self.alpha, tuple) else self.alpha,
            "limits": list(self.limits),
            "on_unbounded": self.on_unbounded,
            "warm_up": self.warm_up,
            "hyperparameters": self.hyperparameters,
        }
