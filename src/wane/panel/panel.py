"""``Panel``: online conformal prediction for many streams, a batch of them at a time or whole histories at once."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from operator import setitem
from typing import Any

import numpy as np

from wane.checks import whole
from wane.conformal.levels import Levels
from wane.errors import InputError
from wane.panel import batch, pooled, summary, ticks
from wane.panel.arrays import Intervals, Played
from wane.panel.batch import Rows, over_threads, stretches
from wane.panel.clock import checked_times
from wane.panel.index import Index, repeated
from wane.panel.pool import Pool
from wane.panel.rows import from_rows, panel_like, rows, shared, use_shared
from wane.panel.settings import PanelSettings
from wane.panel.sorting import order_of
from wane.panel.state import rebuild, state_dict
from wane.panel.tail import Tail
from wane.panel.undo import Undo, keep
from wane.state.files import known
from wane.state.forks import SINGLE, lock_of
from wane.state.one_step import in_one_step


@known
class Panel:
    """Prediction intervals for many streams that share their settings, each a row of numbers.

    Use it for thousands or millions of series. Call ``predict(ids, outputs)`` and later
    ``update(ids, y)`` for a batch of streams, or ``run`` for whole histories. Threads may share a panel.

    With the default method, "pool", the streams learn from each other: every batch of predictions is one moment, and
    short streams are covered from their first rows on. With any other method each stream learns from its own labels
    only, and its results are bit for bit those of an ``OnlineConformal`` of its own.

    Args:
        method: "pool", which has no settings, or the name of a method for single streams.
        alpha: the share of labels that may be missed, or several shares.
        score: a score for real labels: "absolute", "signed", "normalised", "cqr", "one-sided".
        warm_up: how many labels each stream learns before its first interval; ``epsilon="auto"`` needs some.
        lower_limit, upper_limit: labels are never outside of these.
        on_unbounded: as for ``OnlineConformal``.
        threads: how many play large batches; None means one for each processor.
        hyperparameters: of the method.

    >>> import numpy as np
    >>> panel = Panel("magl", alpha=0.1)
    >>> for t in range(60):
    ...     p = panel.predict([7, 3], [0.0, 0.0])
    ...     panel.update([7, 3], [1.0, 100.0 * (-1.0) ** t])
    >>> panel.predict([3, 7, 5], [0.0, 0.0, 0.0]).radius.round(1)
    array([18.7,  1. ,  0. ])
    """

    def __init__(
        self,
        method: str | None = None,
        alpha: Any = 0.1,
        score: Any = "absolute",
        *,
        warm_up: int = 0,
        lower_limit: float = -math.inf,
        upper_limit: float = math.inf,
        on_unbounded: str = "error",
        threads: int | None = None,
        **hyperparameters: Any,
    ) -> None:
        """Check the settings, and begin without streams."""
        limits = (lower_limit, upper_limit)
        self.settings = PanelSettings(method, score, alpha, *limits, on_unbounded, warm_up, hyperparameters)
        self.threads = None if threads is None else whole("threads", threads, 1)
        self.index = Index()
        self.pools: list[Pool] = []  # what the streams share, a part for each side; only the method "pool" has it
        self.clock: Any = None  # the last time that ``pool`` has seen, and the delay of the last call, plus 1
        self.lag = 1
        if self.settings.pooled:
            self.pools = pooled.new_pools(self.settings.alphas, self.settings.score.sides)
            self.fragile, self.flat = False, sum(pool.row for pool in self.pools)
            self.ARRAYS = (*type(self).ARRAYS, "notes")
        else:
            self.fragile, self.flat = self.settings.levels.fragile, self.settings.levels.flat()
        self.fresh = np.zeros((1, self.flat))
        if self.flat and not self.pools:
            self.settings.levels.write(self.fresh, 0)
        self.kept: list[Callable[[], Any]] = []  # what undoes the call that is going on
        self._lock = lock_of(self, SINGLE)
        self._allot(0)

    def _allot(self, room: int) -> None:
        """Replace all arrays by those of so many new streams."""
        width, n = self.settings.width, len(self.settings.alphas)
        self.states = np.repeat(self.fresh, room, axis=0)
        self.objects: list[Levels] = []  # of methods whose state no fixed number of floats holds
        self.seen = np.zeros(room, dtype=np.int64)  # how many rows there were
        # Whether there is enough to show intervals: the warm-up, or one label; ``pool`` knows by itself.
        self.warm = np.full(room, self.settings.pooled)
        self.outputs = np.zeros((room, self.settings.parts))  # of the last prediction
        self.radii = np.full((room, width), math.nan)
        self.waiting = np.zeros(room, dtype=bool)  # whether the last prediction waits for its label
        self.labels = np.zeros(room, dtype=np.int64)
        self.misses = np.zeros((room, n), dtype=np.int64)
        self.widths = np.zeros((room, n))  # the sum of the finite widths
        self.unbounded = np.zeros((room, n), dtype=np.int64)  # how many widths were not finite
        note = sum(pool.note for pool in self.pools)
        self.notes = np.zeros((room, note))  # what ``pool`` keeps with the prediction that waits
        self.tail = Tail.empty(width, note if self.pools else self.settings.levels.noted)

    done = 0  # rows of the call that is going on, for those who watch
    ARRAYS: tuple[str, ...] = (
        "states", "seen", "warm", "outputs", "radii", "waiting", "labels", "misses", "widths", "unbounded",
    )  # fmt: skip

    def _make_room(self, index: Index | None = None) -> None:
        """Let the arrays grow until there is a row for each stream of the index, or of the one to come."""
        need, room = len(self.index if index is None else index), len(self.seen)
        if need > room:
            # Double small arrays, because streams may come one by one. Large ones would waste too much memory.
            more = need - room if need > 2 * room or room > 1_000_000 else room
            larger = type(self).__new__(type(self))
            vars(larger).update(vars(self))
            larger._allot(room + more)
            for name in self.ARRAYS:
                getattr(larger, name)[:room] = getattr(self, name)
            vars(self).update({name: getattr(larger, name) for name in self.ARRAYS})  # all of them in one step
        if not self.flat:
            self.objects += [copy.copy(self.settings.levels) for _ in range(need - len(self.objects))]

    def _clear(self, count: int) -> None:
        """Make the rows from this one on those of new streams again."""
        if len(self.seen) > count:
            fresh = type(self).__new__(type(self))
            vars(fresh).update(vars(self))
            fresh._allot(1)
            for name in self.ARRAYS:
                getattr(self, name)[count:] = getattr(fresh, name)
        del self.objects[count:]

    def __len__(self) -> int:
        """Return the number of streams."""
        return len(self.index)

    def ids(self) -> list[Any]:
        """Return the ids of the streams, in the order in which they came."""
        with self._lock:
            return self.index.ids()

    def predict(self, ids: Any, outputs: Any) -> Intervals:
        """Make one interval for each of these streams. Only the last prediction of a stream waits for its label.

        Args:
            ids: of the streams, each once; new ones are added.
            outputs: what the score needs of the model, a row for each id.
        """
        return self._predict(ids, outputs)

    def _predict(self, ids: Any, outputs: Any, also: Callable[..., list[partial[Any]]] | None = None) -> Intervals:
        """Do what ``predict`` does, and more in the step that takes the predictions over.

        ``also`` is told the places of the series, their radii, and where there is no interval. It changes nothing, and
        returns functions that are written in C.
        """
        settings, columns, undo = self.settings, self.settings.columns_of(outputs), Undo(self)
        with self._lock, undo if self.pools else nullcontext():  # a moment begins with changes to what is shared
            index = copy.copy(self.index)  # everything is prepared beside what there is
            places = index.places(ids, add=True)
            if len(places) != len(columns):
                raise InputError(f"must be one for each of the {len(places)} ids, got {len(columns)}", about="outputs")
            self._refuse_repeated(places, index)
            self._make_room(index)
            radii, notes = (np.zeros((len(places), n)) for n in (settings.width, self.notes.shape[1]))  # both are saved
            ends = np.empty((2, len(places), len(settings.alphas)))
            if self.pools:
                keep(self, self.tail.place)  # what may be learned now; all else is taken over at the end
                pooled.begin_moment(self)

            def play(p: slice, levels: Levels) -> None:
                ticks.play(self, levels, places[p], columns[p], radii[p], ends[:, p], notes[p])

            over_threads(self, play, ticks.slices(len(places)), len(places))
            settings.refuse_unbounded(radii)
            more = [] if also is None else also(places, radii, np.isnan(ends[0, :, 0]))
            made = self._intervals(ids, radii, *ends)
            in_one_step(  # taken over as a whole
                partial(setitem, self.outputs, places, columns),
                partial(setitem, self.radii, places, radii),
                *([partial(setitem, self.notes, places, notes)] if self.pools else []),
                partial(setitem, self.waiting, places, True),
                partial(setitem, self.seen, places, self.seen[places] + 1),
                partial(setitem, vars(self), "index", index),
                *more,
                partial(setitem, vars(undo), "done", True),  # a signal from here on comes after the prediction
            )
            return made

    def _intervals(self, ids: Any, radii: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Intervals:
        """Arrange results by level, in the order of alpha; without an axis for levels if there is one level."""
        settings = self.settings
        if settings.score.sides == 2:
            n = len(settings.alphas)
            radii = np.stack([radii[:, [c, n + c]] for c in settings.columns], 1)
        elif len(settings.alphas) > 1:
            radii = radii[:, list(settings.columns)]
        if isinstance(settings.alpha, tuple):
            return Intervals(settings.alpha, ids, lower, upper, radii)
        return Intervals(settings.alpha, ids, lower[:, 0], upper[:, 0], radii[:, 0])

    def update(self, ids: Any, y: Any) -> None:
        """Learn the labels of the last predictions of these streams.

        Args:
            ids: of the streams, each once; the last prediction of each must wait for a label.
            y: one label for each; NaN or None means that it has not come yet.
        """
        with self._lock:
            ticks.learn(ticks.checked(self, ids, y))

    def run(self, ids: Any, outputs: Any, y: Any, delay: int = 0, *, times: Any = None) -> Intervals:
        """Play whole histories at native speed, with the results of ``predict`` and ``update`` row by row.

        Args:
            ids: the stream of each row; the rows of one stream are in order of time.
            outputs: model outputs, one for each row.
            y: labels, one for each row; NaN or None is a label that never comes.
            delay: the label of a row is learned after the prediction of the row that is so many later in its stream.
            times: of the rows, for the method "pool", which learns from all streams in order of time. Without them, the
                k-th rows of all streams are taken as one moment, after those of earlier calls.
        """
        with self._lock, Undo(self):
            played = self._run_at(self.index.places(ids, add=True), outputs, y, delay, times)
            return self._intervals(ids, played.radii, played.lower, played.upper)

    def _run_at(
        self, places: np.ndarray, outputs: Any, y: Any, delay: Any, times: Any = None, more: bool = False
    ) -> Played:
        """Do what ``run`` does for rows whose streams are at these places of the index; the caller holds the lock."""
        streams, starts = stretches(places)
        order = None  # the rows are grouped by stream already, unless a stream comes back
        if len(np.unique(streams)) < len(streams):
            order = order_of(places)
            streams, starts = stretches(places[order])
        return self._run_sorted(streams, starts, outputs, y, delay, order, times, more=more)

    def _run_sorted(
        self,
        places: np.ndarray,
        starts: np.ndarray,
        outputs: Any,
        y: Any,
        delay: Any,
        order: Any,
        times: Any = None,
        made: Any = None,
        more: bool = False,
    ) -> Played:
        """Play rows, and return the results in the order in which they were given.

        ``order`` brings the rows of each stream together; None means that they are. Then stream s is at ``places[s]``
        and has the rows ``starts[s]`` to ``starts[s + 1]``. ``times``, ``made`` and ``more`` are those of
        ``pooled.run``; other methods do not need them.
        """
        settings = self.settings
        outputs = settings.score.outputs(outputs)
        count = settings.score.rows(outputs)
        if starts[-1] != count:
            raise InputError(f"must be one for each of the {count} rows, got {starts[-1]}", about="ids")
        labels, known = settings.labels(y, count)
        if order is not None:
            outputs = tuple(c[order] for c in outputs) if isinstance(outputs, tuple) else outputs[order]
            labels, known = labels[order], known[order]
        self._make_room()
        rows = Rows(places, starts, outputs, labels, known, None, self.seen[places] + np.diff(starts))
        if self.pools:
            times, made = (checked_times(t, count, order) for t in (times, made))
            played = pooled.run(self, rows, whole("delay", delay, 0), times, made, order, more)
        else:
            played = batch.run(self, rows, delay, order)
        return played if order is None else played.unsorted(order)

    def _refuse_repeated(self, places: np.ndarray, index: Index | None = None) -> None:
        """Raise an error if a stream comes twice in a batch."""
        if len(places) > 1 and not (np.diff(places) > 0).all():
            unique, counts = np.unique(places, return_counts=True)
            if len(unique) < len(places):
                id = (self.index if index is None else index).ids()[unique[np.argmax(counts > 1)]]
                raise repeated(id)

    def summary(self, bounds: bool = False) -> dict[str, Any]:
        """Return columns with a row for each stream, in the order of ``ids()``.

        They are the id, the numbers of rows and of labels, and for each level the coverage and the mean finite width.
        With ``bounds`` there are also the columns of :func:`wane.panel.bounds`, which say what is proved.
        """
        with self._lock:
            return summary.columns(self, bounds)

    def trackers(self, id: Any) -> list[Any]:
        """Return copies of the trackers of one stream, from the largest alpha to the smallest, the lower side first.

        >>> panel = Panel("magl", alpha=0.1)
        >>> _ = panel.run(["a", "b"], [0.0, 0.0], [1.0, 2.0])
        >>> [round(tracker.coverage_sum(), 12) for tracker in panel.trackers("a")]
        [0.9]
        """
        with self._lock:
            place = int(self.index.places([id])[0])
            if self.pools:
                raise InputError(
                    "the method pool has no trackers", argument="method", cure="summary() says how it goes"
                )
            if not self.flat:
                return copy.copy(self.objects[place]).trackers
            levels = copy.copy(self.settings.levels)
            levels.read(self.states, place)
            return levels.trackers

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return state_dict(self)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Panel:
        """Make the panel whose state this is."""
        return rebuild(cls, state)

    def rows(self) -> tuple[list[Any], list[bytes]]:
        """Return the ids of the streams and the state of each as bytes, to split, merge or move streams.

        ``from_rows`` makes a panel from any of them.

        >>> panel = Panel("magl", alpha=0.1)
        >>> _ = panel.run(["a", "b", "a"], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
        >>> ids, rows = panel.rows()
        >>> Panel.from_rows(panel, ids[1:], rows[1:]).ids()
        ['b']
        """
        with self._lock:
            return rows(self)

    def shared(self) -> bytes | None:
        """Return what the streams share with the method "pool"; None for other methods, whose streams share nothing."""
        with self._lock:
            return shared(self) if self.pools else None

    @classmethod
    def from_rows(cls, settings: Any, ids: Any, rows: Sequence[bytes], shared: bytes | None = None) -> Panel:
        """Make a panel from streams that ``rows`` took out of other panels with the same settings.

        Args:
            settings: a panel with these settings, or a dict of the arguments to make one.
            ids: of the streams, each once.
            rows: the bytes of each stream.
            shared: for the method "pool", what ``shared`` returned.
        """
        panel = panel_like(cls, settings)
        if panel.pools or shared is not None:
            use_shared(panel, shared)
        from_rows(panel, ids, rows)
        return panel

    def __copy__(self) -> Panel:
        """Return a copy that shares nothing that changes."""
        with self._lock:
            made = type(self).__new__(type(self))
            vars(made).update(vars(self))
            vars(made).update({name: getattr(self, name).copy() for name in self.ARRAYS})
            made.index = copy.deepcopy(self.index)
            made.settings = copy.copy(self.settings)
            made.settings.levels = copy.copy(self.settings.levels)  # states are read into it
            made.pools = [pool.copy() for pool in self.pools]
            made.objects = [copy.copy(levels) for levels in self.objects]
            made._lock = lock_of(made, SINGLE)
        return made

    def __deepcopy__(self, memo: Any) -> Panel:
        """Return a copy, as ``copy.copy`` does."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state; a pickle holds what a file would."""
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a pickle."""
        vars(self).update(vars(type(self).from_state_dict(state)))

    def __repr__(self) -> str:
        """Show the method and the number of streams."""
        return f"Panel({(s := self.settings).method!r}, alpha={s.alpha!r}, score={s.score!r}: {len(self)} streams)"
