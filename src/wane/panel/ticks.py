"""One time step of many streams: ``Panel.predict`` makes a prediction for each, ``Panel.update`` learns the labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.conformal.foresight import foreseen
from wane.conformal.levels import Levels
from wane.conformal.rounds import predict_streams, ready_streams, update_streams
from wane.errors import InputError
from wane.panel import pooled
from wane.panel.batch import (
    NEVER,
    PIECE,
    choose_epsilons,
    judgement,
    over_threads,
    play_warm,
    rows_counted_from,
    stretches,
    threads_for,
)
from wane.panel.tail import Tail
from wane.panel.undo import Undo, keep
from wane.state.one_step import in_one_step

if TYPE_CHECKING:
    from wane.panel.panel import Panel


@dataclass(frozen=True)
class Batch:
    """The labels of several streams, checked and scored, ready to be learned."""

    panel: Panel
    places: np.ndarray
    known: np.ndarray  # where a label has come
    cold: np.ndarray  # where it has come to a stream that still warms up
    below: np.ndarray  # scores of the two sides, NaN where there is no label
    above: np.ndarray


def play(
    panel: Panel,
    levels: Levels,
    places: np.ndarray,
    columns: np.ndarray,
    radii: np.ndarray,
    ends: np.ndarray,
    notes: np.ndarray,
) -> None:
    """Predict for the stream at each place, and fill in the radii, the ends of the intervals, and notes if any."""
    settings = panel.settings
    outputs = settings.outputs_of(columns)
    floors = settings.floors(outputs)
    if panel.pools:
        pooled.predict(panel, places, outputs, radii, notes)
    elif panel.flat:
        own = np.empty((1, radii.shape[1]))
        given = foreseen(levels, settings.score, panel.seen[places], floors, outputs)
        predict_streams(levels, panel.states.data, places.data, floors.data, radii.data, own.data, given.data)
    else:
        for j, place in enumerate(places.tolist()):
            radii[j] = panel.objects[place].predict(floors[j])
    warm = panel.warm[places]
    if settings.warm_up and not warm.all():  # nothing is played in the warm-up
        radii[~warm] = math.nan
    shown = settings.shown(radii, ~warm)
    for i in range(len(settings.alphas)):
        ends[0, :, i], ends[1, :, i], _ = settings.intervals(outputs, shown, i)


def checked(panel: Panel, ids: Any, y: Any) -> Batch:
    """Check labels and score them, so that ``learn`` cannot fail because of its input. No stream learns here."""
    settings = panel.settings
    places = panel.index.places(ids)
    panel._refuse_repeated(places)
    waiting = panel.waiting[places]
    if not waiting.all():
        id = panel.ids()[places[np.argmin(waiting)]]
        raise InputError(
            f"stream {id!r} has no prediction that waits for a label", argument="ids", cure="call predict first"
        )
    labels, known = settings.labels(y, len(places))
    # Score the labels piece by piece. A tracker may refuse a score: ask all of them before the first one learns.
    below, above, cold = np.empty(len(places)), np.empty(len(places)), known & ~panel.warm[places]
    cold &= settings.warm_up > 0  # without a warm-up, all labels are learned at once

    def score(p: slice, levels: Levels) -> None:
        with rows_counted_from(p.start):
            outputs = settings.outputs_of(panel.outputs[places[p]])
            below[p], above[p] = settings.scores(outputs, labels[p], known[p])
        if panel.flat and not panel.pools:
            lower = np.where(cold[p], math.nan, below[p])
            ready_streams(levels, *[array.data for array in (panel.states, places[p], lower, above[p])])

    over_threads(panel, score, slices(len(places)), len(places))
    return Batch(panel, places, known, cold, below, above)


def learn(*batches: Batch, also: Sequence[partial[Any]] = ()) -> None:
    """Learn the labels of batches, each of a panel of its own: all of them or, after an exception, none.

    Labels of streams that still warm up are kept until there are enough of them. ``also`` are functions, written in C,
    that are called in the step that completes the change.
    """
    counts = [*(step for batch in batches for step in counting(batch)), *also]
    # Compiled trackers that cannot fail learn in one step with the counts, which no signal can interrupt.
    if not any(needs_undo(batch) for batch in batches):
        in_one_step(*[step for batch in batches for step in learning(batch)], *counts)
        return
    with Undo(*[batch.panel for batch in batches]) as undo:
        for batch in batches:
            panel, places, cold = batch.panel, batch.places, batch.cold
            keep(panel, places)
            if panel.pools:
                for step in learning(batch):
                    step()
            elif threaded(batch):
                over_threads(panel, partial(learn_piece, batch), slices(len(places)), len(places))
            else:
                in_one_step(*learning(batch))
            if cold.any():
                waiting = (
                    batch.below[cold],
                    batch.above[cold],
                    panel.radii[places[cold]],
                    np.full((int(cold.sum()), panel.tail.notes.shape[1]), math.nan),  # nothing was predicted
                )
                new = Tail(places[cold], panel.seen[places[cold]] - 1, *waiting)
                panel.tail = Tail.joined([panel.tail, new])
                warm_streams(panel, places[cold])
        in_one_step(*counts, partial(setitem, vars(undo), "done", True))


def needs_undo(batch: Batch) -> bool:
    """Say whether learning a batch can fail, or be interrupted."""
    return batch.panel.fragile or bool(batch.cold.any()) or threaded(batch)


def threaded(batch: Batch) -> bool:
    """Say whether several threads learn a batch; trackers whose state is no row of numbers learn on one."""
    return bool(batch.panel.flat) and threads_for(batch.panel, len(batch.places)) > 1


def learning(batch: Batch) -> list[partial[Any]]:
    """Return what lets the trackers learn a batch, except the labels of streams that still warm up."""
    panel, places = batch.panel, batch.places
    radii = panel.radii[places]
    if panel.pools:
        return pooled.learning(panel, places, batch.below, batch.above)
    if panel.flat:
        lower = np.where(batch.cold, math.nan, batch.below)
        arrays = (panel.states, places, lower, batch.above, radii, seen_before(panel, places))
        return [partial(update_streams, panel.settings.levels, *[array.data for array in arrays])]
    rows = np.flatnonzero(batch.known & ~batch.cold).tolist()
    below, above, played = batch.below.tolist(), batch.above.tolist(), radii.tolist()
    return [partial(panel.objects[places[j]].update, below[j], above[j], tuple(played[j]), math.nan) for j in rows]


def learn_piece(batch: Batch, p: slice, levels: Levels) -> None:
    """Let the trackers of a part of the streams learn, on a thread of its own."""
    panel, places = batch.panel, batch.places[p]
    lower = np.where(batch.cold[p], math.nan, batch.below[p])
    arrays = (panel.states, places, lower, batch.above[p], panel.radii[places], seen_before(panel, places))
    update_streams(levels, *[array.data for array in arrays])


def seen_before(panel: Panel, places: np.ndarray) -> np.ndarray:
    """Return what was known of the round that each of these streams predicted last."""
    settings = panel.settings
    outputs = settings.outputs_of(panel.outputs[places])
    return foreseen(settings.levels, settings.score, panel.seen[places] - 1, settings.floors(outputs), outputs)


def counting(batch: Batch, played: Any = None) -> list[partial[Any]]:
    """Return what adds a batch to the counts of ``Panel.summary``, and lets its predictions wait no more.

    ``played`` are the radii of the intervals that the user saw, if not those of the panel.
    """
    panel, places, below = batch.panel, batch.places, batch.below
    settings = panel.settings
    radii = settings.shown(panel.radii[places] if played is None else played, ~panel.warm[places])
    outputs = settings.outputs_of(panel.outputs[places])
    judged = ~np.isnan(below) & ~np.isnan(radii[:, 0])  # streams with a label and an interval
    misses, widths, unbounded = panel.misses[places], panel.widths[places], panel.unbounded[places]
    for i in range(len(settings.alphas)):
        _, _, covered, finite, wide = judgement(settings, outputs, below, batch.above, radii, judged, i)
        misses[:, i] += judged & ~covered
        unbounded[:, i] += judged & ~finite
        widths[:, i] += wide
    return [
        partial(setitem, panel.labels, places, panel.labels[places] + judged),
        partial(setitem, panel.misses, places, misses),
        partial(setitem, panel.widths, places, widths),
        partial(setitem, panel.unbounded, places, unbounded),
        partial(setitem, panel.waiting, places[batch.known], False),
        partial(setitem, panel.warm, places[batch.known & ~batch.cold], True),
    ]


def warm_streams(panel: Panel, places: np.ndarray) -> None:
    """Let the streams at these places leave the warm-up if they have enough labels: choose epsilon, and learn them.

    This serves ``Panel.update``, where labels come one at a time and wait in ``panel.tail``.
    """
    tail = panel.tail
    labels = np.bincount(tail.place[~np.isnan(tail.below)], minlength=len(panel.seen))
    mine = np.isin(tail.place, places[labels[places] >= panel.settings.warm_up])
    if not mine.any():
        return
    order = np.flatnonzero(mine)
    rows = tail.take(order[np.argsort(tail.place[order], kind="stable")])
    ready, bounds = stretches(rows.place)
    warm, levels = np.full(len(ready), True), panel.settings.levels
    choose_epsilons(panel, levels, ready, bounds, warm, rows.below, rows.above)
    # All rows are old: there is nothing to predict, and every label is known.
    news, ends, floors = bounds[1:].copy(), np.full(len(ready), NEVER, dtype=np.int64), np.zeros(len(order))
    arrays = (ready, bounds, news, news.copy(), rows.pos, ends, floors, rows.below, rows.above, rows.radii)
    kept = (np.zeros((len(order), 0)), rows.notes, np.arange(len(order)))
    play_warm(panel, levels, warm, 1, *arrays, kept)
    panel.warm[ready] = True
    panel.tail = tail.take(np.flatnonzero(~mine))


def slices(rows: int) -> list[slice]:
    """Cut rows into pieces that fit the processor's cache."""
    return [slice(i, min(i + PIECE, rows)) for i in range(0, rows, PIECE)]
