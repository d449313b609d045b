"""Checks made once, at the boundary: what was given, what was wanted, what to do."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane.checks import COUNTABLE, described, discount_factors, real_array, whole
from wane.errors import InputError, InputTypeError

FloatArray = NDArray[np.float64]


def as_array(name: str, values: ArrayLike, dimensions: tuple[int, ...]) -> FloatArray:
    """Return a float64 copy of `values`, finite and with an allowed number of dimensions."""
    a = np.array(real_array(name, values))
    if a.ndim not in dimensions:
        wanted = " or ".join(str(n) for n in dimensions)
        raise InputError(f"has shape {a.shape}; wanted {wanted} dimension(s)", about=name, cure="reshape it")
    if not np.isfinite(a).all():
        bad = tuple(np.argwhere(~np.isfinite(a))[0].tolist())
        row = bad[0] if bad else None
        raise InputError(f"holds {a[bad]}; wanted finite numbers", about=name, row=row, cure="drop or fix it")
    return a


def as_discounts(discounts: ArrayLike, rounds: int | None) -> FloatArray:
    """Return one nonnegative discount per round; a number is broadcast to `rounds`."""
    d = real_array("discounts", discounts)
    if rounds is None and d.ndim == 0:
        cure = "pass rounds, or one discount per round"
        raise InputError("is one number and rounds is not given", about="discounts", cure=cure)
    return np.array(discount_factors(d, d.size if rounds is None else rounds))


def as_number(name: str, value: float, *, minimum: float = 0.0, strict: bool = False) -> float:
    """Return `value` as a finite float that is at least (strictly: above) `minimum`."""
    x = float(as_array(name, value, (0,)))
    if x < minimum or (strict and x == minimum):
        raise InputError(f"is {x}; wanted a number {'>' if strict else '>='} {minimum:g}", about=name)
    return x


def as_rounds(name: str, value: int, maximum: int = COUNTABLE) -> int:
    """Return `value` as an integer in [1, maximum]."""
    try:
        n = operator.index(value)
    except TypeError:
        raise InputTypeError(
            f"is {described(value)}; wanted a whole number of rounds", about=name, cure="pass an int"
        ) from None
    if not 1 <= n <= maximum:
        most = "" if n < 1 and maximum == COUNTABLE else f" <= {maximum}"
        raise InputError(f"is {described(n)}; wanted 1 <= {name}{most}", about=name)
    return n


def as_pair(name: str, value: ArrayLike) -> tuple[float, float]:
    """Return two finite floats."""
    a = as_array(name, value, (1,))
    if a.shape != (2,):
        raise InputError(f"has {a.size} numbers; wanted two", about=name)
    return float(a[0]), float(a[1])


def as_seed(value: int | None) -> int | None:
    """Return a seed for numpy's random numbers; None draws one."""
    return None if value is None else whole("seed", value, 0)


def as_point(name: str, value: ArrayLike) -> float | FloatArray:
    """Return a float for a number and a float64 vector for a one-dimensional array."""
    if type(value) is float and math.isfinite(value):
        return value
    a = as_array(name, value, (0, 1))
    return float(a) if a.ndim == 0 else a


def same_length(**series: FloatArray) -> int:
    """Return the common length of the named series."""
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1:
        problem = f"lengths differ: {lengths}; wanted one entry per round in each"
        raise InputError(problem, argument=next(iter(lengths)), cure="cut them to the same rounds")
    return next(iter(lengths.values()))


def norms(a: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row: |a_t| for (T,), ||a_t|| for (T, d), without overflow in the squares."""
    size = np.abs(a)
    if size.ndim == 1:
        return size
    with np.errstate(over="ignore"):
        return np.asarray(np.hypot.reduce(size, axis=1))


def aged(discount: float, value: float) -> float:
    """Return discount * value; a discount of 0 forgets even an overflowed value."""
    return discount * value if discount else 0.0
