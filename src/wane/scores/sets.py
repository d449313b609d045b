"""Prediction sets: what ``y in s`` means, and how wide it is. Every set is closed, and NaN is in none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wane.checks import scalar
from wane.covered import contains, holds
from wane.errors import InputError
from wane.vectors import norm as euclidean

__all__ = ["Ball", "HalfLine", "Interval", "LabelSet", "PredictionSet", "UserSet"]


class PredictionSet:
    """What every set has: ``y in s``, ``s.width``, equality and a repr by its parts."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        """The same kind of set, with the same parts."""
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, k), getattr(other, k)) for k in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # the parts may be arrays

    def __repr__(self) -> str:
        """The call that makes it."""
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__slots__)})"


class Interval(PredictionSet):
    """All y with lower <= y <= upper; empty, with width 0, when lower > upper. No interval has ends that are NaN.

    >>> s = Interval(1.0, 3.0)
    >>> 3.0 in s, 3.5 in s, s.width
    (True, False, 2.0)
    """

    __slots__ = ("lower", "upper")

    def __init__(self, lower: float, upper: float) -> None:
        """Both ends belong to it."""
        self.lower = lower
        self.upper = upper

    def __contains__(self, y: Any) -> bool:
        """Whether y lies between the ends."""
        return bool(contains(self.lower, self.upper, y if type(y) is float else scalar("y", y)))

    @property
    def width(self) -> float:
        """The length."""
        return 0.0 if self.upper <= self.lower else self.upper - self.lower


class HalfLine(PredictionSet):
    """All y on one side of a bound. Its length says nothing, so its width is the distance from forecast to bound.

    The width is negative when the bound lies on the inner side of the forecast. One end is the bound, the other is
    infinite, or a limit of the labels.

    >>> s = HalfLine(float("-inf"), 3.0, width=2.0)  # the forecast was 1
    >>> -1e9 in s, 3.0 in s, 3.5 in s, s.width
    (True, True, False, 2.0)
    """

    __slots__ = ("lower", "upper", "width")

    def __init__(self, lower: float, upper: float, width: float) -> None:
        """Both ends belong to it."""
        self.lower = lower
        self.upper = upper
        self.width = width

    def __contains__(self, y: Any) -> bool:
        """Whether y lies on the right side of the bound."""
        return bool(contains(self.lower, self.upper, y if type(y) is float else scalar("y", y)))


class LabelSet(PredictionSet):
    """Some of the classes, the most probable first; its width is their number.

    >>> s = LabelSet(("cat", "dog"))
    >>> "dog" in s, "cow" in s, len(s), s.width, list(s)
    (True, False, 2, 2.0, ['cat', 'dog'])
    """

    __slots__ = ("labels",)

    def __init__(self, labels: tuple[Any, ...]) -> None:
        """The labels, in the order that they are to be shown."""
        self.labels = labels

    def __contains__(self, y: Any) -> bool:
        """Whether y is one of the labels."""
        return y == y and y in self.labels

    def __len__(self) -> int:
        """How many labels."""
        return len(self.labels)

    def __iter__(self) -> Iterator[Any]:
        """The labels, the most probable first."""
        return iter(self.labels)

    @property
    def width(self) -> float:
        """How many labels, as a float like every width."""
        return float(len(self.labels))


class Ball(PredictionSet):
    """All vectors within a radius of the center, in the norm 1, 2 or inf; empty, with width 0, when radius < 0.

    >>> s = Ball(np.array([0.0, 1.0]), 5.0, norm=2)
    >>> [3.0, 5.0] in s, [3.1, 5.0] in s, s.width
    (True, False, 10.0)
    >>> s.lower.tolist(), s.upper.tolist()
    ([-5.0, -4.0], [5.0, 6.0])
    """

    __slots__ = ("center", "norm", "radius")

    def __init__(self, center: np.ndarray, radius: float, norm: float) -> None:
        """The sphere belongs to it."""
        self.center = center
        self.radius = radius
        self.norm = norm

    def __contains__(self, y: Any) -> bool:
        """Whether y is near enough."""
        y = np.asarray(y, dtype=float)
        if y.shape != self.center.shape:
            raise InputError(f"a point of this ball has shape {self.center.shape}, got {y.shape}", argument="y")
        return bool(holds(self.radius, distance(self.center, y, self.norm)))

    @property
    def lower(self) -> np.ndarray:
        """The lower corner of the smallest box around it."""
        return self.center - self.radius

    @property
    def upper(self) -> np.ndarray:
        """The upper corner of the smallest box around it."""
        return self.center + self.radius

    @property
    def width(self) -> float:
        """The diameter."""
        return 2.0 * self.radius if self.radius > 0.0 else 0.0


class UserSet(PredictionSet):
    """A container of the user's; its width is its length, NaN when it has none.

    >>> s = UserSet({"a", "b"})
    >>> "a" in s, "c" in s, s.width
    (True, False, 2.0)
    """

    __slots__ = ("inside",)

    def __init__(self, inside: Any) -> None:
        """Anything with ``in``."""
        self.inside = inside

    def __contains__(self, y: Any) -> bool:
        """Whether the container says so; it is not asked about NaN."""
        return not (isinstance(y, float) and y != y) and y in self.inside

    @property
    def width(self) -> float:
        """The length of the container."""
        return float(len(self.inside)) if hasattr(self.inside, "__len__") else float("nan")


def distance(a: np.ndarray, b: np.ndarray, norm: float) -> Any:
    """The distance of two vectors in the norm 1, 2 or inf: a float; of two arrays of rows: one a row.

    >>> distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]), 1)
    7.0
    """
    if a.ndim == 2:  # row by row: a sum over an axis may add in another order than a sum over a row
        return np.array([distance(x, y, norm) for x, y in zip(a, b, strict=True)], dtype=float)
    gap = np.abs(a - b)
    if norm == 2:
        return euclidean(gap.data)
    return float(gap.sum() if norm == 1 else gap.max())
