"""Numbers for one object, of which it cuts its vectors: a view of memory takes as much space as 60 numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython


def room(size: int) -> Any:
    """Zeros, in the form that costs least: compiled code views an array, uncompiled code reads a view faster.

    >>> room(3)[1]
    0.0
    """
    numbers = np.zeros(size)
    return numbers if cython.compiled else numbers.data
