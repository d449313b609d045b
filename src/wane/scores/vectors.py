"""Scores of vector labels: the sets are balls around a forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import EXTREME, INFINITY, described, real_array, scalar
from wane.errors import InputError
from wane.scores.base import EVERYWHERE, Score, all_moderate, each, missing, one_each, present, table, unlimited
from wane.scores.sets import Ball, distance


class NormBall(Score):
    """The distance ||y - output|| in the norm 1, 2 or inf; the set is the ball of that radius around the output.

    A label with a NaN in any coordinate is a missing label.

    >>> score = NormBall()
    >>> center = score.output([0.0, 1.0])
    >>> score.score(center, score.label([3.0, 5.0])), score.set(center, 5.0).width
    (5.0, 10.0)
    """

    parameters = ("norm",)

    def __init__(self, norm: float = 2) -> None:
        """Take the norm."""
        if isinstance(norm, bool) or scalar("norm", norm) not in (1.0, 2.0, INFINITY):
            raise InputError(f"must be 1, 2 or inf, got {described(norm)}", about="norm")
        self.norm = norm

    def output(self, value: Any) -> np.ndarray:
        """A vector (d,), copied."""
        return point("output", value).copy()

    def outputs(self, values: Any) -> np.ndarray:
        """Vectors (T, d)."""
        array = table("outputs", values, point, entries=0)
        if array.shape[1] == 0 or not all_moderate(array):
            each("outputs", array, point)
        return array

    def row(self, outputs: Any, t: int) -> np.ndarray:
        """The vector of round t, copied."""
        return outputs[t].copy()

    def label(self, y: Any) -> np.ndarray:
        """A vector (d,), copied."""
        return point("y", present("y", None if absent(y) else y)).copy()

    def labels(self, values: Any, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Vectors (T, d), 0 where unknown; d is 0 when none is known."""
        values = one_each(values, rounds)
        if getattr(values, "dtype", np.dtype(object)).kind not in "fiub":  # rows may be None
            found = each("y", values, lambda name, y: None if absent(y) else point(name, y))
            here = [t for t, y in enumerate(found) if y is not None]
            rows = [found[t] for t in here]
            sizes = {len(y) for y in rows} or {0}
            if len(sizes) > 1:
                raise InputError(f"must hold vectors of one length, got lengths {sorted(sizes)}", about="y")
            values = np.full((rounds, sizes.pop()), np.nan)
            values[here] = rows or 0.0
        array = table("y", values, point, entries=0)
        known = ~np.isnan(array).any(axis=1) & (array.shape[1] > 0)
        array = np.where(known[:, None], array, 0.0)
        if not all_moderate(array):
            each("y", array, point)
        return array, known

    def score(self, output: Any, y: Any, u: Any = None) -> Any:
        """The norm of the difference."""
        if output.ndim == 2 and y.shape[1] == 0:  # no label is known
            return np.zeros(len(output))
        if output.shape != y.shape:
            raise InputError(f"must have the shape of its output, {output.shape}, got {y.shape}", about="y")
        return distance(output, y, self.norm)

    def floor(self, output: Any, u: Any = None) -> Any:
        """0."""
        return 0.0 if output.ndim == 1 else np.zeros(len(output))

    def set(self, output: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> Ball:
        """The ball around the output."""
        unlimited("balls", limits)
        return Ball(output.copy(), radius, self.norm)

    def width(self, outputs: Any, radius: Any, u: Any = None, limits: tuple[float, float] = EVERYWHERE) -> np.ndarray:
        """The diameters."""
        unlimited("balls", limits)
        with np.errstate(over="ignore"):
            return np.where(radius > 0.0, 2.0 * radius, 0.0)


def point(name: str, value: Any) -> np.ndarray:
    """A vector of numbers up to 1e150, under the name that an error gives it."""
    array = real_array(name, value)
    if array.ndim != 1 or not array.size:
        raise InputError(f"must be a vector, got shape {array.shape}", about=name)
    if not all_moderate(array):
        problem = f"must be finite, with entries up to {EXTREME:g}, got {array}"
        raise InputError(problem, about=name, cure="clean it or measure in a larger unit")
    return array


def absent(y: Any) -> bool:
    """Whether a label is None, NaN, or a vector with a NaN."""
    return missing(y) or (hasattr(y, "__len__") and getattr(y, "ndim", 1) > 0 and any(map(missing, y)))
