# cython: boundscheck=False, wraparound=False
"""The trackers of one object, level by level: radii that never cross, and what each tracker learns from a label.

The levels of one side form a chain from the narrowest set (the largest alpha) to the widest. Each plays the larger of
its own radius and what the level before it played, and learns at what it played.
"""

from __future__ import annotations

import copy
from types import FunctionType
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.covered import covers, holds
from wane.state import data as plain_data
from wane.state.cells import Cells
from wane.trackers.base import Tracker
from wane.trackers.batch import play_told
from wane.trackers.context import fill, put_further, rows_for

INFINITY = float("inf")
NAN = float("nan")


class Level:
    """One tracker, and the level of the next wider set."""

    def __init__(self, tracker: Tracker, wider: Level | None) -> None:
        """Link the tracker to the level of the next wider set, or to None at the end of the chain."""
        self.tracker = tracker
        self.wider = wider

    def _play(self, floor, radii, t, own, u, column):
        """Radii, in row t, from this level outwards: none is below ``floor``, nor below the one before.

        What each tracker would play by itself goes to row u of ``own``.
        """
        radius = self.tracker._predict()
        own[u, column] = radius
        if radius < floor:
            radius = floor
        radii[t, column] = radius
        if self.wider is not None:
            self.wider._play(radius, radii, t, own, u, column + 1)

    def _foresee(self, given, t):
        """Tell each tracker what is known of the round that is predicted next."""
        self.tracker._foresee(given, t)
        if self.wider is not None:
            self.wider._foresee(given, t)

    def _note(self, cells):
        """List what each tracker keeps with a prediction, for writing or reading a note."""
        self.tracker._note(cells)
        if self.wider is not None:
            self.wider._note(cells)

    def _own(self, own, u, column):
        """Write to row u what each tracker would play by itself in a round of which nothing is known."""
        own[u, column] = self.tracker._predict()
        if self.wider is not None:
            self.wider._own(own, u, column + 1)

    def _fields(self, cells):
        """List the states of all trackers from this level outwards, for writing or reading a row."""
        self.tracker._fields(cells)
        if self.wider is not None:
            self.wider._fields(cells)

    def _warm(self, score):
        """Let each tracker learn a score of the past at its own radius, as ``Tracker.run`` does."""
        self.tracker._ingest(score, self.tracker._predict(), NAN)
        if self.wider is not None:
            self.wider._warm(score)

    def _ready(self, score):
        """Let every tracker raise or warn about the score before any of them learns it."""
        self.tracker._ready(score)
        if self.wider is not None:
            self.wider._ready(score)

    def _learn(self, score, radii, t, column, discount):
        """Tell each tracker the score and the radius that was played for its level."""
        self.tracker._ingest(score, radii[t, column], discount)
        if self.wider is not None:
            self.wider._learn(score, radii, t, column + 1, discount)


def chain(trackers: list[Tracker]) -> Level:
    """Link trackers, given from the narrowest level to the widest, into a chain."""
    link = None
    for tracker in reversed(trackers):
        link = Level(tracker, link)
    assert link is not None
    return link


class Levels:
    """All trackers of one object: ``count`` levels of one side, or of a lower and an upper side.

    Scores and radii have columns: the levels from the narrowest to the widest; with two sides, the lower side's first.
    """

    def __init__(self, trackers: list[Tracker], sides: int) -> None:
        """Chain the trackers, one a column."""
        self.trackers = trackers
        self.count = len(trackers) // sides
        self.first = chain(trackers[: self.count])
        self.second = chain(trackers[self.count :]) if sides == 2 else None
        self.radii: Any = np.empty((1, len(trackers))).data
        self.own: Any = np.empty((1, len(trackers))).data
        self.cells: Any = Cells()
        self.alone = len(trackers) == 1
        self.noted = sum(t.noted() for t in trackers)  # how many numbers are kept with a prediction
        self.context = max(t.context for t in trackers)  # how many numbers of the user's they hear of each round
        self.given: Any = rows_for(1, self.context).data
        self.slip: Any = np.zeros((1, self.noted)).data
        self.kept: Any = np.zeros((1, self.flat())).data  # the states before a label, where its update may fail
        self.fragile = not all(t.atomic for t in trackers) or any(map(interruptible, trackers))

    def predict(self, floor: float) -> tuple[float, ...]:
        """Return the radii to play in the next round, one for each column."""
        if self.alone:
            return (self._play_one(floor),)
        self._play(floor, self.radii, 0, self.own, 0)
        return tuple([self.radii[0, c] for c in range(len(self.trackers))])

    def foresee(self, moment: float, floor: float, ceiling: float, output: float, context: tuple[float, ...]) -> None:
        """Tell the trackers what is known of the round that is predicted next; see ``wane.trackers.context``."""
        fill(self.given, 0, moment, floor, ceiling, output)
        for i in range(len(context)):
            put_further(self.given, 0, i, context[i])
        self._foresee(self.given, 0)

    def note(self) -> tuple[float, ...]:
        """Return what must be kept with the prediction that was just made, so that its label can come late."""
        self._write_note(self.slip, 0)
        return tuple([self.slip[0, i] for i in range(self.noted)])

    def bounded(self, radii: tuple[float, ...]) -> bool:
        """Say whether every radius is finite."""
        for radius in radii:
            if not -INFINITY < radius < INFINITY:
                return False
        return True

    def cold(self) -> bool:
        """Say whether some tracker has seen no score yet."""
        for tracker in self.trackers:
            if tracker.cold:
                return True
        return False

    def rounds(self) -> int:
        """Return how many scores the trackers have learned."""
        return self.first.tracker.rounds

    def untaught(self) -> bool:
        """Say whether the trackers have learned no score at all, so that what they play rests on nothing."""
        return self.first.tracker.rounds == 0

    def __copy__(self) -> Levels:
        """Copy the trackers too: a copy shares nothing with the original."""
        return Levels([copy.copy(tracker) for tracker in self.trackers], 1 if self.second is None else 2)

    def own_radii(self) -> tuple[float, ...]:
        """Return what each tracker would play by itself, without the others."""
        if self.alone:
            return (self.first.tracker._predict(),)
        return tuple([tracker.predict() for tracker in self.trackers])

    def update(
        self, lower: float, upper: float, radii: tuple[float, ...], discount: float, note: tuple[float, ...] = ()
    ) -> tuple[Any, Any]:
        """Learn one label: the score of each side (``upper`` is for the second), and the radii that were played.

        ``note`` is what was kept with the prediction; it is empty where nothing was.

        Returns what the trackers would play by themselves before and after it.
        """
        before = self.keep() if self.fragile else None
        try:
            return self.teach(lower, upper, radii, discount, note)
        except BaseException:
            if self.fragile:
                self.put_back(before)
            raise

    def teach(
        self, lower: float, upper: float, radii: tuple[float, ...], discount: float, note: tuple[float, ...] = ()
    ) -> tuple[Any, Any]:
        """Do what ``update`` does, but leave it to the caller to keep the states and to put them back."""
        own = self.own_radii()
        if len(note) > 0:
            for i in range(self.noted):
                self.slip[0, i] = note[i]
            self._read_note(self.slip, 0)
        if self.alone:
            self._learn_one(lower, radii[0], discount)
        else:
            for c in range(len(radii)):
                self.radii[0, c] = radii[c]
            self._learn(lower, upper, self.radii, 0, discount)
        return own, self.own_radii()

    def ready(self, lower: float, upper: float) -> None:
        """Let the trackers raise or warn about a label before any of them learns it."""
        self.first._ready(lower)
        if self.second is not None:
            self.second._ready(upper)

    def warm_start(self, scores: list[Any], given: Any) -> None:
        """Learn scores of the past, an array for each side; all trackers or none.

        ``given`` says what was known of each round before it, for the trackers that keep notes.
        """
        before = [plain_data.snapshot(t) for t in self.trackers]
        try:
            for c, tracker in enumerate(self.trackers):
                if tracker.noted():
                    play_told(tracker, scores[c // self.count], given)
                else:
                    tracker.warm_start(scores[c // self.count])
        except BaseException:
            self.put_back(before)
            raise

    def keep(self) -> Any:
        """Keep the states as they are, for ``put_back``. None says that a row of numbers holds them."""
        if self.kept.shape[1] == 0:
            return [plain_data.snapshot(t) for t in self.trackers]
        self._write(self.kept, 0)
        return None

    def put_back(self, before: Any) -> None:
        """Restore the states that ``keep`` has kept."""
        if before is None:
            self._read(self.kept, 0)
        else:
            for tracker, taken in zip(self.trackers, before, strict=True):
                plain_data.put_back(tracker, taken)

    def _play_one(self, floor):
        """Return the radius if there is one level of one side. This is the short way."""
        radius = self.first.tracker._predict()
        return radius if radius >= floor else floor

    def _learn_one(self, score, radius, discount):
        self.first.tracker._ingest(score, radius, discount)

    def _play(self, floor, radii, t, own, u):
        if self.second is None:
            self.first._play(floor, radii, t, own, u, 0)
        else:
            below = self.first.tracker._predict()
            above = self.second.tracker._predict()
            lower = upper = -INFINITY
            if below + above < 0.0:  # the ends cross: play the point in the middle
                lower = 0.5 * (below - above) if below != above else 0.0  # two empty sides: infinities have no middle
                upper = -lower
            self.first._play(lower, radii, t, own, u, 0)
            self.second._play(upper, radii, t, own, u, self.count)

    def _foresee(self, given, t):
        self.first._foresee(given, t)
        if self.second is not None:
            self.second._foresee(given, t)

    def _write_note(self, notes, i):
        """Put what a prediction keeps into row i."""
        self.cells._write(notes, i)
        self._note(self.cells)

    def _read_note(self, notes, i):
        """Give the trackers back what row i has kept, for the label that they learn next."""
        self.cells._read(notes, i)
        self._note(self.cells)

    def _note(self, cells):
        self.first._note(cells)
        if self.second is not None:
            self.second._note(cells)

    def _own(self, own, u):
        """Write to row u what each tracker would play in a round of which nothing is known."""
        self.first._own(own, u, 0)
        if self.second is not None:
            self.second._own(own, u, self.count)

    def flat(self) -> int:
        """How many floats hold the state of all trackers; 0 if no fixed number does."""
        sizes = [tracker.flat() for tracker in self.trackers]
        return sum(sizes) if all(sizes) else 0

    def write(self, rows: np.ndarray, i: int) -> None:
        """Put the state of all trackers into row i."""
        self._write(rows.data, i)

    def read(self, rows: np.ndarray, i: int) -> None:
        """Take the state of all trackers from row i."""
        self._read(rows.data, i)

    def _write(self, rows, i):
        if rows.shape[1] > 0:  # else the trackers are not flat
            self.cells._write(rows, i)
            self._fields(self.cells)

    def _read(self, rows, i):
        if rows.shape[1] > 0:
            self.cells._read(rows, i)
            self._fields(self.cells)

    def _fields(self, cells):
        self.first._fields(cells)
        if self.second is not None:
            self.second._fields(cells)

    def _warm(self, lower, upper):
        self.first._warm(lower)
        if self.second is not None:
            self.second._warm(upper)

    def _learn(self, lower, upper, radii, t, discount):
        self.first._ready(lower)
        if self.second is not None:
            self.second._ready(upper)
        self.first._learn(lower, radii, t, 0, discount)
        if self.second is not None:
            self.second._learn(upper, radii, t, self.count, discount)


def interruptible(thing: Any) -> bool:
    """Say whether a tracker, or a learner inside it, learns in Python code, in which a signal may be handled.

    Uncompiled, all do. Methods of this package whose past grows then take the risk: to keep a copy of the past for
    every label would cost too much.
    """
    in_python = isinstance(getattr(type(thing), "_update", None), FunctionType)
    if in_python and not cython.compiled and type(thing).__module__.startswith("wane.") and not thing.flat():
        return False
    return in_python or any(map(interruptible, plain_data.parts_of(thing)))


def in_order(values, columns):
    """Bring what is said by column into the order of the user's levels."""
    return tuple([values[c] for c in columns])


def covered_in_order(score, radii, columns, closed):
    """Say whether each level covered a score, as its tracker learned it, in the order of the user's levels.

    ``closed[c]`` says whether the tracker of column c learns a tie as covered.
    """
    return tuple([holds(radii[c], score) if closed[c] else covers(radii[c], score) for c in columns])
