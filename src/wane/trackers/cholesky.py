# cython: boundscheck=False, wraparound=False
"""A ridge regression that is solved in place, without the matrix library: a handful of features, every few rounds."""

from __future__ import annotations

import math


def solve(gram, moment, ridge, factor, out):
    """Solve (gram + ridge) out = moment by Cholesky; ``gram`` and ``factor`` are lower triangles, row after row.

    >>> import numpy as np
    >>> out = np.zeros(2)
    >>> _ = solve(np.array([3.0, 1.0, 2.0]), np.array([5.0, 5.0]), 0.0, np.zeros(3), out)
    >>> out.round(9)
    array([1., 2.])
    """
    n = moment.shape[0]
    for i in range(n):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            other = j * (j + 1) // 2
            total = gram[row + j]
            if i == j:
                total += ridge
            for k in range(j):
                total -= factor[row + k] * factor[other + k]
            factor[row + j] = math.sqrt(total) if i == j else total / factor[other + j]
    for i in range(n):
        row = i * (i + 1) // 2
        total = moment[i]
        for k in range(i):
            total -= factor[row + k] * out[k]
        out[i] = total / factor[row + i]
    for m in range(n):
        i = n - 1 - m
        total = out[i]
        for k in range(i + 1, n):
            total -= factor[k * (k + 1) // 2 + i] * out[k]
        out[i] = total / factor[i * (i + 1) // 2 + i]
    return 0
