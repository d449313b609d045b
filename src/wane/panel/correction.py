"""Groups of rows that may overlap, across all series of a panel: the correction that covers each as asked.

A panel plays radii. The correction adds, in units of these radii, what is known about the row's groups, and learns from
the misses of the radii that were played. It never tells the panel, so any method can be under it.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from wane.checks import whole
from wane.conformal.grouping import Grouping
from wane.errors import InputError
from wane.metrics.groups import GroupMetrics
from wane.panel.arrays import Played
from wane.panel.batch import Rows, judge, stretches
from wane.panel.clock import checked_times, clock_of, labels_known, moments_of, older_labels_known
from wane.panel.group_learners import UNIT, GroupLearners
from wane.panel.panel import Panel
from wane.panel.sorting import order_of
from wane.panel.state import TAIL, packed, packed_time, restored_tail, unpacked, unpacked_time
from wane.panel.tail import Tail
from wane.trackers.group_table import bounds_of, counts_of, possible
from wane.trackers.grouped import EPSILON

COUNTS = ("labels", "misses", "widths", "unbounded")  # of a panel, about the intervals that are shown
ARRAYS = ("units", "seen", "radii", "members")


class Correction:
    """The learners of the groups of a panel, and the rows whose labels they wait for.

    Args:
        settings: of the panel.
        columns: of groups: names, or ``Quantiles`` of columns of numbers.
    """

    def __init__(self, settings: Any, columns: Any) -> None:
        """Begin without groups and series."""
        self.grouping = columns if isinstance(columns, Grouping) else Grouping(columns)
        sides = settings.score.sides
        levels = [a / sides for a in sorted(settings.alphas, reverse=True)]
        self.learners = GroupLearners(levels * sides, sides, settings.score.signed, EPSILON)
        self.learners.grow(1 + len(self.grouping.groups))
        self.columns = settings.columns  # by level, in the user's order
        self.alphas: tuple[float, ...] = settings.alphas
        kinds = len(self.grouping.names)
        self.units = np.zeros((0, UNIT * sides))
        self.seen = np.zeros(0, dtype=np.int64)  # rows of each series
        self.radii = np.zeros((0, settings.width))  # of the last prediction
        self.members = np.zeros((0, kinds), dtype=np.intp)  # its groups
        self.tail = Tail.empty(settings.width, kinds)
        self.clock: Any = None
        self.lag = 1
        self.placed = np.zeros((0, kinds), dtype=np.int64)  # the groups of the rows of the last ``run``

    def make_room(self, series: int) -> None:
        """Let there be a row for each series, and a learner for each group."""
        self.learners.grow(1 + len(self.grouping.groups))
        more = series - len(self.seen)
        if more > 0:
            for name in ARRAYS:
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros((more, *array.shape[1:]), dtype=array.dtype)]))

    def metrics(self) -> list[GroupMetrics] | dict[float, list[GroupMetrics]]:
        """Return how well each group is covered, over all series; with several levels, by alpha."""
        each = {a: self._metrics(i, a) for i, a in enumerate(self.alphas)}
        return each if len(each) > 1 else each[self.alphas[0]]

    def _metrics(self, i: int, alpha: float) -> list[GroupMetrics]:
        learners, names = self.learners, self.grouping.names
        n, table = learners.levels, np.asarray(learners.table)
        labels, misses, bounds = (np.zeros(learners.groups) for _ in range(3))
        for c in (self.columns[i] + s * n for s in range(learners.sides)):
            part = table[c :: learners.width]
            labels, missed = counts_of(part)
            misses = misses + missed
            bounds = bounds + bounds_of(part, learners.alphas[c], learners.epsilon, learners.won[c])
        found = [
            GroupMetrics(*group, alpha, int(labels[j]), int(min(misses[j], labels[j])), float(bounds[j]))
            for j, group in enumerate(self.grouping.groups, 1)
        ]
        return sorted(found, key=lambda group: names.index(group.column))

    def run(
        self, panel: Panel, places: np.ndarray, outputs: Any, y: Any, delay: Any, times: Any, groups: Any, more: bool
    ) -> Played:
        """Play rows, as ``Panel._run_at`` does, and correct them; the caller holds the lock and an ``Undo``.

        After an exception this object must not be used any more: callers play a copy.
        """
        settings = panel.settings
        outputs = settings.score.outputs(outputs)
        count, delay = settings.score.rows(outputs), whole("delay", delay, 0)
        labels, known = settings.labels(y, count)

        # Sort the rows by series, then by moment, behind those that wait. Values of groups are learned in time.
        by_series = order_of(places)
        streams, starts = stretches(places[by_series])
        panel._make_room()
        self.make_room(len(panel.index))
        times = checked_times(times, count, None)
        moments, same = moments_of(None if times is None else times[by_series], starts, self.clock)
        by_moment = order_of(moments)
        order, first = by_series[by_moment], len(self.tail.place)
        given = [[values[t] for t in order.tolist()] for values in self.grouping.checked(groups, count)]
        members = self.grouping.take_rows(dict(zip(self.grouping.names, given, strict=True)), count)
        self.make_room(len(panel.index))
        self.placed = np.zeros_like(members)
        self.placed[order] = members

        # The panel plays its own radii. What it counts is counted again below, about the corrected intervals.
        before = [getattr(panel, name).copy() for name in COUNTS]
        played = panel._run_at(places, outputs, y, delay, times if settings.pooled else None, more)
        for name, values in zip(COUNTS, before, strict=True):
            getattr(panel, name)[: len(values)] = values
        cold = np.isnan(played.lower[:, 0])
        base = np.where(cold[:, None], np.nan, played.radii)

        # When each label is known.
        ends = self.seen[streams] + np.diff(starts)
        rows = Rows(streams, starts, None, labels, known, None, ends)
        own: Any = self
        waiting = older_labels_known(own, rows, moments, same, delay)
        known_at = np.concatenate([waiting, labels_known(moments, starts, delay)[by_moment]])
        last = int(moments.max()) + 1 if count else 0
        learned = last - 1 if more else last

        # Play the moments.
        tail, scores = self.tail, settings.scores(outputs, labels, known)
        below, above = (
            np.concatenate([kept, s[order]]) for kept, s in zip((tail.below, tail.above), scores, strict=True)
        )
        where = np.concatenate([tail.place, places[order]])
        inside = np.concatenate([tail.notes.astype(np.intp), members.astype(np.intp)])
        radii = np.concatenate([tail.radii, np.full((count, settings.width), np.nan)])
        bases = np.concatenate([tail.radii, base[order]])
        floors = np.concatenate([np.zeros(first), settings.floors(outputs)[order]])
        cuts = (first + np.searchsorted(moments[by_moment], np.arange(last + 1))).astype(np.intp)
        coming = np.flatnonzero(~np.isnan(below) & (known_at <= learned))
        in_turn = coming[np.argsort(known_at[coming], kind="stable")]
        due = np.searchsorted(known_at[in_turn], np.arange(last + 2)).astype(np.intp)
        arrays = (where, inside, below, above, bases, floors, self.units, radii, cuts, in_turn, due)
        self.learners.play(*[array.data for array in arrays])

        # What waits for the next call.
        left = np.flatnonzero(~np.isnan(below) & (known_at > learned))
        pos = np.concatenate([tail.pos, (np.arange(count) + np.repeat(ends - starts[1:], np.diff(starts)))[by_moment]])
        notes = inside[left].astype(float)
        self.tail = Tail(where[left], pos[left], below[left], above[left], radii[left], notes)
        self.seen[streams] = ends
        self.clock, self.lag = clock_of(times, self.clock), delay + 1

        # Judge the corrected intervals, and give them back in the order of the rows.
        into = Played.empty(count, panel)
        sorted_outputs = tuple(c[by_series] for c in outputs) if isinstance(outputs, tuple) else outputs[by_series]
        back = np.empty(count, dtype=np.intp)
        back[order] = np.arange(first, first + count)
        into.radii[:] = radii[back][by_series]
        settings.refuse_unbounded(into.radii, by_series)
        judge(panel, streams, starts, sorted_outputs, scores[0][by_series], scores[1][by_series], into)
        made = into.unsorted(by_series)
        made.radii[cold] = played.radii[cold]
        return made

    def settle(self) -> None:
        """Learn the labels that ``run`` has left because further rows of their moment might have followed."""
        due = self.tail.pos + self.lag <= self.seen[self.tail.place]
        if due.any():
            rows = self.tail.take(np.flatnonzero(due))
            self.learning(rows.place, rows.below, rows.above, rows.radii, rows.notes.astype(np.intp))()
            self.tail = self.tail.take(np.flatnonzero(~due))

    def predict(self, places: np.ndarray, base: np.ndarray, floors: np.ndarray, members: np.ndarray) -> np.ndarray:
        """Return the corrected radii of one moment, and remember them for the labels; NaN means no interval."""
        self.settle()
        radii = np.full_like(base, np.nan)
        arrays = (places, members, base, floors, self.units, radii)
        learners: Any = self.learners
        learners.predict(*[array.data for array in arrays], 0, len(places))
        self.radii[places], self.members[places] = radii, members
        self.seen[places] += 1
        return radii

    def learning(
        self, places: np.ndarray, below: np.ndarray, above: np.ndarray, radii: np.ndarray, members: np.ndarray
    ) -> partial[Any]:
        """Return what learns labels together, given as scores; NaN means none."""
        arrays = (places, members, below, above, np.ascontiguousarray(radii), self.units, np.arange(len(places)))
        learners: Any = self.learners
        return partial(learners.learn, *[array.data for array in arrays], 0, len(places))

    def __copy__(self) -> Correction:
        """Return a copy that shares nothing that changes."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made.grouping = copy.copy(self.grouping)
        learners = GroupLearners(
            np.array(self.learners.alphas), self.learners.sides, self.learners.signed, self.learners.epsilon
        )
        learners.grow(self.learners.groups)
        np.asarray(learners.table)[:] = self.learners.table
        np.asarray(learners.won)[:] = self.learners.won
        made.learners = learners
        for name in ARRAYS:
            setattr(made, name, getattr(self, name).copy())
        return made

    def plain(self, series: int) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "groups": self.grouping.plain(),
            "table": packed(np.asarray(self.learners.table)),
            "won": packed(np.asarray(self.learners.won)),
            **{name: packed(getattr(self, name)[:series]) for name in ARRAYS},
            "tail": {name: packed(getattr(self.tail, name)) for name in TAIL},
            "clock": packed_time(self.clock),
            "lag": self.lag,
        }

    @classmethod
    def from_plain(cls, settings: Any, data: Any, series: int) -> Correction:
        """Make it from plain data; an error if that is damaged."""
        made = cls(settings, Grouping.from_plain(data["groups"]))
        made.make_room(series)
        for name in ARRAYS:
            array, like = unpacked(data[name]), getattr(made, name)
            if array.shape != like.shape or array.dtype != like.dtype:
                raise InputError(
                    f"{name} must be {like.dtype} of shape {like.shape}, got {array.shape}", argument="state"
                )
            setattr(made, name, array)
        learners = made.learners
        for name in ("table", "won"):
            array, inside = unpacked(data[name]), np.asarray(getattr(learners, name))
            if array.shape != inside.shape or not np.isfinite(array).all():
                raise InputError(f"{name} must be finite, of shape {inside.shape}, got {array.shape}", argument="state")
            inside[:] = array
        sane = possible(np.asarray(learners.table)) and (made.units >= 0.0).all() and (made.seen >= 0).all()
        if not sane or not ((made.members >= 0) & (made.members < learners.groups)).all():
            raise InputError("the groups hold numbers that no labels could have left", argument="state")
        made.tail = restored_tail([unpacked(data["tail"][name]) for name in TAIL], made.tail, series)
        if not ((made.tail.notes >= 0.0) & (made.tail.notes < learners.groups)).all():
            raise InputError("labels wait for groups that there are not", argument="state")
        made.clock = unpacked_time(data["clock"])
        made.lag = whole("lag", data["lag"], 1)
        return made
