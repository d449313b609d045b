"""Several changes that no signal can come between.

A signal handler of Python runs between two steps of the interpreter, and may raise, as Ctrl-C does. So a change that
must be whole is made by functions that are written in C, called one after the other without the interpreter.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any


def in_one_step(*steps: partial[Any]) -> None:
    """Call functions that are written in C, one after the other. No signal is handled in between.

    >>> seen = {}
    >>> in_one_step(partial(seen.update, a=1), partial(seen.update, b=2))
    >>> seen
    {'a': 1, 'b': 2}
    """
    deque(map(partial.__call__, steps), maxlen=0)
