"""Convex losses for a game: linear, absolute and quadratic, with the subgradients the protocol reveals.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Section 2, step 2
of the protocol.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from wane.errors import InputError
from wane.theory.arguments import FloatArray, as_point


@runtime_checkable
class Loss(Protocol):
    """A convex loss: a value and a subgradient at every point."""

    def value(self, x: Any) -> float:
        """Return l(x)."""

    def gradient(self, x: Any) -> Any:
        """Return a subgradient of l at x, of x's shape."""


class Linear:
    """Linear loss l(x) = <g, x>.

    Args:
        gradient: g, a number or a vector.

    >>> Linear([1.0, 2.0]).value([3.0, 4.0])
    11.0

    Reference: Theorem "lower" and the reduction, Eq. (6), use nothing else.
    """

    def __init__(self, gradient: ArrayLike) -> None:
        """Keep g."""
        self._g = as_point("gradient", gradient)

    def value(self, x: Any) -> float:
        """Return <g, x>."""
        return inner(self._g, x)

    def gradient(self, x: Any) -> float | FloatArray:
        """Return g."""
        return self._g


class Absolute:
    """Distance to a target, l(x) = ||x - target||; 1-Lipschitz.

    Args:
        target: a number or a vector.

    >>> loss = Absolute(2.0)
    >>> loss.value(5.0), loss.gradient(5.0), loss.gradient(2.0)
    (3.0, 1.0, 0.0)

    Reference: a loss with ||g_t|| <= G for all t (Section 2.1).
    """

    def __init__(self, target: ArrayLike) -> None:
        """Keep the target."""
        self.target = as_point("target", target)

    def value(self, x: Any) -> float:
        """Return ||x - target||."""
        return size(difference(x, self.target))

    def gradient(self, x: Any) -> float | FloatArray:
        """Return the unit vector from the target to x; 0 at the target."""
        away = difference(x, self.target)
        distance = size(away)
        return away / distance if distance > 0 else away * 0.0


class Quadratic:
    """Half the squared distance to a target, l(x) = ||x - target||^2 / 2.

    Args:
        target: a number or a vector.

    >>> loss = Quadratic([0.0, 1.0])
    >>> loss.value([3.0, 5.0]), loss.gradient([3.0, 5.0]).tolist()
    (12.5, [3.0, 4.0])

    Reference: a loss without a Lipschitz constant known in advance (Section 2.2).
    """

    def __init__(self, target: ArrayLike) -> None:
        """Keep the target."""
        self.target = as_point("target", target)

    def value(self, x: Any) -> float:
        """Return ||x - target||^2 / 2."""
        away = difference(x, self.target)
        return 0.5 * inner(away, away)

    def gradient(self, x: Any) -> float | FloatArray:
        """Return x - target."""
        return difference(x, self.target)


def inner(a: ArrayLike, b: ArrayLike) -> float:
    """Return <a, b>, of two numbers or of two vectors of the same length."""
    a, b = as_point("a", a), as_point("b", b)
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    _same_shape(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.dot(a, b))


def difference(a: ArrayLike, b: ArrayLike) -> float | FloatArray:
    """Return a - b, of two numbers or of two vectors of the same length."""
    a, b = as_point("a", a), as_point("b", b)
    _same_shape(a, b)
    with np.errstate(over="ignore"):
        return a - b


def size(a: float | FloatArray) -> float:
    """Return the Euclidean norm of a number or a vector."""
    return abs(a) if isinstance(a, float) else math.hypot(*a.tolist())


def _same_shape(a: float | FloatArray, b: float | FloatArray) -> None:
    if not (isinstance(a, float) and isinstance(b, float)) and np.shape(a) != np.shape(b):
        raise InputError(f"shapes {np.shape(a)} and {np.shape(b)}; wanted two numbers, or two vectors of one length")
