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
from wane.panel.clock import clock_of, labels_known, moments_of, older_labels_known
from wane.panel.moments import learn_rows, play_moments, predict_rows
from wane.panel.pool import Pool
from wane.panel.sorting import order_of
from wane.panel.tail import Tail
from wane.panel.undo import in_one_step, keep
from wane.scores import CQR, Normalised, Score

if TYPE_CHECKING:
    from wane.panel.panel import Panel


def new_pools(alphas: tuple[float, ...], sides: int) -> list[Pool]:
    """Make the shared part, one for each side of the intervals; the sides share alpha."""
    levels = sorted(alphas, reverse=True)
    return [Pool([a / sides for a in levels], side) for side in range(sides)]


def shifts_and_sizes(score: Score, outputs: Any) -> tuple[Any, np.ndarray]:
    """Return what makes the scores of these outputs positive, and the size of each forecast in the unit of the scores.

    The score of two quantiles is negative inside of them. Half their distance is added, and taken off the radius again.
    """
    if isinstance(score, CQR):
        low, high = outputs
        half = 0.5 * (high - low)
        return np.maximum(half, 0.0), np.abs(low + half)
    if isinstance(score, Normalised):
        forecast, scale = outputs
        return 0.0, np.abs(forecast) / scale
    return 0.0, np.abs(np.asarray(outputs, dtype=float))


@dataclass(frozen=True)
class Moments:
    """Rows sorted by moment, for all sides. Older rows, which only wait for their labels, come before the first moment.

    Moment i has the rows ``starts[i]`` to ``starts[i + 1]``. The label of a row is learned before the moment ``known``;
    the number of moments itself means after the last one, and ``NEVER`` not in this call.
    """

    places: np.ndarray
    starts: np.ndarray
    known: np.ndarray
    sizes: np.ndarray
    radii: np.ndarray

    @property
    def count(self) -> int:
        """The number of moments."""
        return len(self.starts) - 1


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
    lengths = np.diff(starts)
    with rows_counted_from(0, order):
        below, above = settings.scores(rows.outputs, rows.labels, rows.known)
        moments, same = moments_of(times if made is None else made, starts, panel.clock)
    shift, sizes = shifts_and_sizes(settings.score, rows.outputs)

    # Sort the rows by moment, behind the older ones. Scores are positive from here on.
    by_moment = order_of(moments)
    count, first = len(moments), len(older.place)
    known = labels_known(moments, starts, delay) if made is None else np.searchsorted(np.unique(made), times)
    last = int(moments.max()) + 1 if count else 0
    played = Moments(
        np.concatenate([older.place, np.repeat(places, lengths)[by_moment]]),
        (first + np.searchsorted(moments[by_moment], np.arange(last + 1))).astype(np.intp),
        np.concatenate([older_labels_known(panel, rows, moments, same, delay), known[by_moment]]),
        np.concatenate([np.zeros(first), sizes[by_moment]]),
        np.concatenate([older.radii, np.full((count, settings.width), np.nan)]),
    )
    scores = [
        np.concatenate([kept, np.maximum(side + shift, 0.0)[by_moment]])
        for kept, side in ((older.below, below), (older.above, above))
    ]
    learned = last - 1 if more else last  # labels that are known by this moment

    keep(panel, np.union1d(places, older.place))
    notes, slots = None, np.zeros(0, dtype=np.intp)
    for side, pool in enumerate(panel.pools):
        notes, slots = play_side(panel, pool, played, scores[side], learned, notes)
    panel.seen[places] = rows.ends
    panel.clock, panel.lag = clock_of(times if made is None else made, panel.clock), delay + 1

    # Results are about the new rows, in the order in which they came. Radii lose what was added to the scores.
    back = np.empty(count, dtype=np.intp)
    back[by_moment] = np.arange(first, first + count)
    into = Played.empty(count, panel)
    into.radii[:] = played.radii[back] - (shift[:, None] if isinstance(shift, np.ndarray) else shift)
    judge(panel, places, starts, rows.outputs, below, above, into)
    settings.refuse_unbounded(into.radii, order)

    # What is left waits for the next call.
    left = np.flatnonzero(~np.isnan(scores[0]) & (played.known > learned))
    pos = np.arange(count) + np.repeat(rows.ends - starts[1:], lengths)
    pos = np.concatenate([older.pos, pos[by_moment]])
    waiting = (scores[0][left], scores[-1][left], played.radii[left], np.asarray(notes)[slots[left]])
    panel.tail = Tail(played.places[left], pos[left], *waiting)
    return into


def play_side(
    panel: Panel, pool: Any, rows: Moments, scores: np.ndarray, learned: int, notes: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Play one side of all moments, and fill in its radii.

    Args:
        panel: the series.
        pool: the shared part of this side.
        rows: sorted by moment.
        scores: of this side, NaN where no label comes.
        learned: labels that are known by this moment are learned.
        notes: what the side before has returned, to be filled in further; None on the first side.

    Returns notes, and which of them is that of each row that still waits.
    """
    first, last = int(rows.starts[0]), rows.count
    # The rows in the order in which their labels are learned, and where each moment begins in it.
    coming = np.flatnonzero(~np.isnan(scores) & (rows.known <= learned))
    order = coming[np.argsort(rows.known[coming], kind="stable")]
    due = np.searchsorted(rows.known[order], np.arange(last + 2)).astype(np.intp)

    # Notes are kept for the rows that wait. ``free`` is a stack of unused ones; one more serves rows without a label.
    labelled = np.concatenate([[0], np.cumsum(~np.isnan(scores[first:]))])[rows.starts - first]
    many = threads_for(panel, int(np.diff(rows.starts).max(initial=0))) > 1
    room = first + 1 + int(np.max(labelled[1:] - due[1:-1], initial=0))
    room += int(np.diff(rows.starts).max()) if many else 0  # threads do not share a note
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
                play_large(panel, pool, rows, scores, i, order[due[i] : due[i + 1]], notes, slots, free, top)
            return
        play_moments(
            pool, panel.states.data, rows.places.data, scores.data, rows.sizes.data, rows.starts.data, order.data,
            due.data, begin, end, rows.radii.data, pool.column, notes.data, slots.data, free.data, top.data,
        )  # fmt: skip

    # The first labels choose the unit. Until then there are no intervals.
    begin = 0
    if not pool.started and len(order):
        begin = min(int(rows.known[order[0]]), last)
        play(0, begin)
        some = order[: due[begin + 1]]
        pool.begin(scores[some], notes[slots[some], pool.size_at])
    play(begin, last)
    learn(panel, pool, rows.places, scores, rows.radii, notes, slots, order[due[last] :])  # known after the last moment
    return notes, slots


def play_large(
    panel: Panel,
    pool: Any,
    rows: Moments,
    scores: np.ndarray,
    i: int,
    due: np.ndarray,
    notes: np.ndarray,
    slots: np.ndarray,
    free: np.ndarray,
    top: np.ndarray,
) -> None:
    """Play moment i as ``play_moments`` does, with threads that share its rows; the bits are the same."""
    learn(panel, pool, rows.places, scores, rows.radii, notes, slots, due)
    free[top[0] : top[0] + len(due)] = slots[due]
    top[0] += len(due)
    pool.solve()
    first, last = int(rows.starts[i]), int(rows.starts[i + 1])
    top[0] -= last - first
    slots[first:last] = free[top[0] : top[0] + last - first]

    def work(piece: slice, _: Any) -> None:
        predict_rows(
            pool, panel.states.data, rows.places.data, rows.sizes.data, piece.start, piece.stop, rows.radii.data,
            pool.column, notes.data, slots.data,
        )  # fmt: skip

    over_threads(panel, work, [slice(a, min(a + PIECE, last)) for a in range(first, last, PIECE)], last - first)
    unlabelled = slots[first:last][np.isnan(scores[first:last])]
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
        predict_rows(pool, panel.states.data, places.data, sizes.data, 0, len(places), *where)
    radii -= shift[:, None] if isinstance(shift, np.ndarray) else shift


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
    scores = tuple(np.maximum(side + shift, 0.0) for side in (below, above))
    radii = panel.radii[places] + (shift[:, None] if isinstance(shift, np.ndarray) else shift)
    return learn_sides(panel, places, scores, radii, panel.notes[places])


def learn_sides(panel: Panel, places: np.ndarray, scores: Any, radii: np.ndarray, notes: np.ndarray) -> list[Any]:
    """Return what learns one label for each place, with the radii and notes of its prediction, on all sides."""
    slots, rows = np.arange(len(places)), np.flatnonzero(~np.isnan(scores[0]))
    steps: list[Any] = []
    for pool, side in zip(panel.pools, scores, strict=False):
        if not pool.started and len(rows):
            pool.begin(side[rows], notes[rows, pool.size_at])
        if threads_for(panel, len(rows)) > 1:
            steps.append(partial(learn, panel, pool, places, side, radii, notes, slots, rows))
        else:
            arrays = [a.data for a in (panel.states, places, side, radii)]
            more = (pool.column, notes.data, slots.data, rows.data, 0, len(rows))
            steps.append(partial(learn_rows, pool, *arrays, *more))  # type: ignore[call-arg]
    return steps
