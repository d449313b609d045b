"""Replays of many streams: ``Panel.run`` plays whole histories.

Rows are worked on in pieces that fit the processor's cache. Where the package is compiled, several threads share them.
"""

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
from wane.conformal.foresight import foreseen
from wane.conformal.levels import Levels
from wane.conformal.notes import room
from wane.conformal.rounds import add_in_order, play_streams
from wane.errors import WaneError
from wane.panel.arrays import Played
from wane.panel.beginnings import find_beginnings
from wane.panel.tail import Tail
from wane.panel.undo import keep
from wane.trackers.loss_tracker import guessed_epsilon

if TYPE_CHECKING:
    from wane.panel.panel import Panel

COMPILED = not rounds.__file__.endswith(".py")
PIECE = 65_536  # rows that are worked on at a time
NEVER = 2**62  # a moment after every row
NO_DISCOUNTS = np.zeros(0)  # the methods use their own


def stretches(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the runs of equal values: the value of each run, and where each begins, followed by the end of the last.

    >>> stretches(np.array([7, 7, 3]))
    (array([7, 3]), array([0, 2, 3]))
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]]).astype(np.intp)
    starts = starts if len(values) else starts[:1]
    return np.ascontiguousarray(values[starts[:-1]], dtype=np.intp), starts


@dataclass(frozen=True)
class Rows:
    """Rows to play, one stream after the other: model outputs, labels, and when each row happens.

    Stream s is at ``places[s]`` in the panel and has the rows ``starts[s]`` to ``starts[s + 1]``.
    """

    places: np.ndarray
    starts: np.ndarray
    outputs: Any
    labels: np.ndarray
    known: np.ndarray
    pos: np.ndarray | None  # the moment of each row; None if the rows of a stream follow each other without gaps
    ends: np.ndarray  # the moment after the last row of each stream

    def part(self, first: int, last: int, begin: int, end: int) -> Rows:
        """Select the rows ``begin`` to ``end``, which belong to the streams ``first`` to ``last``."""
        r = slice(begin, end)
        outputs = tuple(c[r] for c in self.outputs) if isinstance(self.outputs, tuple) else self.outputs[r]
        starts = np.clip(self.starts[first : last + 1], begin, end) - begin
        ends = self.ends[first:last] if end == self.starts[last] else self.ends[first:last] - (self.starts[last] - end)
        pos = None if self.pos is None else self.pos[r]
        return Rows(self.places[first:last], starts, outputs, self.labels[r], self.known[r], pos, ends)

    def pieces(self) -> Iterator[tuple[int, list[Rows]]]:
        """Cut the rows into pieces of about ``PIECE`` rows; each comes with the number of its first row.

        A piece holds whole streams, so that pieces can be played by different threads. A stream that is longer than
        a piece is a list of parts, which must be played in order.
        """
        first, streams = 0, len(self.places)
        while first < streams:
            begin = int(self.starts[first])
            last = max(first + 1, int(np.searchsorted(self.starts, begin + PIECE, side="right")) - 1)
            end = int(self.starts[last])
            cuts = range(begin, end, PIECE) if last == first + 1 and self.pos is None else [begin]
            yield begin, [self.part(first, last, a, min(a + PIECE, end) if len(cuts) > 1 else end) for a in cuts]
            first = last


@contextmanager
def rows_counted_from(begin: int, order: np.ndarray | None = None) -> Iterator[None]:
    """Let errors name the user's row: those of the block count rows from ``begin`` on, in this order."""
    try:
        yield
    except WaneError as error:
        if error.row is not None:
            error.row = begin + error.row if order is None else int(order[begin + error.row])
        raise


def run(panel: Panel, rows: Rows, delay: Any, order: np.ndarray | None = None) -> Played:
    """Play all rows, and return their results in the same order. The caller's ``Undo`` puts back what an error leaves.

    Args:
        panel: it has room for the streams, and the caller holds its lock.
        rows: sorted by stream, and by time within a stream.
        delay: the label of a row is learned after the prediction of the row that is so many later.
        order: row t was row ``order[t]`` of the user, so that an error can name that one.
    """
    lag = whole("delay", delay, 0) + 1
    count = int(rows.starts[-1])
    played = Played.empty(count, panel)
    mine = np.isin(panel.tail.place, rows.places)

    def work(piece: tuple[int, list[Rows]], levels: Levels) -> Tail:
        # Earlier rows whose labels are not learned yet come first. Each part hands on the rows that are left.
        begin, parts = piece
        tail = panel.tail.take(np.flatnonzero(np.isin(panel.tail.place, parts[0].places)))
        for part in parts:
            n = int(part.starts[-1])
            with rows_counted_from(begin, order):
                tail = play(panel, levels, part, tail, lag, played.take(slice(begin, begin + n)))
            begin += n
            panel.done += n  # for those who watch
        return tail

    keep(panel, rows.places)
    tails = over_threads(panel, work, list(rows.pieces()), count)
    panel.settings.refuse_unbounded(played.radii, order)
    panel.tail = Tail.joined([panel.tail.take(np.flatnonzero(~mine)), *tails])
    return played


def threads_for(panel: Panel, rows: int) -> int:
    """Return how many threads may play so many rows."""
    return panel.threads or os.cpu_count() or 1 if COMPILED and rows > PIECE else 1


def over_threads(panel: Panel, work: Callable[[Any, Levels], Any], pieces: list[Any], rows: int) -> list[Any]:
    """Call ``work(piece, levels)`` for each piece, on several threads if there are enough rows to gain from it.

    Each call gets trackers that no other call uses at the same time; states are read into them.
    """
    threads = min(threads_for(panel, rows), len(pieces))
    levels = panel.settings.levels
    if threads <= 1:
        return [work(piece, levels) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, pieces, [copy.copy(levels) for _ in pieces]))


def play(panel: Panel, levels: Levels, rows: Rows, older: Tail, lag: int, into: Played) -> Tail:
    """Play one piece, fill in ``into`` and the panel's arrays, and return the rows that are not learned yet.

    Args:
        panel: the streams.
        levels: trackers to read states into.
        rows: the rows of the piece.
        older: earlier rows of the same streams whose labels are not learned yet.
        lag: a label is known to the predictions that are so many moments later.
        into: the results of these rows.
    """
    settings, places, starts = panel.settings, rows.places, rows.starts
    below, above = settings.scores(rows.outputs, rows.labels, rows.known)
    floors = settings.floors(rows.outputs)
    lengths, pos = np.diff(starts), rows.pos
    if pos is None:  # count the rows of each stream up to its end
        pos = np.arange(len(below)) + np.repeat(rows.ends - lengths - starts[:-1], lengths)

    # Put older rows before the new ones of their stream, because the loop learns the rows of a stream in order.
    # Then ``bounds`` says where streams begin, ``news`` where their new rows begin, and ``back`` where each new row is.
    bounds, news, back, radii = starts, starts[:-1].copy(), None, into.radii
    given = foreseen(levels, settings.score, pos, floors, rows.outputs)
    is_older, noted = np.zeros(len(pos), dtype=bool), older.notes
    if len(older.place):
        rank = np.argsort(places, kind="stable")
        owner = rank[np.searchsorted(places[rank], older.place)]
        order = np.argsort(np.concatenate([owner, np.repeat(np.arange(len(places)), lengths)]), kind="stable")
        back = np.argsort(order)[len(owner) :]
        more = np.bincount(owner, minlength=len(places))
        bounds = np.concatenate([[0], np.cumsum(lengths + more)]).astype(np.intp)
        news = (bounds[:-1] + more).astype(np.intp)
        pairs = ((older.pos, pos), (older.below, below), (older.above, above), (np.zeros(len(owner)), floors))
        pos, below, above, floors = (np.concatenate(pair)[order] for pair in pairs)
        radii = np.concatenate([older.radii, radii])[order]
        given = np.concatenate([np.zeros((len(owner), given.shape[1])), given])[order] if len(given) else given
        is_older, noted = (np.arange(len(order)) < len(owner))[order], older.notes[np.argsort(owner, kind="stable")]

    # Streams that warm up get no predictions until they have enough labels, from which epsilon may be chosen. Without a
    # warm-up all rows are played, and those before the first label of their stream are not shown.
    pos, ends = (np.ascontiguousarray(moments, dtype=np.int64) for moments in (pos, rows.ends))
    begins, warm = beginnings(panel, places, bounds, news, pos, ends, below, lag)
    early, playing = None, warm
    if settings.warm_up:
        choose_epsilons(panel, levels, places, bounds, warm, below, above)
        for s in np.flatnonzero(~warm).tolist():  # too few labels yet: all rows wait, without radii
            radii[news[s] : bounds[s + 1]] = math.nan
            news[s] = bounds[s]
    else:
        early = rows_before(begins, bounds)
        begins, playing = news.copy(), np.ones_like(warm)

    # Predict and learn. Afterwards ``news`` is the first row of each stream whose label is not learned.
    notes, slots = np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    if levels.noted:
        notes, slots = room(levels, pos, np.repeat(ends, np.diff(bounds)), lag, below, is_older)
        notes[slots[is_older]] = noted
    arrays = (floors, below, above, radii, (given, notes, slots))
    play_warm(panel, levels, playing, lag, places, bounds, news, begins, pos, ends, *arrays)
    panel.seen[places] = rows.ends
    panel.warm[places] |= warm

    # Results are about the new rows only.
    if back is None:
        judge(panel, rows.places, rows.starts, rows.outputs, below, above, into, early)
    else:
        into.radii[:] = radii[back]
        early = None if early is None else early[back]
        judge(panel, rows.places, rows.starts, rows.outputs, below[back], above[back], into, early)

    # What is left waits for the next piece, or for the next call.
    if not (news < bounds[1:]).any():
        return Tail.empty(radii.shape[1], levels.noted)
    lengths = np.diff(bounds)
    left = np.flatnonzero(np.arange(bounds[-1]) >= np.repeat(news, lengths))
    waiting = notes[slots[left]] if len(slots) else np.zeros((len(left), 0))
    return Tail(np.repeat(places, lengths)[left], pos[left], below[left], above[left], radii[left], waiting)


def play_warm(panel, levels, warm, lag, places, bounds, news, begins, pos, ends, floors, below, above, radii, kept):
    """Play the streams of a piece that are ``warm``. The others are those of ``play_streams``, ``kept`` its last."""
    own, playing = np.empty((1, radii.shape[1])), np.zeros(1, dtype=np.intp)
    streams = [array.data for array in (panel.states, places, bounds, news, begins)]
    rows = [array.data for array in (floors, below, above, NO_DISCOUNTS, radii, own, playing, *kept)]
    calls = [(levels, 0, len(places))]
    if not panel.flat or not warm.all():  # one by one: each has trackers of its own, or some are left out
        cut = np.flatnonzero(warm).tolist()
        calls = [(levels if panel.flat else panel.objects[int(places[s])], s, s + 1) for s in cut]
    for trackers, first, last in calls:
        play_streams(trackers, *(*streams, first, last, pos.data, ends.data, lag, *rows))


def rows_before(begins: np.ndarray, bounds: np.ndarray) -> np.ndarray | None:
    """Mark the rows of each stream before its beginning; None if there are none.

    >>> rows_before(np.array([1, 2]), np.array([0, 2, 4]))
    array([ True, False, False, False])
    """
    counts = begins - bounds[:-1]
    total = int(counts.sum())
    if total == 0:
        return None
    early = np.zeros(int(bounds[-1]), dtype=bool)
    ends = np.cumsum(counts)
    early[np.arange(total) + np.repeat(begins - ends, counts)] = True
    return early


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
    """Find the first row of each stream that shows an interval, and which streams show one to a row after the last.

    That takes the labels of the warm-up, or one label if there is none.
    """
    warm, begins = panel.warm[places], news.copy()
    if not warm.all() and len(below):
        need = max(panel.settings.warm_up, 1)
        find_beginnings(
            bounds.data, news.data, pos.data, ends.data, below.data, lag, need, warm.view(np.uint8).data, begins.data
        )
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
    """With ``epsilon="auto"``, choose epsilon from the first labels of each stream that has just become warm."""
    settings = panel.settings
    new = np.flatnonzero(warm & ~panel.warm[places])
    if not settings.auto or not len(new):
        return
    # The first ``warm_up`` labels of each new stream, a row of numbers for each.
    known = np.flatnonzero(~np.isnan(below))
    first = np.searchsorted(known, bounds[new])
    rows = known[first[:, None] + np.arange(settings.warm_up)]
    epsilons = [
        guessed_epsilon((below if c < levels.count else above)[rows], tracker.alpha)
        for c, tracker in enumerate(levels.trackers)
    ]
    panel.states[places[new]] = fresh_states(levels, panel.fresh, epsilons)


def fresh_states(levels: Levels, fresh: np.ndarray, epsilons: list[np.ndarray]) -> np.ndarray:
    """Return the states of new streams, a row each, whose trackers begin with these epsilons, an array for each column.

    Whatever depends on epsilon in the state of a tracker that has learned nothing is proportional to it. So it is
    enough to find out once which numbers these are.
    """

    def begun(each: list[float]) -> np.ndarray:
        levels.read(fresh, 0)
        for tracker, epsilon in zip(levels.trackers, each, strict=True):
            tracker.begin_with(epsilon)  # type: ignore[attr-defined]
        row = np.empty_like(fresh)
        levels.write(row, 0)
        return row[0]

    ones = [1.0] * len(epsilons)
    first = begun(ones)
    states = np.tile(first, (len(epsilons[0]), 1))
    for c, chosen in enumerate(epsilons):
        scaled = np.flatnonzero(begun([*ones[:c], 2.0, *ones[c + 1 :]]) != first)
        states[:, scaled] *= chosen[:, None]
    return states


def judge(
    panel: Panel,
    places: np.ndarray,
    starts: np.ndarray,
    outputs: Any,
    below: np.ndarray,
    above: np.ndarray,
    into: Played,
    untaught: np.ndarray | None = None,
) -> None:
    """Fill in the intervals of a piece and what they covered, and add both to the counts of ``Panel.summary``.

    Rows that are ``untaught`` come before the first label of their stream. They have no interval and count nowhere.
    """
    settings = panel.settings
    radii = into.radii if untaught is None else settings.shown(into.radii, untaught)
    judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])  # rows with a label and an interval
    some = np.flatnonzero(np.diff(starts) > 0)  # ``reduceat`` is wrong about streams without rows
    if not len(some):
        return
    cuts, judging = starts[:-1][some], places[some]
    panel.labels[judging] += np.add.reduceat(judged, cuts, dtype=np.int64)
    for i in range(len(settings.alphas)):
        lower, upper, covered, finite, wide = judgement(settings, outputs, below, above, radii, judged, i)
        into.lower[:, i], into.upper[:, i] = lower, upper
        into.covered[:, i] = np.where(judged, covered, np.int8(-1))
        panel.misses[judging, i] += np.add.reduceat(judged & ~covered, cuts, dtype=np.int64)
        if not finite.all():
            panel.unbounded[judging, i] += np.add.reduceat(judged & ~finite, cuts, dtype=np.int64)
        add_in_order(panel.widths.data, i, places.data, starts.data, wide.data)


def judgement(
    settings: Any, outputs: Any, below: Any, above: Any, radii: Any, judged: np.ndarray, i: int
) -> tuple[np.ndarray, ...]:
    """Return the ends of the intervals of the i-th level, where they cover, where they are bounded, and the widths.

    A width counts where it is finite and the row is ``judged``; elsewhere it is 0.
    """
    lower, upper, wide = settings.intervals(outputs, radii, i)
    finite = np.isfinite(wide)
    counted = judged & finite
    wide = wide if counted.all() else np.where(counted, wide, 0.0)
    return lower, upper, settings.covered(below, above, radii.T, i), finite, wide
