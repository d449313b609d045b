# cython: boundscheck=False, wraparound=False
"""Closed convex sets to play in: each projects a point to its nearest member.

Anything with a method ``project(x) -> array`` is a domain for the learners; the ones here also compile, know their
diameter and can be saved with a learner's state.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import LARGEST, described, dimension, positive, real_array, scalar
from wane.errors import InputError, InputTypeError
from wane.state.data import WRAPPERS, register_values
from wane.vectors import copy, distance, dot, norm, within

MEMBER = 1e-9  # a point is a member if its projection moves it by less than this share of its length: rounding

__all__ = ["Ball", "Box", "Custom", "Domain", "HalfSpace", "Nonnegative", "Simplex"]


class Domain:
    """A closed convex set; what the domains of this module share.

    A domain of your own need not be a subclass: any object with ``project(x) -> array`` will do.

    >>> Ball(2.0).project([3.0, 4.0])
    array([1.2, 1.6])
    >>> [0.5, 0.5] in Ball(), Ball().diameter
    (True, 2.0)
    """

    parameters = ()  # type: tuple[str, ...]  # the arguments of __init__, kept under the same names

    def project(self, point: Any) -> Any:
        """The member nearest to ``point``: a float for a float, an array for an array."""
        x = real_array("point", point)
        flat = np.array(x, ndmin=1)
        self.check(flat.shape)
        if not within(flat.data, LARGEST):
            raise InputError(f"must be finite, with entries up to {LARGEST:g}, got {described(point)}", about="point")
        self._project(flat.data)
        return float(flat[0]) if x.ndim == 0 else flat

    def check(self, shape: tuple[int, ...]) -> None:
        """An error when points of this shape do not belong to the space of the set."""
        if not isinstance(shape, tuple) or len(shape) != 1 or shape[0] < 1 or self.size not in (None, shape[0]):
            wanted = "(dim,)" if self.size is None else f"({self.size},)"
            raise InputError(f"{self!r} holds points of shape {wanted}, got {shape}", argument="point")

    def __contains__(self, point: Any) -> bool:
        """Whether the projection leaves the point where it is, up to rounding."""
        x = np.array(real_array("point", point), ndmin=1)
        return bool(distance(self.project(x).data, x.data) <= MEMBER * norm(x.data))

    @property
    def size(self) -> int | None:
        """The number of coordinates; None when the set exists in every dimension."""
        return None

    @property
    def diameter(self) -> float:
        """The largest distance between two members."""
        return math.inf

    def diameter_in(self, dim: int) -> float:
        """The diameter in a space of that many coordinates, for sets that exist in every dimension."""
        return self.diameter

    def _project(self, x: Any) -> None:
        project_in_python(self, x)

    def __reduce__(self) -> Any:
        """Copy and pickle by the arguments."""
        return type(self), tuple(plain(getattr(self, name)) for name in self.parameters)

    def __repr__(self) -> str:
        """The call that makes it."""
        inside = ", ".join(f"{name}={plain(getattr(self, name))!r}" for name in self.parameters)
        return f"{type(self).__name__}({inside})"


class Ball(Domain):
    """The points at most ``radius`` away from ``center`` (the origin by default)."""

    parameters = ("radius", "center")

    def __init__(self, radius: float = 1.0, center: Any = None) -> None:
        """A Euclidean ball."""
        self.radius = positive("radius", radius)
        self.center = None if center is None else points("center", center)
        self.middle: Any = np.zeros(0).data if center is None else np.array(self.center).data

    @property
    def size(self) -> int | None:
        """The number of coordinates, where a center gives it."""
        return None if self.center is None else len(self.center)

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2.0 * self.radius

    def _project(self, x: Any) -> None:
        if self.middle.shape[0] == 0:
            r = norm(x)
            if r > self.radius:
                for i in range(x.shape[0]):
                    x[i] *= self.radius / r
        else:
            r = distance(x, self.middle)
            if r > self.radius:
                for i in range(x.shape[0]):
                    x[i] = self.middle[i] + (x[i] - self.middle[i]) * (self.radius / r)


class Box(Domain):
    """The points with ``lower <= x <= upper`` in every coordinate; infinite limits are allowed.

    >>> Box(0.0, [1.0, math.inf]).project([3.0, 4.0])
    array([1., 4.])
    """

    parameters = ("lower", "upper")

    def __init__(self, lower: Any, upper: Any) -> None:
        """Limits are numbers, or arrays with one a coordinate."""
        a = limits("lower", lower)
        b = limits("upper", upper)
        if a.ndim and b.ndim and a.shape != b.shape:
            raise InputError(f"must have the same length as lower, got {b.shape} and {a.shape}", about="upper")
        if not ((a <= b) & (a < math.inf) & (b > -math.inf)).all():
            problem = f"must not exceed upper, got lower={described(lower)}, upper={described(upper)}"
            raise InputError(problem, about="lower")
        self.lower = a if a.ndim else float(a)
        self.upper = b if b.ndim else float(b)
        wide = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
        self.low: Any = np.array(wide[0]).data
        self.high = np.array(wide[1]).data
        self.everywhere = a.ndim == b.ndim == 0

    @property
    def size(self) -> int | None:
        """The number of coordinates, where the limits give it."""
        return None if self.everywhere else self.low.shape[0]

    @property
    def diameter(self) -> float:
        """The length of the diagonal; infinite for scalar limits, which do not say the dimension."""
        if self.everywhere or not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            return math.inf
        return distance(self.low, self.high)

    def diameter_in(self, dim: int) -> float:
        """The length of the diagonal in that many dimensions."""
        width, n = np.asarray(self.high) - np.asarray(self.low), dimension(dim)
        return float(width[0]) * math.sqrt(n) if self.everywhere and np.isfinite(width[0]) else self.diameter

    def _project(self, x: Any) -> None:
        for i in range(x.shape[0]):
            low = self.low[0 if self.everywhere else i]
            high = self.high[0 if self.everywhere else i]
            if x[i] < low:
                x[i] = low
            elif x[i] > high:
                x[i] = high


class Nonnegative(Domain):
    """The points with no negative coordinate."""

    def _project(self, x: Any) -> None:
        for i in range(x.shape[0]):
            if x[i] < 0.0:
                x[i] = 0.0


class HalfSpace(Domain):
    """The points with ``<normal, x> <= offset``.

    >>> HalfSpace([1.0, 1.0], 1.0).project([1.0, 1.0])
    array([0.5, 0.5])
    """

    parameters = ("normal", "offset")

    def __init__(self, normal: Any, offset: float = 0.0) -> None:
        """A normal of any length but zero."""
        self.normal = points("normal", normal)
        self.offset = scalar("offset", offset)
        length = norm(self.normal.data)
        if length == 0.0:
            raise InputError(f"must not be zero, got {self!r}", about="normal")
        if not math.isfinite(self.offset):
            raise InputError(f"must be finite, got {self!r}", about="offset")
        self.unit = (self.normal / length).data
        self.reach = self.offset / length
        if not math.isfinite(self.reach):
            problem = f"offset over the length of normal must be finite, got {self!r}"
            raise InputError(problem, argument="normal", cure="use a longer normal")

    @property
    def size(self) -> int | None:
        """The number of coordinates of the normal."""
        return len(self.normal)

    def _project(self, x: Any) -> None:
        beyond = dot(self.unit, x) - self.reach
        if beyond > 0.0:
            for i in range(x.shape[0]):
                x[i] -= beyond * self.unit[i]


class Simplex(Domain):
    """The points without negative coordinates that sum to ``total``.

    >>> Simplex().project([0.2, 0.9, -3.0])
    array([0.15, 0.85, 0.  ])
    """

    parameters = ("total",)

    def __init__(self, total: float = 1.0) -> None:
        """The probability simplex, or a multiple of it."""
        self.total = positive("total", total)

    @property
    def diameter(self) -> float:
        """The distance between two corners."""
        return math.sqrt(2.0) * self.total

    def _project(self, x: Any) -> None:
        top = x[0]
        for i in range(x.shape[0]):
            if x[i] > top:
                top = x[i]
        for i in range(x.shape[0]):  # moving all by the same amount changes nothing but the rounding
            x[i] -= top
        threshold = -2.0 * self.total
        count = x.shape[0] + 1.0
        while True:  # Michelot: the mean excess of those above the threshold is the next threshold
            total = 0.0
            above = 0.0
            for i in range(x.shape[0]):
                if x[i] > threshold:
                    total += x[i]
                    above += 1.0
            if above >= count:  # fewer every time, or done
                break
            count = above
            threshold = (total - self.total) / above
        for i in range(x.shape[0]):
            x[i] = x[i] - threshold if x[i] > threshold else 0.0


class Custom(Domain):
    """A user's object with a method ``project(x) -> array``, as a domain."""

    parameters = ("object",)

    def __init__(self, object: Any) -> None:
        """Any object with ``project``."""
        if isinstance(object, type) or not callable(getattr(object, "project", None)):
            problem = f"a domain is an object with a method project(x) -> array, got {described(object)}"
            raise InputTypeError(problem, argument="domain")
        self.object = object


def project_in_python(domain: Any, x: Any) -> None:
    """The projection of a user's object, checked before it is taken."""
    if not isinstance(domain, Custom):
        raise NotImplementedError(f"{type(domain).__name__} must define _project")
    point = np.array(x, dtype=float)
    moved = domain.object.project(point.copy())
    moved = real_array("a projection", moved)
    moved = moved.reshape(1) if moved.ndim == 0 else moved
    if moved.shape != point.shape or not np.isfinite(moved).all():
        problem = f"project must return {point.shape[0]} finite numbers, got {described(moved)} from {domain!r}"
        raise InputError(problem, argument="domain")
    copy(moved.data, x)


def as_domain(domain: Any) -> Domain:
    """A domain of this module as it is; any other object with ``project`` as a ``Custom`` domain."""
    if type(domain) in (Ball, Box, Custom, HalfSpace, Nonnegative, Simplex):
        return domain
    if isinstance(domain, Domain) and type(domain).project is Domain.project:
        problem = f"{type(domain).__name__} must define project(x) -> array; it need not be a subclass of Domain"
        raise InputTypeError(problem, argument="domain")
    return Custom(domain)


def plain(value: Any) -> Any:
    """Arrays as lists, the rest as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def points(name: str, value: Any) -> np.ndarray:
    """A finite vector in memory of its own, for reading only."""
    array = np.array(real_array(name, value))
    if array.ndim != 1 or array.size == 0 or not within(array.data, LARGEST):
        raise InputError(f"must be a vector of finite numbers up to {LARGEST:g}, got {described(value)}", about=name)
    array.flags.writeable = False
    return array


def limits(name: str, value: Any) -> np.ndarray:
    """Numbers that may be infinite, in memory of their own."""
    array = np.array(real_array(name, value))
    if array.ndim > 1 or array.size == 0 or np.isnan(array).any():
        raise InputError(f"must be a number or a vector without NaN, got {described(value)}", about=name)
    return array


register_values("domain", Ball, Box, HalfSpace, Nonnegative, Simplex)
WRAPPERS[Custom] = "object"
