# cython: boundscheck=False, wraparound=False, cdivision=True
"""A positive number that can shrink or grow for ever without leaving the range of floating point.

Discounting multiplies the hint h of the paper's algorithms by lambda every round; after enough silence (or with lambda
above 1) any float under- or overflows. Here h = mantissa * 2^(512 exponent) with the mantissa in [2^-256, 2^256), so
only ratios to h, which are harmless, are ever formed. Multiplying all inputs by a power of two changes no ratio by a
bit.
"""

from __future__ import annotations

import math
from typing import Any

from wane.state.limits import MOST

UP = float.fromhex("0x1p512")
DOWN = float.fromhex("0x1p-512")
HIGH = float.fromhex("0x1p256")
LOW = float.fromhex("0x1p-256")


class Hint:
    """The discounted running maximum h; zero until the first positive size.

    >>> h = Hint()
    >>> h.grow(1.0, 4.0), h.grow(0.5, 1.0), h.grow(0.5, 3.0)
    (0.0, 1.0, 0.3333333333333333)
    >>> h.value
    3.0
    """

    def __init__(self, mantissa: float = 0.0, exponent: int = 0) -> None:
        """Start at mantissa * 2^(512 exponent); zero means that nothing has been seen."""
        self.mantissa = mantissa
        self.exponent = exponent
        self.shrink = 0.0
        self.shrink_exponent = 0

    def as_plain(self) -> list[Any]:
        """As plain data."""
        return [self.mantissa, self.exponent]

    def set_plain(self, value: Any) -> bool:
        """Take what ``as_plain`` gave; False if ``grow`` could never have left it."""
        if not -MOST <= value[1] <= MOST:
            return False
        self.mantissa, self.exponent = float(value[0]), int(value[1])
        return self.exponent == value[1] and (self.mantissa == 0.0 or LOW <= self.mantissa < HIGH)

    def move_to(self, end: int) -> None:
        """Be the least or the greatest that it can be, each part by itself."""
        self.mantissa, self.exponent = (HIGH, MOST) if end else (0.0, -MOST)

    def _fields(self, cells):
        self.mantissa = cells.number(self.mantissa)
        self.exponent = cells.whole(self.exponent)

    @property
    def value(self) -> float:
        """The number as a float; 0 or infinity where a float cannot hold it."""
        if abs(self.exponent) > 2:
            return math.inf if self.exponent > 0 else 0.0
        step = UP if self.exponent > 0 else DOWN
        value = self.mantissa
        for _ in range(abs(self.exponent)):
            value *= step
        return value

    def assign(self, other: Hint) -> None:
        """Take the value of another."""
        self.mantissa = other.mantissa
        self.exponent = other.exponent

    def grow(self, discount: float, size: float, exponent: int = 0) -> float:
        """h <- max(discount * h, size * 2^(512 exponent)); returns r = discount * h_old / h_new, which lies in [0, 1].

        r is 1 while discount * h stays the maximum, and 0 when there was nothing before (or the discount is 0). A
        jump by more than floats can tell also returns 0; ``shrink * 2^(512 shrink_exponent)`` then still is r.
        """
        m = self.mantissa
        e = self.exponent
        if m > 0.0 and discount > 0.0:
            while discount >= HIGH:
                discount *= DOWN
                e += 1
            while discount < LOW:
                discount *= UP
                e -= 1
            m *= discount
            if m >= HIGH:
                m *= DOWN
                e += 1
            elif m < LOW:
                m *= UP
                e -= 1
        else:
            m = 0.0
            e = 0
        while size >= HIGH:
            size *= DOWN
            exponent += 1
        while 0.0 < size < LOW:
            size *= UP
            exponent -= 1
        if size == 0.0 or (m > 0.0 and (e > exponent or (e == exponent and m >= size))):
            self.mantissa = m
            self.exponent = e
            self.shrink = 1.0 if m > 0.0 else 0.0
            self.shrink_exponent = 0
            return self.shrink
        self.mantissa = size
        self.exponent = exponent
        self.shrink = m / size
        self.shrink_exponent = e - exponent if m > 0.0 else 0
        if self.shrink > 1.0:  # r is at most 1, and so is its mantissa: products with it cannot overflow
            self.shrink = self.shrink * DOWN
            self.shrink_exponent = self.shrink_exponent + 1
        if self.shrink_exponent == 0:
            return self.shrink
        if self.shrink_exponent == -1:
            return self.shrink * DOWN
        return 0.0

    def divide(self, x: float, exponent: int = 0) -> float:
        """x * 2^(512 exponent) / h, for a number not much larger than h; 0 where h is 0."""
        e = self.exponent - exponent
        if x == 0.0 or self.mantissa == 0.0 or e > 2:
            return 0.0
        while e > 0:
            x *= DOWN
            e -= 1
        while e < 0:
            x *= UP
            e += 1
        return x / self.mantissa

    def descend(self, x: Any, rate: float, gradient: Any, factor: float, exponent: int, out: Any) -> None:
        """out = x - rate * (gradient * factor * 2^(512 exponent)) / h; out = x where h is 0."""
        e = self.exponent - exponent
        first = UP if e < 0 else DOWN if e > 0 else 1.0
        second = first if e == 2 or e == -2 else 1.0
        rate = rate * (factor / self.mantissa) if self.mantissa > 0.0 and -2 <= e <= 2 else 0.0
        for i in range(x.shape[0]):
            out[i] = x[i] - gradient[i] * first * second * rate
