"""Whole histories of many streams through a panel: in pieces that stay in the cache, over threads where compiled."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import whole
from wane.conformal import rounds
from wane.conformal.levels import Levels
from wane.conformal.rounds import add_in_order, play_streams
from wane.state import data as plain_data
from wane.trackers.loss_tracker import guessed_epsilon

if TYPE_CHECKING:
    from wane.panel.panel import Panel

COMPILED = not rounds.__file__.endswith(".py")
PIECE = 65_536  # rows that are worked on at a time
NEVER = 2**62
NO_DISCOUNTS = np.zeros(0)  # the methods' own


@dataclass(frozen=True)
class Tail:
    """Rows whose labels are not learned yet: of late labels, or of streams that are still warming up."""

    place: np.ndarray
    pos: np.ndarray
    below: np.ndarray
    above: np.ndarray
    radii: np.ndarray

    @classmethod
    def empty(cls, width: int) -> Tail:
        """No rows."""
        none = np.zeros(0)
        return cls(none.astype(np.intp), none.astype(np.int64), none, none, np.zeros((0, width)))

    @staticmethod
    def joined(tails: list[Tail]) -> Tail:
        """The rows of all."""
        names = ("place", "pos", "below", "above", "radii")
        return Tail(*[np.concatenate([getattr(t, k) for t in tails]) for k in names])

    def chosen(self, rows: np.ndarray) -> Tail:
        """Some of the rows."""
        return Tail(self.place[rows], self.pos[rows], self.below[rows], self.above[rows], self.radii[rows])


def stretches(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of the runs of equal values, and where each run begins, with the end.

    >>> stretches(np.array([7, 7, 3]))
    (array([7, 3]), array([0, 2, 3]))
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]]).astype(np.intp)
    starts = starts if len(values) else starts[:1]
    return np.ascontiguousarray(values[starts[:-1]], dtype=np.intp), starts


@dataclass(frozen=True)
class Rows:
    """Rows of several streams, one stream after the other: what the model said, the labels, and the moments."""

    places: np.ndarray
    starts: np.ndarray
    outputs: Any
    labels: np.ndarray
    known: np.ndarray
    pos: np.ndarray | None  # None: they are counted
    ends: np.ndarray  # the moment after the last row of each stream

    def part(self, first: int, last: int, begin: int, end: int) -> Rows:
        """Rows begin to end, of the streams first to last."""
        r = slice(begin, end)
        outputs = tuple(c[r] for c in self.outputs) if isinstance(self.outputs, tuple) else self.outputs[r]
        starts = np.clip(self.starts[first : last + 1], begin, end) - begin
        ends = self.ends[first:last] if end == self.starts[last] else self.ends[first:last] - (self.starts[last] - end)
        pos = None if self.pos is None else self.pos[r]
        return Rows(self.places[first:last], starts, outputs, self.labels[r], self.known[r], pos, ends)

    def pieces(self) -> Iterator[tuple[int, list[Rows]]]:
        """Streams together in pieces of about PIECE rows, with their first row; a long stream is a list of several."""
        first, streams = 0, len(self.places)
        while first < streams:
            begin = int(self.starts[first])
            last = max(first + 1, int(np.searchsorted(self.starts, begin + PIECE, side="right")) - 1)
            end = int(self.starts[last])
            cuts = range(begin, end, PIECE) if last == first + 1 and self.pos is None else [begin]
            yield begin, [self.part(first, last, a, min(a + PIECE, end) if len(cuts) > 1 else end) for a in cuts]
            first = last


@dataclass(frozen=True)
class Played:
    """What became of rows: radii by column; by level the ends, and 1 for covered, 0 for missed, -1 for no label."""

    radii: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    covered: np.ndarray

    @classmethod
    def empty(cls, rows: int, panel: Panel) -> Played:
        """Room for so many rows."""
        n = len(panel.settings.alphas)
        radii = np.empty((rows, panel.settings.width))
        return cls(radii, np.empty((rows, n)), np.empty((rows, n)), np.empty((rows, n), dtype=np.int8))

    def at(self, rows: Any) -> Played:
        """Some rows; a slice shares the memory."""
        return Played(self.radii[rows], self.lower[rows], self.upper[rows], self.covered[rows])


@contextmanager
def kept(panel: Panel, places: np.ndarray) -> Iterator[None]:
    """After an error these streams are as before."""
    arrays = {name: getattr(panel, name)[places] for name in panel.ARRAYS}
    trackers = [] if panel.flat else [t for p in places.tolist() for t in panel.objects[p].trackers]
    memories = [plain_data.snapshot(t) for t in trackers]
    tail = panel.tail  # replaced, never written to
    try:
        yield
    except BaseException:
        for name, values in arrays.items():
            getattr(panel, name)[places] = values
        for tracker, memory in zip(trackers, memories, strict=True):
            plain_data.put_back(tracker, memory)
        panel.tail = tail
        raise


def run(panel: Panel, rows: Rows, delay: Any, order: np.ndarray | None = None) -> Played:
    """All rows; after an error, which names the row as it was before ``order``, the panel is as before."""
    lag = whole("delay", delay, 0) + 1
    settings, places = panel.settings, rows.places
    count = int(rows.starts[-1])
    played = Played.empty(count, panel)
    mine = np.isin(panel.tail.place, places)

    def work(piece: tuple[int, list[Rows]], levels: Levels) -> Tail:
        at, parts = piece
        tail = panel.tail.chosen(np.flatnonzero(np.isin(panel.tail.place, parts[0].places)))
        for part in parts:
            n = int(part.starts[-1])
            tail = play(panel, levels, part, tail, lag, played.at(slice(at, at + n)))
            at += n
        return tail

    with kept(panel, places):
        tails = over_threads(panel, work, list(rows.pieces()), count)
        settings.refuse_unbounded(played.radii, order)
    panel.tail = Tail.joined([panel.tail.chosen(np.flatnonzero(~mine)), *tails])
    return played


def over_threads(panel: Panel, work: Callable[[Any, Levels], Any], pieces: list[Any], rows: int) -> list[Any]:
    """Do the work on each piece by as many threads as are worth it, each with trackers to read states into."""
    threads = min(panel.threads or os.cpu_count() or 1, len(pieces)) if COMPILED and rows > PIECE else 1
    levels = panel.settings.levels
    if threads <= 1:
        return [work(piece, levels) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, pieces, [copy.copy(levels) for _ in pieces]))


def play(panel: Panel, levels: Levels, rows: Rows, older: Tail, lag: int, into: Played) -> Tail:
    """One piece: fills in the panel's arrays and ``into``; returns the rows that are not learned yet."""
    settings, places, starts = panel.settings, rows.places, rows.starts
    below, above = settings.scores(rows.outputs, rows.labels, rows.known)
    floors = settings.floors(rows.outputs)
    lengths = np.diff(starts)
    pos = rows.pos
    if pos is None:
        pos = np.arange(len(below)) + np.repeat(rows.ends - lengths - starts[:-1], lengths)
    bounds, news, back = starts, starts[:-1].copy(), None
    played = radii = into.radii
    if len(older.place):  # they come first in their streams
        rank = np.argsort(places, kind="stable")
        owner = rank[np.searchsorted(places[rank], older.place)]
        order = np.argsort(np.concatenate([owner, np.repeat(np.arange(len(places)), lengths)]), kind="stable")
        back = np.argsort(order)[len(owner) :]
        more = np.bincount(owner, minlength=len(places))
        bounds = np.concatenate([[0], np.cumsum(lengths + more)]).astype(np.intp)
        news = (bounds[:-1] + more).astype(np.intp)
        pairs = ((older.pos, pos), (older.below, below), (older.above, above), (np.zeros(len(owner)), floors))
        pos, below, above, floors = (np.concatenate(pair)[order] for pair in pairs)
        played = np.concatenate([older.radii, radii])[order]

    begins, warm = beginnings(panel, places, bounds, news, pos, rows.ends, below, lag)
    choose_epsilons(panel, levels, places, bounds, warm, below, above)
    own, pos = np.empty((1, played.shape[1])), np.ascontiguousarray(pos, dtype=np.int64)
    cold = np.flatnonzero(~warm).tolist()
    for s in cold:  # too few labels yet: everything waits
        played[news[s] : bounds[s + 1]] = math.nan
        news[s] = bounds[s]
    arrays = (places, bounds, news, begins, pos, np.ascontiguousarray(rows.ends, dtype=np.int64), floors, below, above, NO_DISCOUNTS, played, own)  # fmt: skip  # noqa: E501
    if panel.flat and not len(cold):
        go(levels, panel, 0, len(places), lag, arrays)
    else:
        for s in np.flatnonzero(warm).tolist():
            go(levels if panel.flat else panel.objects[int(places[s])], panel, s, s + 1, lag, arrays)
    if back is not None:
        radii[:] = played[back]
    panel.seen[places] = rows.ends
    panel.warm[places] |= warm
    fill(panel, rows, below if back is None else below[back], above if back is None else above[back], into)
    if not (news < bounds[1:]).any():
        return Tail.empty(played.shape[1])
    lengths = np.diff(bounds)
    left = np.flatnonzero(np.arange(bounds[-1]) >= np.repeat(news, lengths))
    return Tail(np.repeat(places, lengths)[left], pos[left], below[left], above[left], played[left])


def go(levels: Levels, panel: Panel, first: int, last: int, lag: int, arrays: tuple[np.ndarray, ...]) -> None:
    """Some streams of a piece."""
    places, bounds, news, begins, pos, ends, *rest = (array.data for array in (*arrays, np.zeros(1, dtype=np.intp)))
    play_streams(levels, panel.states.data, places, bounds, news, begins, first, last, pos, ends, lag, *rest)


def beginnings(
    panel: Panel,
    places: np.ndarray,
    bounds: np.ndarray,
    news: np.ndarray,
    pos: np.ndarray,
    ends: np.ndarray,
    below: np.ndarray,
    lag: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The first row with a prediction in each stream, and which streams are warm, or become so by the end."""
    warm = panel.warm[places]
    begins = news.copy()
    if not warm.all() and len(below):
        need = panel.settings.warm_up
        come = np.concatenate([[0], np.cumsum(~np.isnan(below))])
        last = np.searchsorted(come, come[bounds[:-1]] + need) - 1  # the last label needed; if there are so many
        moment = pos[np.minimum(last, len(pos) - 1)] + lag  # it is known from then on
        found = (come[bounds[1:]] - come[bounds[:-1]] >= need) & (moment <= ends)
        early = np.concatenate([[0], np.cumsum(pos < np.repeat(moment, np.diff(bounds)))])
        begin = np.maximum(news, bounds[:-1] + early[bounds[1:]] - early[bounds[:-1]])
        begins = np.where(warm, news, np.where(found, begin, bounds[1:])).astype(np.intp)
        warm = warm | found
    return begins, warm


def choose_epsilons(
    panel: Panel,
    levels: Levels,
    places: np.ndarray,
    bounds: np.ndarray,
    warm: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
) -> None:
    """Where streams have just become warm: epsilon from their first labels."""
    settings = panel.settings
    new = np.flatnonzero(warm & ~panel.warm[places])
    if not settings.auto or not len(new):
        return
    known = np.flatnonzero(~np.isnan(below))
    first = np.searchsorted(known, bounds[new])
    rows = known[first[:, None] + np.arange(settings.warm_up)]
    epsilons = [
        guessed_epsilon((below if c < levels.count else above)[rows], tracker.alpha).tolist()
        for c, tracker in enumerate(levels.trackers)
    ]
    for place, *chosen in zip(places[new].tolist(), *epsilons, strict=True):
        levels.read(panel.states, place)
        for tracker, epsilon in zip(levels.trackers, chosen, strict=True):
            tracker.begin_with(epsilon)  # type: ignore[attr-defined]
        levels.write(panel.states, place)


def fill(panel: Panel, rows: Rows, below: np.ndarray, above: np.ndarray, into: Played) -> None:
    """The intervals of a piece, and its labels in the counts of ``summary``."""
    settings, radii = panel.settings, into.radii
    judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])
    some = np.flatnonzero(np.diff(rows.starts) > 0)
    cuts = rows.starts[:-1][some]
    if not len(some):
        return
    panel.labels[rows.places[some]] += np.add.reduceat(judged, cuts, dtype=np.int64)
    for i in range(len(settings.alphas)):
        lower, upper, wide = settings.intervals(rows.outputs, radii, i)
        into.lower[:, i], into.upper[:, i] = lower, upper
        covered = settings.covered(below, above, radii.T, i)
        into.covered[:, i] = np.where(judged, covered, -1)
        missed = judged & ~covered
        panel.misses[rows.places[some], i] += np.add.reduceat(missed, cuts, dtype=np.int64)
        finite = np.isfinite(wide)
        if not finite.all():
            panel.unbounded[rows.places[some], i] += np.add.reduceat(judged & ~finite, cuts, dtype=np.int64)
        wide = np.where(judged & finite, wide, 0.0)
        add_in_order(panel.widths.data, i, rows.places.data, rows.starts.data, wide.data)


def warm_streams(panel: Panel, places: np.ndarray) -> None:
    """Streams that have their first labels now, row by row: choose epsilon, and learn them."""
    tail = panel.tail
    labels = np.bincount(tail.place[~np.isnan(tail.below)], minlength=len(panel.seen))
    mine = np.isin(tail.place, places[labels[places] >= panel.settings.warm_up])
    if not mine.any():
        return
    order = np.flatnonzero(mine)
    rows = tail.chosen(order[np.argsort(tail.place[order], kind="stable")])
    ready, bounds = stretches(rows.place)
    levels = panel.settings.levels
    choose_epsilons(panel, levels, ready, bounds, np.full(len(ready), True), rows.below, rows.above)
    news, ends = bounds[1:].copy(), np.full(len(ready), NEVER, dtype=np.int64)
    floors, own = np.zeros(len(order)), np.empty((1, rows.radii.shape[1]))
    arrays = (
        ready,
        bounds,
        news,
        news.copy(),
        rows.pos,
        ends,
        floors,
        rows.below,
        rows.above,
        NO_DISCOUNTS,
        rows.radii,
        own,
    )
    if panel.flat:
        go(levels, panel, 0, len(ready), 1, arrays)
    else:
        for s, place in enumerate(ready.tolist()):
            go(panel.objects[place], panel, s, s + 1, 1, arrays)
    panel.warm[ready] = True
    panel.tail = tail.chosen(np.flatnonzero(~mine))
