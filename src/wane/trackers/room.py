"""Numbers of which several objects cut their vectors: memory of its own costs each as much as 60 numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython


class Room:
    """So many zeros, given away from the first to the last.

    Args:
        size: how many.

    >>> room = Room(3)
    >>> first, second = room.cut(2), room.cut(1)
    >>> len(first), second[0]
    (2, 0.0)
    """

    def __init__(self, size: int) -> None:
        """Nothing is given away."""
        numbers = np.zeros(size)
        self.numbers: Any = numbers if cython.compiled else numbers.data  # uncompiled code reads a view faster
        self.taken = 0

    def cut(self, size: int) -> Any:
        """The next numbers."""
        self.taken = self.taken + size
        return self.numbers[self.taken - size : self.taken]


def given(room: Any, size: int) -> Any:
    """The room that is given, or one of this size if there is none.

    >>> len(given(None, 4).cut(4))
    4
    """
    return Room(size) if room is None else room
