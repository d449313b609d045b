"""The settings of a panel: those of any prediction, the name of a method, and how streams begin."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from wane.checks import described, whole
from wane.conformal.settings import Settings, levels_given, trackers_for
from wane.errors import InputError, InputTypeError, Setting
from wane.scores import IntervalScore, OneSided, as_score
from wane.state.encoding import dumps

POOL = "pool"  # the method whose streams learn from each other; the others are those of single streams


def default_method(streams: int, groups: bool = False) -> str:
    """Return the method for so many streams: "auto" for one stream without groups, else "pool".

    This is the one rule for frames, tables and the command line.

    >>> default_method(1), default_method(5000)
    ('auto', 'pool')
    """
    return "auto" if streams == 1 and not groups else POOL


class PanelSettings(Settings):
    """The checked settings that all streams of a panel share.

    ``levels`` is one set of trackers that has learned nothing, and None for the method "pool", which has no trackers.
    New streams begin with its state, and the loops read the
    state of each stream into it.

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
        """Check everything, and make the trackers, so that wrong hyperparameters fail here."""
        score = as_score(score)
        if not isinstance(score, IntervalScore):
            raise InputTypeError(
                f"a panel makes intervals: the score must be one of real labels, got {score!r}", argument="score"
            )
        method = POOL if method is None else method
        self.pooled = isinstance(method, str) and method == POOL
        trackers: list[Any] = []
        if self.pooled:
            alpha, others = levels_given(alpha, hyperparameters)
            if others or whole("warm_up", warm_up, 0):
                name = next(iter(others), "warm_up")
                raise InputTypeError(f"the method {POOL!r} has no setting {name!r}", argument=name, cure="leave it out")
        else:
            alpha, trackers = trackers_for(method, score, alpha, hyperparameters)
        past = ("give ", Setting("warm_up"))
        super().__init__(score, alpha, lower_limit, upper_limit, on_unbounded, past, "row")
        self.method = method
        self.hyperparameters = {k: v for k, v in hyperparameters.items() if k != "coverage"}  # which has become alpha
        self.warm_up = whole("warm_up", warm_up, 0)
        self.levels: Any = None if self.pooled else self.arranged(trackers)
        if self.levels is not None and self.levels.context:
            raise InputError("is not for panels", about="context", cure="OnlineConformal takes it with each output")
        self.auto = any(getattr(t, "waiting", 0.0) for t in trackers)
        if self.auto and not self.warm_up:
            raise InputError(
                f"{Setting('epsilon', 'auto')} is chosen from the first labels of each stream",
                argument="warm_up",
                cure=("give ", Setting("warm_up"), ", how many"),
            )
        self.parts = 2 if hasattr(score, "pair") else 1  # how many numbers of a model the score needs

    def columns_of(self, outputs: Any) -> np.ndarray:
        """Check model outputs, and return them as an array of shape (rows, parts), as a panel keeps them."""
        outputs = self.score.outputs(outputs)
        return outputs[:, None] if self.parts == 1 else np.column_stack(outputs)

    def outputs_of(self, columns: np.ndarray) -> Any:
        """Return such an array in the form in which the score takes model outputs."""
        if self.parts == 1:
            return np.ascontiguousarray(columns[:, 0])
        return np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1])

    def intervals(self, outputs: Any, radii: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lower ends, the upper ends and the widths of the i-th level; all are NaN where the radius is."""
        radius = self.radii_of_level(radii, i)
        lower, upper = self.score.bounds(outputs, radius, self.limits)
        if isinstance(self.score, OneSided):  # one end does not depend on the radius
            lower, upper = (np.where(np.isnan(radius), math.nan, end) for end in (lower, upper))
            return lower, upper, self.score.width(outputs, radius, None, self.limits)
        with np.errstate(invalid="ignore", over="ignore"):
            return lower, upper, np.maximum(upper - lower, 0.0)

    def plain(self) -> dict[str, Any]:
        """Return the arguments of ``Panel`` as plain data, for files and rows."""
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
        """Return eight bytes that are the same for settings that mean the same, however they were given.

        Trackers that have learned nothing say what they were made with, defaults included.
        """
        self.plain()  # an error if the method was not given by name
        made = []
        if not self.pooled:
            _, trackers = trackers_for(self.method, self.score, self.alpha, self.hyperparameters)
            made = [tracker.state_dict()["parameters"] for tracker in trackers]
        limits = [0.0 if limit == 0.0 else limit for limit in self.limits]  # -0.0 limits as 0.0 does
        shared = [
            self.method,
            made,
            self.score.state_dict(),
            list(self.alphas),
            limits,
            self.on_unbounded,
            self.warm_up,
        ]
        return hashlib.sha256(dumps(shared).encode()).digest()[:8]
