"""What a memory may hold: every count, index and length is checked against its arrays before an object plays.

Compiled loops trust the state, so a state is checked when it is read. A class says what is possible in three places of
``Stateful``: ``extents`` are the arguments that take memory, ``limits()`` gives the least and the greatest value of its
fields, and ``misfit()`` names a field that contradicts the others.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from wane.checks import LARGEST, described
from wane.errors import InputError

MOST = 2**53  # what a count may reach: rows of floats hold it exactly, and a million rounds a second take 285 years
GREATEST = float(np.finfo(float).max)


def refuse_impossible(thing: Any) -> None:
    """An error that names the field, if the memory is one that no rounds could have left."""
    name = type(thing).__name__
    for field, (low, high) in thing.limits().items():
        value = getattr(thing, field)
        if isinstance(value, (bool, int, float)):
            inside = low <= value <= high
        else:
            array = np.asarray(value)
            inside = bool(((array >= low) & (array <= high)).all())
        if not inside:
            problem = f"{field} in the memory of {name} must lie in [{low:g}, {high:g}], got {described(plain(value))}"
            raise InputError(problem, argument="state")
    field = thing.misfit()
    if field is not None:
        problem = f"{field} in the memory of {name} does not fit the rest of it: no rounds could have left this"
        raise InputError(problem, argument="state", cure="restore it from a copy")


def plain(value: Any) -> Any:
    """An array as a list, for messages."""
    return value if isinstance(value, (bool, int, float)) else np.asarray(value).tolist()


def refuse_unbacked(cls: Any, given: Any, memory: Any) -> None:
    """An error if what is given asks for more numbers than the memory holds: a small file takes no large memory."""
    wanted = cls.least_numbers(given)
    if wanted > 0 and wanted > (held := count(memory)):
        problem = f"the memory of {cls.__name__} must hold {wanted} numbers or more, by {described(given)}, got {held}"
        raise InputError(problem, argument="state", cure="restore it from a copy")


def count(data: Any) -> int:
    """How many numbers plain data holds.

    >>> count({"x": [1.0, 2.0], "h": {"n": 3}})
    3
    """
    if isinstance(data, list):
        return sum(map(count, data))
    if isinstance(data, dict):
        return sum(map(count, data.values()))
    return isinstance(data, (int, float))


def limits_of_rows(thing: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest row of numbers (``as_row``) of an object with these arguments.

    Numbers of a row that are no memory are arguments, which a warm start may have chosen: none is negative, and one is
    infinite only where it is so without a warm start.
    """
    new = thing.as_row()
    low, high = new.copy(), new.copy()
    for end in (0, 1):
        other = copy.deepcopy(thing)
        move_to(other, end)
        row = other.as_row()
        low, high = np.minimum(low, row), np.maximum(high, row)
    chosen = low == high
    low[chosen], high[chosen] = 0.0, np.where(np.isinf(new[chosen]), np.inf, LARGEST)
    return low, high


def move_to(thing: Any, end: int) -> None:
    """Set all of the memory to its least values (0) or to its greatest (1)."""
    from wane.state.data import parts_of

    limits = thing.limits()
    for field in thing.memory:
        value = getattr(thing, field)
        if hasattr(value, "move_to"):  # first: it knows better than its fields say
            value.move_to(end)
        elif hasattr(value, "memory"):
            move_to(value, end)
        elif isinstance(value, (bool, int, float)):
            setattr(thing, field, type(value)(limits.get(field, (-GREATEST, GREATEST))[end]))
        else:
            np.asarray(value)[...] = limits.get(field, (-GREATEST, GREATEST))[end]
    for part in parts_of(thing):
        move_to(part, end)
