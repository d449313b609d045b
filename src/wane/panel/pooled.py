"""Panels of the method ``pool``: moments in order of time, which labels are known at each, and what waits.

The rule itself is in ``wane.panel.pool``. Here rows become moments. All rows of a moment are predicted together, before
any label of that moment is learned. The label of a row is learned before the first later moment at which its own series
has had ``delay`` further rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.panel.arrays import Played
from wane.panel.batch import PIECE, Rows, judge, over_threads, rows_counted_from, threads_for
from wane.panel.clock import NEVER, clock_of, labels_known, moments_of, older_labels_known
from wane.panel.moments import group_rows, learn_rows, play_moments, predict_rows
from wane.panel.pool import Pool
from wane.panel.tail import Tail
from wane.panel.undo import keep
from wane.scores import CQR, Normalised, Score
from wane.state.one_step import in_one_step

if TYPE_CHECKING:
    from wane.panel.panel import Panel

LOOKS = 100  # parts of a long call, after each of which those who watch can see how far it is


def new_pools(alphas: tuple[float, ...], sides: int) -> list[Pool]:
    """Make the shared part, one for each side of the intervals; the sides share alpha."""
    levels = sorted(alphas, reverse=True)
    return [Pool([a / sides for a in levels], side) for side in range(sides)]


def shifts_and_sizes(score: Score, outputs: Any) -> tuple[Any, np.ndarray]:
    """Return what makes the scores of these outputs positive, if anything, and the size of each forecast in their unit.

    The score of two quantiles is negative inside of them. Half their distance is added, and taken off the radius again.
    """
    if isinstance(score, CQR):
        low, high = outputs
        half = 0.5 * (high - low)
        return np.maximum(half, 0.0), np.abs(low + half)
    if isinstance(score, Normalised):
        forecast, scale = outputs
        return None, np.abs(forecast) / scale
    return None, np.abs(np.asarray(outputs, dtype=float))


@dataclass(frozen=True)
class Moments:
    """Rows of several moments: older ones, which only wait for their labels, then the new ones.

    Moment i has ``rows[starts[i]]`` to ``rows[starts[i + 1]]``. Before it, the labels of ``order[due[i]]`` to
    ``order[due[i + 1]]`` are learned, and after the last moment those that are left in ``order``.
    """

    places: np.ndarray
    sizes: np.ndarray
    radii: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    due: np.ndarray
    older: int  # how many rows are older
    room: int  # how many rows wait for their labels at most, at any time

    @property
    def count(self) -> int:
        """The number of moments."""
        return len(self.starts) - 1


def grouped(keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort the rows whose key is below ``count`` by key: their numbers, and where each key begins.

    >>> grouped(np.array([1, 0, 5, 1]), 2)
    (array([1, 0, 3]), array([0, 1, 3]))
    """
    starts, order = np.zeros(count + 1, dtype=np.intp), np.empty(len(keys), dtype=np.intp)
    group_rows(keys.data, starts.data, order.data)
    return order[: starts[-1]], starts


def joined(older: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Put older rows before new ones; if there are none, nothing is copied."""
    return np.concatenate([older, new]) if len(older) else new


def run(
    panel: Panel, rows: Rows, delay: int, times: Any = None, made: Any = None, order: Any = None, more: bool = False
) -> Played:
    """Play all rows, and return their results in the same order. The caller's ``Undo`` puts back what an error leaves.

    Args:
        panel: it has room for the series, and the caller holds its lock.
        rows: sorted by series, and by time within a series.
        delay: the label of a row is known after so many further rows of its series.
        times: of the rows; None means that the k-th rows of all series are one moment.
        made: when each prediction was made, if not at its time: only labels with times up to then are known to it.
        order: row t was row ``order[t]`` of the user, so that an error can name that one.
        more: whether further rows of the last moment may follow; then its labels are not learned yet.
    """
    settings, places, starts, older = panel.settings, rows.places, rows.starts, panel.tail
    lengths, count, first = np.diff(starts), int(starts[-1]), len(older.place)
    with rows_counted_from(0, order):
        below, above = settings.scores(rows.outputs, rows.labels, rows.known)
        moments, same = moments_of(times if made is None else made, starts, panel.clock)
    last = int(moments.max()) + 1 if count else 0
    learned = last - 1 if more else last  # labels that are known by this moment

    # Rows that wait from earlier calls come first. Scores are positive from here on.
    shift, sizes = shifts_and_sizes(settings.score, rows.outputs)
    sides = ((older.below, below), (older.above, above))[: settings.score.sides]
    scores = [joined(kept, np.maximum(side if shift is None else side + shift, 0.0)) for kept, side in sides]
    known = labels_known(moments, starts, delay) if made is None else np.searchsorted(np.unique(made), times)
    known = joined(older_labels_known(panel, rows, moments, same, delay), known)
    everywhere = joined(older.place, np.repeat(places, lengths))
    radii = joined(older.radii, np.empty((count, settings.width)))

    # Find the rows of each moment, and the labels that are known by then.
    turns, begins = grouped(moments, last)
    there, labelled = begins[1:], ~np.isnan(scores[0])
    complete = bool(labelled.all())
    if not complete:
        known[~labelled] = NEVER
        there = np.cumsum(np.bincount(moments[labelled[first:]], minlength=last))
    if complete and not (delay or first or more or made is not None):  # each moment is learned before the next one
        learning, due = turns, np.concatenate([begins[:1], begins])
    else:
        learning, due = grouped(known, learned + 1)
    room = first + 1 + int(np.max(there - due[1 : last + 1], initial=0))  # one more serves rows without a label
    turns = turns + first if first else turns
    played = Moments(everywhere, joined(np.zeros(first), sizes), radii, turns, begins, learning, due, first, room)

    keep(panel, np.concatenate([places, older.place]))
    notes, slots = None, np.zeros(0, dtype=np.intp)
    for pool, side in zip(panel.pools, scores, strict=True):
        notes, slots = play_side(panel, pool, played, side, notes)
    panel.seen[places] = rows.ends
    panel.clock, panel.lag = clock_of(times if made is None else made, panel.clock), delay + 1

    # What is left waits for the next call.
    left = np.flatnonzero(labelled & (known > learned))
    series = np.searchsorted(starts, left - first, side="right") - 1
    pos = np.where(left < first, 0, left - first + (rows.ends - starts[1:])[series])
    pos[left < first] = older.pos[left[left < first]]
    waiting = (scores[0][left], scores[-1][left], radii[left], np.asarray(notes)[slots[left]])
    panel.tail = Tail(everywhere[left], pos, *waiting)

    # Results are about the new rows. Radii lose what was added to the scores.
    into = Played.empty(count, panel, radii[first:])
    if shift is not None:
        into.radii[:] -= shift[:, None]
    for begin, parts in rows.pieces():
        for part in parts:
            piece = slice(begin, begin + int(part.starts[-1]))
            judge(panel, part.places, part.starts, part.outputs, below[piece], above[piece], into.take(piece))
            begin = piece.stop
    settings.refuse_unbounded(into.radii, order)
    return into


def play_side(panel: Panel, pool: Any, rows: Moments, scores: np.ndarray, notes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Play one side of all moments, and fill in its radii.

    Args:
        panel: the series.
        pool: the shared part of this side.
        rows: of all moments.
        scores: of this side, NaN where no label comes.
        notes: what the side before has returned, to be filled in further; None on the first side.

    Returns notes, and which of them is that of each row that still waits.
    """
    first, last, order, due = rows.older, rows.count, rows.order, rows.due
    most = int(np.diff(rows.starts).max(initial=0))
    many = threads_for(panel, most) > 1

    # Notes are kept for the rows that wait. ``free`` is a stack of unused ones.
    room = rows.room + (most if many else 0)  # threads do not share a note
    if notes is None:
        notes = np.zeros((room, panel.notes.shape[1]))
        notes[:first] = panel.tail.notes
    slots = np.zeros(len(scores), dtype=np.intp)
    slots[:first] = np.arange(first)
    free = np.concatenate([np.arange(first, room), np.zeros(first + 1)]).astype(np.intp)
    top = np.array([room - first], dtype=np.intp)

    def play(begin: int, end: int) -> None:
        if many:
            for i in range(begin, end):
                play_large(panel, pool, rows, scores, i, notes, slots, free, top)
            return
        play_moments(
            pool, panel.states.data, rows.places.data, scores.data, rows.sizes.data, rows.rows.data, rows.starts.data,
            order.data, due.data, begin, end, rows.radii.data, pool.column, notes.data, slots.data, free.data, top.data,
        )  # fmt: skip

    # The first labels choose the unit. Until then there are no intervals.
    begin = 0
    if not pool.started and len(order):
        begin = min(int(np.searchsorted(due, 0, side="right")) - 1, last)
        play(0, begin)
        some = order[: due[begin + 1]]
        pool.beginning(scores[some], notes[slots[some], pool.size_at])()
    step = max(1, (last - begin) // LOOKS)
    for a in range(begin, last, step):
        play(a, min(a + step, last))
        panel.done = int(rows.starts[min(a + step, last)])
    learn(panel, pool, rows.places, scores, rows.radii, notes, slots, order[due[last] :])  # known after the last moment
    return notes, slots


def play_large(
    panel: Panel,
    pool: Any,
    rows: Moments,
    scores: np.ndarray,
    i: int,
    notes: np.ndarray,
    slots: np.ndarray,
    free: np.ndarray,
    top: np.ndarray,
) -> None:
    """Play moment i as ``play_moments`` does, with threads that share its rows; the bits are the same."""
    due = rows.order[rows.due[i] : rows.due[i + 1]]
    learn(panel, pool, rows.places, scores, rows.radii, notes, slots, due)
    free[top[0] : top[0] + len(due)] = slots[due]
    top[0] += len(due)
    pool.solve()
    mine = rows.rows[rows.starts[i] : rows.starts[i + 1]]
    top[0] -= len(mine)
    slots[mine] = free[top[0] : top[0] + len(mine)]

    def work(piece: slice, _: Any) -> None:
        predict_rows(
            pool, panel.states.data, rows.places.data, rows.sizes.data, mine.data, piece.start, piece.stop,
            rows.radii.data, pool.column, notes.data, slots.data,
        )  # fmt: skip

    over_threads(panel, work, [slice(a, min(a + PIECE, len(mine))) for a in range(0, len(mine), PIECE)], len(mine))
    unlabelled = slots[mine][np.isnan(scores[mine])]
    free[top[0] : top[0] + len(unlabelled)] = unlabelled
    top[0] += len(unlabelled)


def learn(
    panel: Panel,
    pool: Any,
    places: np.ndarray,
    scores: np.ndarray,
    radii: np.ndarray,
    notes: np.ndarray,
    slots: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Learn the labels of the given rows, in this order; with threads if there are many, which gives the same bits."""

    def work(part: Any, mine: np.ndarray) -> Any:
        data = (panel.states.data, places.data, scores.data, radii.data)
        learn_rows(part, *data, pool.column, notes.data, slots.data, mine.data, 0, len(mine))
        return part

    threads = threads_for(panel, len(rows))
    if threads == 1:
        work(pool, rows)
        return
    # Each thread has its own series, because the labels of one series are learned in order, and sums of its own.
    shares = [rows[places[rows] % threads == k] for k in range(threads)]
    with ThreadPoolExecutor(threads) as executor:
        for part in executor.map(work, [pool.fork() for _ in shares], shares):
            pool.absorb(part)


def begin_moment(panel: Panel) -> None:
    """Learn what is due, and let the shared part learn from it, before the predictions of a moment."""
    settle(panel)
    for pool in panel.pools:
        pool.solve()


def predict(panel: Panel, places: np.ndarray, outputs: Any, radii: np.ndarray, notes: np.ndarray) -> None:
    """Predict for the series at each place: fill in the radii, and the notes that wait with them."""
    shift, sizes = shifts_and_sizes(panel.settings.score, outputs)
    slots = np.arange(len(places))
    for pool in panel.pools:
        where = (radii.data, pool.column, notes.data, slots.data)
        predict_rows(pool, panel.states.data, places.data, sizes.data, slots.data, 0, len(places), *where)
    if shift is not None:
        radii -= shift[:, None]


def settle(panel: Panel) -> None:
    """Learn the labels that ``run`` has left because further rows of their moment might have followed."""
    tail = panel.tail
    due = tail.pos + panel.lag <= panel.seen[tail.place]
    if due.any():
        rows = tail.take(np.flatnonzero(due))
        steps = learn_sides(panel, rows.place, (rows.below, rows.above), rows.radii, rows.notes)
        rest = tail.take(np.flatnonzero(~due))
        in_one_step(*steps, partial(setitem, vars(panel), "tail", rest))


def learning(panel: Panel, places: np.ndarray, below: np.ndarray, above: np.ndarray) -> list[partial[Any]]:
    """Return what learns the labels of the last predictions of these series, given as scores; NaN means none."""
    settings = panel.settings
    shift, _ = shifts_and_sizes(settings.score, settings.outputs_of(panel.outputs[places]))
    radii = panel.radii[places]
    if shift is not None:
        radii, below, above = radii + shift[:, None], below + shift, above + shift
    scores = (np.maximum(below, 0.0), np.maximum(above, 0.0))
    return learn_sides(panel, places, scores, radii, panel.notes[places])


def learn_sides(panel: Panel, places: np.ndarray, scores: Any, radii: np.ndarray, notes: np.ndarray) -> list[Any]:
    """Return what learns one label for each place, with the radii and notes of its prediction, on all sides."""
    slots, rows = np.arange(len(places)), np.flatnonzero(~np.isnan(scores[0]))
    steps: list[Any] = []
    for pool, side in zip(panel.pools, scores, strict=False):
        if not pool.started and len(rows):
            steps.append(pool.beginning(side[rows], notes[rows, pool.size_at]))
        if threads_for(panel, len(rows)) > 1:
            steps.append(partial(learn, panel, pool, places, side, radii, notes, slots, rows))
        else:
            arrays = [a.data for a in (panel.states, places, side, radii)]
            more = (pool.column, notes.data, slots.data, rows.data, 0, len(rows))
            steps.append(partial(learn_rows, pool, *arrays, *more))  # type: ignore[call-arg]
    return steps
