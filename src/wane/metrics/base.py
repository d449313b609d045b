"""What the metrics share: checks of input, what is covered, sums that do not drift, the last k rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wane.checks import described, one_of, real_array, scalar, whole
from wane.covered import covers, holds
from wane.errors import InputError
from wane.state.limits import MOST
from wane.state.stateful import Stateful

LIMIT = 1e290  # of finite input: a hundred million interval scores at the smallest alpha still add up to a float
SLACK = 1e-13  # of a share of rounds that is meant to be a whole number: 0.29 * 100 is 29, not 28.999999999999996
ENTRIES = 2**20  # of a block of windows: 8 MB


class Entries(NamedTuple):
    """Which numbers a column may hold: up to a size, NaN if ``missing``, inf and -inf if they are ``ends``."""

    missing: bool = False
    ends: tuple[float, ...] = ()
    limit: float = LIMIT

    def fit(self, x: Any) -> Any:
        """Whether each is one of them."""
        good = (np.abs(x) <= self.limit) | (np.isnan(x) & self.missing)
        for end in self.ends:
            good = good | (x == end)
        return good

    def wanted(self) -> str:
        """In words."""
        size = f" of at most {self.limit:g} in size" if self.limit < math.inf else ""
        ends = "".join(f" or {end}" for end in self.ends)
        return f"a number{size}{ends}" + (", or NaN where it is missing" if self.missing else ", not NaN")

    def column(self, name: str, values: Any, rounds: int | None = None) -> np.ndarray:
        """One number a round, checked; an error names the first bad round."""
        array = real_array(name, values)
        if array.ndim != 1 or (rounds is not None and len(array) != rounds):
            wanted = "(rounds,)" if rounds is None else f"({rounds},), one a round"
            raise InputError(f"must have shape {wanted}, got {array.shape}", about=name)
        if not len(array):
            raise InputError("is empty: a metric needs at least one round", about=name)
        if not (good := self.fit(array)).all():
            t = int(np.argmin(good))
            raise InputError(f"must be {self.wanted()}, got {array[t]}", about=name, row=t)
        return array

    def one(self, name: str, value: Any) -> float:
        """The number of one round, checked."""
        x = value if type(value) is float else scalar(name, value)
        if not self.fit(x):
            raise InputError(f"must be {self.wanted()}, got {described(value)}", about=name)
        return x


BOUND = Entries(ends=(math.inf, -math.inf))  # a radius, an end of an interval
LABEL = Entries(missing=True)  # what a loss is measured from
WIDTH = Entries(missing=True, ends=(math.inf,))
COMPARED = Entries(limit=math.inf)  # nothing is added up
HIT = "True or False, 1 or 0, or NaN for a missing label"


def covered(radii: Any, scores: Any, tie: str = "miss") -> np.ndarray:
    """Which rounds are covered: those whose radius is greater than the score.

    Args:
        radii: (T,), the radius played in each round; it may be infinite.
        scores: (T,), the score of the label; NaN where the label is missing.
        tie: what radius = score is: a "miss", as in the paper, or "covered", as in published code.

    Returns bools; floats (1, 0, and NaN where the label is missing) if a label is missing.

    >>> covered([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    array([ True, False, False])
    >>> covered([2.0, 2.0, 2.0], [1.0, 2.0, float("nan")], tie="covered")
    array([ 1.,  1., nan])
    """
    one_of("tie", tie, ("miss", "covered"))
    r = COMPARED.column("radii", radii)
    s = COMPARED._replace(missing=True).column("scores", scores, len(r))
    hits = covers(r, s) if tie == "miss" else holds(r, s)
    missing = np.isnan(s)
    return np.where(missing, np.nan, hits) if missing.any() else hits


def hits(covered: Any) -> np.ndarray:
    """1 for a round that was covered, 0 for one that was not, NaN for one without a label."""
    array = LABEL.column("covered", covered)
    if not (good := (array == 0.0) | (array == 1.0) | np.isnan(array)).all():
        t = int(np.argmin(good))
        raise InputError(f"must be {HIT}, got {array[t]}", about="covered", row=t)
    return array


def misses(covered: Any) -> np.ndarray:
    """1 for a miss, 0 for a covered round, as integers, of the rounds that have a label."""
    array = labelled("covered", hits(covered))
    return (array == 0.0).astype(np.int64)


def miss_of(covered: Any) -> int | None:
    """The same of one round: 1 for a miss, 0 for a covered round, None for one without a label."""
    x = scalar("covered", covered)
    if math.isnan(x):
        return None
    if x != 0.0 and x != 1.0:
        raise InputError(f"must be {HIT}, got {described(covered)}", about="covered")
    return 1 if x == 0.0 else 0


def labelled(name: str, array: np.ndarray) -> np.ndarray:
    """The entries that are not missing; at least one."""
    kept = array[~np.isnan(array)]
    if not len(kept):
        problem = f"is missing (NaN) in all of the {len(array)} rounds: a metric needs one that is not"
        raise InputError(problem, about=name)
    return kept


def rounds_at_most(share: float, rounds: int) -> int:
    """The most rounds that are at most a share of so many, up to the rounding of the product.

    >>> rounds_at_most(0.29, 100), 0.29 * 100 < 29
    (29, True)
    """
    return math.floor(rounds * (share + SLACK))


def rank(alpha: float, rounds: int) -> int:
    """The rank, from 0, of the smallest of so many numbers with a share 1 - alpha of them at or below it."""
    return rounds - 1 - rounds_at_most(alpha, rounds)


def blocks_of_windows(columns: list[np.ndarray], k: int) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """Every window of k rounds of each column, as the rows of views, in blocks of bounded size; and where they go."""
    if len(columns[0]) < k:
        return
    views = [np.lib.stride_tricks.sliding_window_view(c, k) for c in columns]
    step = max(1, ENTRIES // k)
    for start in range(0, len(views[0]), step):
        place = slice(start, start + step)
        yield place, [v[place] for v in views]


class Total(Stateful):
    """A sum that does not drift: Neumaier's, which carries what each addition lost; infinite terms are counted.

    >>> total = Total()
    >>> for x in [1.0, 1e100, 1.0, -1e100]:
    ...     total.add(x)
    >>> total.sum, total.mean
    (2.0, 0.5)
    """

    memory = ("count", "infinite", "main", "lost")

    def __init__(self) -> None:
        """No terms."""
        self.count = self.infinite = 0
        self.main = self.lost = 0.0

    def add(self, x: float) -> None:
        """One term, finite or inf."""
        self.count += 1
        if x == math.inf:
            self.infinite += 1
            return
        new = self.main + x
        large, small = (self.main, x) if abs(self.main) >= abs(x) else (x, self.main)
        self.lost += (large - new) + small
        self.main = new

    def limits(self) -> dict[str, tuple[float, float]]:
        """Terms are counted."""
        return {"count": (0, MOST), "infinite": (0, MOST)}

    def misfit(self) -> str | None:
        """Infinite terms are terms."""
        return None if self.infinite <= self.count else "infinite"

    @property
    def sum(self) -> float:
        """Of all terms."""
        return math.inf if self.infinite else self.main + self.lost

    @property
    def mean(self) -> float:
        """Of all terms; NaN before the first."""
        return self.sum / self.count if self.count else math.nan


class Window(Stateful):
    """The last k numbers, each finite or inf.

    >>> window = Window(2)
    >>> [window.push(x) for x in [3.0, float("inf"), 4.0]], window.numbers
    ([0.0, 0.0, 3.0], array([inf,  4.]))
    """

    parameters = ("k",)
    memory = ("seen", "ring", "infinite")  # finite numbers, as a state needs them, and where there is inf instead
    extents = ("k",)

    def __init__(self, k: int) -> None:
        """Nothing seen."""
        self.k = whole("k", k, 1)
        self.seen = 0
        self.ring = np.zeros(self.k)
        self.infinite = np.zeros(self.k)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Numbers are counted."""
        return {"seen": (0, MOST), "infinite": (0.0, 1.0)}

    def push(self, x: float) -> float:
        """A new number; returns the one that it replaces, and 0 where that is inf or there was none."""
        place = self.seen % self.k
        left = float(self.ring[place])
        self.infinite[place] = x == math.inf
        self.ring[place] = 0.0 if x == math.inf else x
        self.seen += 1
        return left

    @property
    def full(self) -> bool:
        """Whether there were k numbers."""
        return self.seen >= self.k

    @property
    def numbers(self) -> np.ndarray:
        """The last k, or all while there are fewer, from the oldest to the newest."""
        ring = np.where(self.infinite != 0.0, np.inf, self.ring)
        return np.roll(ring, -(self.seen % self.k)) if self.full else ring[: self.seen]
