# cython: boundscheck=False, wraparound=False
"""Sums over vectors, in one fixed order of additions, so that compiled and uncompiled give the same bits."""

import math

UP = float.fromhex("0x1p512")
DOWN = float.fromhex("0x1p-512")
LOW = float.fromhex("0x1p-256")


def dot(x, y):
    """The inner product of two vectors of the same length.

    >>> import numpy as np
    >>> dot(np.array([1.0, 2.0]).data, np.array([3.0, 4.0]).data)
    11.0
    """
    n = x.shape[0]
    a = b = c = d = 0.0  # four sums in flight: an addition need not wait for the one before
    i = 0
    while i + 4 <= n:
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        a += x[i] * y[i]
        i += 1
    return (a + b) + (c + d)


def norm(x):
    """The Euclidean norm, right over the whole range of floating point.

    Squares that would leave the range are taken of x times a power of two, which changes no bit of the result.

    >>> import numpy as np
    >>> norm(np.array([3e-200, 4e-200]).data), norm(np.array([3e170, 4e170]).data)
    (5e-200, 5e+170)
    """
    q = dot(x, x)
    if 1e-270 < q < 1e270:
        return math.sqrt(q)
    if q == 0.0 and not nonzero(x):
        return 0.0
    if q <= 1e-270:  # entries below 1e-135: up by 2^512, and again if they are below 1e-289
        q = scaled_squares(x, UP, 1.0)
        if q > 1e-270:
            return math.sqrt(q) * DOWN
        q = scaled_squares(x, UP, UP)
        return math.sqrt(q) * DOWN * DOWN
    return math.sqrt(scaled_squares(x, DOWN, 1.0)) * UP


def distance(x, y):
    """The Euclidean distance between two vectors.

    >>> import numpy as np
    >>> distance(np.array([1.0, 2.0]).data, np.array([4.0, 6.0]).data)
    5.0
    """
    largest = 0.0
    for i in range(x.shape[0]):
        largest = max(largest, abs(x[i] - y[i]))
    if largest == 0.0:
        return 0.0
    q = 0.0
    for i in range(x.shape[0]):
        t = (x[i] - y[i]) / largest
        q += t * t
    return largest * math.sqrt(q)


def lift(x, out):
    """Copy x to out times 2^(-512 k), so that products with its entries do not underflow; returns k, 0 for ordinary x.

    >>> import numpy as np
    >>> out = np.empty(1)
    >>> lift(np.array([1e-310]), out), out
    (-2, array([0.01797693]))
    """
    size = norm(x)
    first = UP if 0.0 < size < LOW else 1.0
    second = UP if size > 0.0 and size * first < LOW else 1.0
    for i in range(x.shape[0]):
        out[i] = x[i] * first * second
    return 0 if first == 1.0 else -1 if second == 1.0 else -2


def scaled_squares(x, up, again):
    """The sum of (x_i * up * again)^2, added in the order of ``dot``."""
    n = x.shape[0]
    a = b = c = d = 0.0
    i = 0
    while i + 4 <= n:
        t = x[i] * up * again
        a += t * t
        t = x[i + 1] * up * again
        b += t * t
        t = x[i + 2] * up * again
        c += t * t
        t = x[i + 3] * up * again
        d += t * t
        i += 4
    while i < n:
        t = x[i] * up * again
        a += t * t
        i += 1
    return (a + b) + (c + d)


def nonzero(x):
    """Whether some entry is not zero."""
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            return True
    return False


def finite(x):
    """Whether every entry is finite."""
    for i in range(x.shape[0]):
        if not math.isfinite(x[i]):
            return False
    return True


def within(x, limit):
    """Whether every entry lies in [-limit, limit]; NaN does not."""
    for i in range(x.shape[0]):
        if not -limit <= x[i] <= limit:
            return False
    return True


def copy(x, out):
    """Copy x to out."""
    for i in range(x.shape[0]):
        out[i] = x[i]


def solve_in_place(g, x):
    """Solve g y = x for a positive definite g, of which the lower half is given; y replaces x, and g is lost."""
    for i in range(x.shape[0]):
        for j in range(i + 1):
            total = g[i, j]
            for k in range(j):
                total = total - g[i, k] * g[j, k]
            g[i, j] = math.sqrt(total) if i == j else total / g[j, j]
        total = x[i]
        for k in range(i):
            total = total - g[i, k] * x[k]
        x[i] = total / g[i, i]
    for back in range(x.shape[0]):
        i = x.shape[0] - 1 - back
        total = x[i]
        for k in range(i + 1, x.shape[0]):
            total = total - g[k, i] * x[k]
        x[i] = total / g[i, i]


def view(array):
    """The numbers of an array, in the form in which compiled code reads them."""
    return array.data
