"""The magnitude learners on arrays: one definition for torch, jax and numpy.

``wane.learners`` plays one learner at a time, in floats. An optimiser plays several at once, one a discount (and one a
group of parameters), on the device where the parameters are, without asking the device for a number. So the same
algorithms stand here once more, entry by entry on arrays, in operations that torch, jax.numpy and numpy have in common.
Nowhere else is an update written twice; ``tests/test_arrays.py`` holds each to that of ``wane.learners``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from wane.checks import scalar
from wane.errors import InputError
from wane.special import table

STEEP, CAP = 400.0, 1e150  # as in wane.learners.rule
STEEP_SINGLE, CAP_SINGLE = 80.0, 1e30  # what single precision can hold
UNIT = 0.8449626659675437  # erfi(1 / sqrt 2)
MARGIN = 3.0  # a rise may begin so many times above the mean scale of late: too low costs a logarithm only
LOWEST = 1e-9  # a factor below which a rise does not begin; the published scale begins at 1e-8
TINY = 1e-8  # the published constant of TRAC: added to a denominator, and where its sum starts


class Magnitude(NamedTuple):
    """The memory of Algorithm 1, an entry a learner: h = mantissa * step^exponent, s/h, v/h^2, the prediction."""

    mantissa: Any
    exponent: Any
    a: Any
    b: Any
    x: Any


class Trac(NamedTuple):
    """The memory of TRAC's rule: the discounted sum of the gradients, that of their squares, the prediction."""

    s: Any
    v: Any
    x: Any


class Rise(NamedTuple):
    """Where a scale begins when it rises from 0: its mean of late, and what the predictions are multiplied by.

    Both are in units of epsilon.
    """

    mean: Any
    factor: Any


class Norm(NamedTuple):
    """The memory of AdaGrad's rate: h = mantissa * step^exponent, V/h^2."""

    mantissa: Any
    exponent: Any
    b: Any


class Arrays:
    """The learners' arithmetic in one namespace (torch, jax.numpy, numpy) and one floating-point type.

    Args:
        xp: the namespace.
        asarray: makes an array of that type, on the right device, of a list of floats.
        single: whether that type is float32; otherwise it is float64.

    >>> import numpy as np
    >>> arrays = Arrays(np, np.array)
    >>> float(arrays.erfi(np.array(1.0)))
    1.4626517459071815
    """

    def __init__(self, xp: Any, asarray: Any, single: bool = False) -> None:
        """Put the table of Dawson's function where the arrays are."""
        self.xp = xp
        self.table = asarray(table())
        self.edges = asarray([0.25 * i for i in range(1, 25)])
        steep, cap = (STEEP_SINGLE, CAP_SINGLE) if single else (STEEP, CAP)
        self.steep = math.sqrt(steep)
        self.largest = math.sqrt(88.0 if single else 709.0)  # exp of the square of more is infinite
        up = 2.0 ** (64 if single else 512)
        self.high, self.low = math.sqrt(up), 1.0 / math.sqrt(up)
        # torch takes two plain numbers in ``where`` for single ones, so those that meet there are arrays
        numbers = asarray([0.0, 1.0, up, 1.0 / up, cap, math.inf])
        self.zero, self.one, self.up, self.down, self.cap, self.infinity = (numbers[i] for i in range(6))

    def dawson(self, x: Any) -> Any:
        """Dawson's function of every entry (``wane.special.dawson``)."""
        xp = self.xp
        y = xp.abs(x)
        i = xp.searchsorted(self.edges, y, side="right")
        far = y >= 6.0
        safe = xp.where(far, y, 6.0)
        t = xp.where(far, (6.0 / safe) * (6.0 / safe), 4.0 * y - xp.floor(4.0 * y)) - 0.5
        rows = self.table[i]
        p = rows[..., 11]
        for k in range(10, -1, -1):
            p = p * t + rows[..., k]
        return p * xp.where(far, 0.5 / xp.where(x < 0.0, -safe, safe), x)

    def erfi(self, x: Any) -> Any:
        """The integral of exp(u^2) from 0 to every entry (``wane.special.erfi``)."""
        xp = self.xp
        infinite = xp.abs(x) > self.largest
        y = xp.where(infinite, self.zero, x)
        value = self.exp_square(y) * self.dawson(y)
        return xp.where(infinite, xp.where(x < 0.0, -self.infinity, self.infinity), xp.where(x == x, value, x))

    def exp_square(self, x: Any) -> Any:
        """exp(x^2) for entries that are not large; the square is kept to more digits than a float has."""
        xp = self.xp
        near = xp.floor(x * 256.0 + 0.5) / 256.0  # few enough bits for its square to be exact
        return xp.exp(near * near) * (1.0 + xp.expm1((x - near) * (x + near)))  # jit would merge a product of two exp

    def split(self, x: Any) -> tuple[Any, Any]:
        """x >= 0 as mantissa * step^exponent, the mantissa in [step^-1/2, step^1/2), or both 0."""
        xp = self.xp
        e = 0.0 * x
        for _ in range(2):  # the whole range of floats
            large, small = x >= self.high, (x < self.low) & (x > 0.0)
            e = e + xp.where(large, self.one, xp.where(small, -self.one, self.zero))
            x = x * xp.where(large, self.down, xp.where(small, self.up, self.one))
        return x, e

    def grow(self, mantissa: Any, exponent: Any, discount: Any, size: Any) -> tuple[Any, Any, Any]:
        """h <- max(discount * h, size): its mantissa and exponent, and r = discount * h_old / h_new in [0, 1]."""
        xp = self.xp
        d, de = self.split(discount)
        m, me = self.split(mantissa * d)
        e = exponent + de + me
        s, se = self.split(size)
        stays = (s == 0.0) | ((m > 0.0) & ((e > se) | ((e == se) & (m >= s))))
        alive = m > 0.0
        ratio = xp.where(alive & ~stays, m / xp.where(s > 0.0, s, 1.0), xp.where(alive, self.one, self.zero))
        gap = xp.where(alive & ~stays, e - se, 0.0 * e)
        r = ratio * xp.where(gap == 0.0, self.one, xp.where(gap == -1.0, self.down, self.zero))
        return xp.where(stays, m, s), xp.where(stays, xp.where(alive, e, 0.0 * e), se), r

    def divide(self, x: Any, mantissa: Any, exponent: Any) -> Any:
        """x / h for x not much larger than h; 0 where h is 0."""
        xp = self.xp
        y, e = self.split(xp.abs(x))
        gap = e - exponent
        power = xp.where(gap == 1.0, self.up, self.zero)
        power = xp.where(gap == 0.0, self.one, xp.where(gap == -1.0, self.down, power))
        ratio = xp.where(mantissa > 0.0, y * power / xp.where(mantissa > 0.0, mantissa, 1.0), 0.0 * y)
        return xp.where(x < 0.0, -ratio, ratio)

    def erfi_rule(self, a: Any, b: Any) -> Any:
        """The unprojected prediction over epsilon (``wane.learners.rule.erfi_rule``)."""
        xp = self.xp
        root = xp.sqrt(b + 2.0 * a + 16.0)
        return self._scaled(0.5 * a / root, lambda z: self.dawson(z) - 1.0 / root)

    def trac_rule(self, s: Any, v: Any) -> Any:
        """erfi(s / (sqrt(2 v) + 1e-8)) / erfi(1 / sqrt 2), at most the cap and at least minus the cap."""
        return self._scaled(s / (self.root(2.0 * v) + TINY), self.dawson) / UNIT

    def root(self, x: Any) -> Any:
        """The square root of every entry; at 0, where that of a library is infinite, its derivative is 0."""
        some = x > 0.0
        return self.xp.where(some, self.xp.sqrt(self.xp.where(some, x, self.one)), self.zero)

    def _scaled(self, z: Any, factor: Any) -> Any:
        """exp(z^2) * factor(z), within the cap."""
        xp = self.xp
        steep = xp.abs(z) > self.steep
        near = xp.where(steep, self.zero, z)
        value = xp.clip(self.exp_square(near) * factor(near), -self.cap, self.cap)
        return xp.where(steep, xp.where(z < 0.0, -self.cap, self.cap), value)

    def magnitude(self, zero: Any) -> Magnitude:
        """Algorithm 1 before the first round, with the shape of ``zero``."""
        return Magnitude(zero, zero, zero, zero, zero)

    def magnitude_step(self, was: Magnitude, epsilon: Any, gradient: Any, size: Any, discount: Any) -> Magnitude:
        """Lines 6-8 and 3 of Algorithm 1, as in ``wane.learners.MagnitudeLearner``."""
        mantissa, exponent, r = self.grow(was.mantissa, was.exponent, discount, size)
        c = r * self.divide(gradient, mantissa, exponent)
        c = self.xp.where((c > 0.0) & (was.x < 0.0), 0.0 * c, c)  # line 7
        b = r * r * was.b + c * c
        a = r * was.a - c
        return Magnitude(mantissa, exponent, a, b, epsilon * self.erfi_rule(a, b))

    def trac(self, zero: Any) -> Trac:
        """TRAC's rule before the first round."""
        return Trac(zero + TINY, zero, zero)

    def trac_step(self, was: Trac, epsilon: Any, gradient: Any, discount: Any) -> Trac:
        """One round of TRAC's rule, as in ``wane.learners.TracLearner``."""
        v = discount * discount * was.v + gradient * gradient
        s = discount * was.s - gradient
        return Trac(s, v, epsilon * self.trac_rule(s, v))

    def rise(self, zero: Any) -> Rise:
        """Before the first round the guess is epsilon."""
        return Rise(zero + 1.0, zero + 1.0)

    def rise_step(self, was: Rise, total: Any, horizon: float, discount: Any) -> Rise:
        """A round in which the learners play ``total``, in units of epsilon: a scale of 0 may begin anew, lower.

        An epsilon that is far too large throws the parameters far off, the scale falls to 0, and without this it would
        begin again as high, for ever. A discount of 0 restarts.
        """
        xp = self.xp
        fresh = discount == 0.0
        mean, factor = (xp.where(fresh, self.one, x) for x in was)
        mean = mean + (factor * total - mean) / horizon
        return Rise(mean, xp.where(total > 0.0, factor, xp.clip(MARGIN * mean, LOWEST, 1.0)))

    def norm(self, zero: Any) -> Norm:
        """AdaGrad before the first round."""
        return Norm(zero, zero, zero)

    def norm_step(self, was: Norm, size: Any, discount: Any) -> tuple[Norm, Any]:
        """V <- discount^2 V + size^2; also returns size / sqrt(V), which is 0 where the size is."""
        xp = self.xp
        mantissa, exponent, r = self.grow(was.mantissa, was.exponent, discount, size)
        c = self.divide(size, mantissa, exponent)
        b = r * r * was.b + c * c
        return Norm(mantissa, exponent, b), xp.where(c > 0.0, c / xp.sqrt(xp.where(c > 0.0, b, 1.0 + 0.0 * b)), c)


def at_least_one(name: str, value: Any) -> float:
    """A number of rounds, which may be infinite."""
    x = scalar(name, value)
    if not x >= 1.0:
        raise InputError(f"must be a number of rounds >= 1, got {value!r}", about=name, cure="math.inf turns it off")
    return x
