"""Which groups a row belongs to: names of columns and their values, as the numbers that trackers and panels know.

A row belongs to one group of each column, or to none where its value is None. A value that comes for the first time
makes a new group. A column of numbers can be cut at quantiles that are learned online.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wane.checks import described, number, whole
from wane.errors import InputError, InputTypeError
from wane.order_statistics import OrderStatistics
from wane.state.encoding import checked_key, decode_key, encode_key
from wane.state.one_step import in_one_step
from wane.trackers.grouped import EVERYTHING

RECENT = 10_000  # values from which the quantiles of a column are learned


@dataclass(frozen=True)
class Quantiles:
    """A column of numbers as groups: it is cut into parts that hold as many of its recent values each.

    The cuts are learned online, from the last 10,000 values: a row is told from the rows before it.

    Args:
        column: its name.
        parts: how many groups it makes.

    >>> Quantiles("forecast", 4)
    Quantiles(column='forecast', parts=4)
    """

    column: str
    parts: int = 4

    def __post_init__(self) -> None:
        """Check the number of parts."""
        whole("parts", self.parts, 2)


class Cuts:
    """The recent values of a column, which say to which part a new one belongs.

    >>> cuts = Cuts(2)
    >>> for x in [1.0, 2.0, 3.0]:
    ...     in_one_step(*cuts.adding(x))
    >>> cuts.part(0.5), cuts.part(9.0)
    ('1/2', '2/2')
    """

    def __init__(self, parts: int, values: Sequence[float] = ()) -> None:
        """Begin with some values."""
        self.parts, self.recent, self.sorted = parts, deque[float](), OrderStatistics()
        for value in values:
            in_one_step(*self.adding(value))

    def part(self, value: float) -> str:
        """Return the name of the part that a value belongs to, if it is the next one; a tie counts as half below."""
        bag = self.sorted
        below, most = bag.count_below(value), bag.count_at_most(value)
        rank = 0.5 * (below + most + 1) / (bag.size + 1)
        return f"{min(int(self.parts * rank), self.parts - 1) + 1}/{self.parts}"

    def adding(self, value: float) -> list[partial[Any]]:
        """Return what learns a value, and forgets the oldest if there are many."""
        steps = [partial(self.sorted.insert, value), partial(self.recent.append, value)]
        if len(self.recent) == RECENT:
            steps += [partial(self.sorted.remove, self.recent[0]), partial(self.recent.popleft)]
        return steps

    def __copy__(self) -> Cuts:
        """Return a copy that shares nothing."""
        made = Cuts(self.parts)
        made.recent, made.sorted = self.recent.copy(), copy.copy(self.sorted)
        return made


class Grouping:
    """The columns of groups, and every group so far: the j-th, counted from 1, is ``groups[j - 1]``.

    Args:
        columns: names, or ``Quantiles`` of columns of numbers.

    >>> grouping = Grouping(["weekday", "region"])
    >>> grouping.take({"weekday": 3, "region": "north"}), grouping.take({"weekday": 4, "region": "north"})
    ((1, 2), (3, 2))
    >>> grouping.groups
    [('weekday', 3), ('region', 'north'), ('weekday', 4)]
    """

    def __init__(self, columns: Any) -> None:
        """Begin without groups."""
        if isinstance(columns, (str, Quantiles)):
            columns = [columns]
        elif not isinstance(columns, (list, tuple)):
            raise InputTypeError(f"must be a list of names, got {described(columns)}", about="groups")
        self.columns = tuple(columns)
        for column in self.columns:
            if not isinstance(column, (str, Quantiles)):
                problem = f"must be names, or Quantiles of columns of numbers, got {described(column)}"
                raise InputTypeError(problem, about="groups")
        self.names = tuple(c if isinstance(c, str) else c.column for c in self.columns)
        if not self.names or len(set(self.names)) < len(self.names) or EVERYTHING in self.names:
            problem = f"must be different names of your own, got {list(self.names)}"
            raise InputError(problem, about="groups", cure=f"{EVERYTHING!r} is always a group")
        self.cuts = {c.column: Cuts(c.parts) for c in self.columns if isinstance(c, Quantiles)}
        self.groups: list[tuple[str, Any]] = []
        self.places: dict[tuple[str, Any], int] = {}

    def agreeing(self, other: Grouping) -> Grouping:
        """Return this one if the other has the same columns, else an error."""
        if self.columns != other.columns:
            problem = f"must be {list(self.columns)}, as before, got {list(other.columns)}"
            raise InputError(problem, about="groups", cure="give the same, or begin anew")
        return self

    def labels(self) -> tuple[str, ...]:
        """Return a text for each group, by which trackers call it; all differ."""
        return tuple(label(*group) for group in self.groups)

    def checked(self, given: Any, rows: int | None = None) -> list[Any]:
        """Return what was given for each column, in order; an error unless there is something for each of them.

        With ``rows`` it is an array for each column, and must be as long.
        """
        if not isinstance(given, Mapping) or {*given} != {*self.names}:
            kind = "a value" if rows is None else "an array"
            raise InputError(
                f"must be a dict with {kind} for each of {', '.join(self.names)}, got {described(given)}",
                about="groups",
                cure="give None for a row that belongs to no group of a column",
            )
        found = [given[name] for name in self.names]
        if rows is not None:
            found = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in found]
            for name, values in zip(self.names, found, strict=True):
                if len(values) != rows:
                    problem = f"must have one value of {name} for each of the {rows} rows, got {len(values)}"
                    raise InputError(problem, about="groups")
        return found

    def keys(self, values: list[Any]) -> tuple[Any, ...]:
        """Return the group of each column that a row with these values belongs to, or None; nothing is learned."""
        keys: list[Any] = []
        for name, value in zip(self.names, values, strict=True):
            if missing(value):
                keys.append(None)
            elif name in self.cuts:
                keys.append((name, self.cuts[name].part(number(name, value))))
            else:
                keys.append((name, checked_key(value)))
        return tuple(keys)

    def find(self, given: Any) -> tuple[int, ...]:
        """Return the numbers of the groups of a row, 0 for none. New ones get the numbers that they will have."""
        return self.taking(self.checked(given))[0]

    def take(self, given: Any) -> tuple[int, ...]:
        """Do what ``find`` does, and learn the values: new groups exist from now on."""
        numbers, _, steps = self.taking(self.checked(given))
        in_one_step(*steps)
        return numbers

    def take_rows(self, given: Any, rows: int) -> np.ndarray:
        """Do what ``take`` does for many rows, in order; returns an array with a row for each of them."""
        columns = self.checked(given, rows)
        made = np.zeros((rows, len(columns)), dtype=np.int64)
        for t, values in enumerate(zip(*columns, strict=True)):
            made[t], _, steps = self.taking(list(values))
            in_one_step(*steps)
        return made

    def taking(self, values: list[Any]) -> tuple[tuple[int, ...], dict[Any, int], list[partial[Any]]]:
        """Return the numbers of the groups of a row, those that are new, and functions written in C that learn it."""
        fresh: dict[Any, int] = {}
        numbers, steps = [], []
        for name, value, key in zip(self.names, values, self.keys(values), strict=True):
            if key is None:
                numbers.append(0)
                continue
            if key not in self.places:
                fresh[key] = len(self.groups) + len(fresh) + 1
            numbers.append(fresh[key] if key in fresh else self.places[key])
            if name in self.cuts:
                steps += self.cuts[name].adding(float(value))
        if fresh:
            steps += [partial(self.places.update, fresh), partial(self.groups.extend, fresh)]
        return tuple(numbers), fresh, steps

    def __copy__(self) -> Grouping:
        """Return a copy that shares nothing that changes."""
        made = Grouping(self.columns)
        made.groups, made.places = list(self.groups), dict(self.places)
        made.cuts = {name: copy.copy(cuts) for name, cuts in self.cuts.items()}
        return made

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "columns": [[c, 0] if isinstance(c, str) else [c.column, c.parts] for c in self.columns],
            "groups": [[column, encode_key(value)] for column, value in self.groups],
            "recent": {name: list(cuts.recent) for name, cuts in self.cuts.items()},
        }

    @classmethod
    def from_plain(cls, data: Any) -> Grouping:
        """Make it from plain data; an error if that is damaged."""
        made = cls([column if not parts else Quantiles(column, parts) for column, parts in data["columns"]])
        for column, value in data["groups"]:
            made.groups.append((column, decode_key(value)))
            made.places[made.groups[-1]] = len(made.groups)
        if len(made.places) < len(made.groups) or any(column not in made.names for column, _ in made.groups):
            raise InputError("a group comes twice, or of no column", argument="groups")
        for name, cuts in made.cuts.items():
            values = [number(name, value) for value in data["recent"][name]]
            if len(values) > RECENT:
                raise InputError(f"{name} has more than {RECENT} recent values", argument="groups")
            made.cuts[name] = Cuts(cuts.parts, values)
        return made


def label(column: str, value: Any) -> str:
    """Return the text by which trackers call a group.

    >>> label("weekday", 3)
    'weekday=3'
    """
    return f"{column}={value!r}"


def missing(value: Any) -> bool:
    """Say whether a row has no value of a column: None, NaN, or no time.

    >>> missing(None), missing(float("nan")), missing(0)
    (True, True, False)
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, np.datetime64) and bool(np.isnat(value))
