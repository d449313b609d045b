# cython: boundscheck=False, wraparound=False
"""The loops over rounds: every batch of one stream or of many plays through these, without the GIL when compiled.

A row is a prediction and, once it is known, its label. The rows of a stream are in time: ``pos`` is the moment of a
row, and its label is known to the predictions of the same stream from the moment ``pos + lag`` on. Many streams go
through one set of trackers, whose states are rows of an array.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from wane import _cython as cython

NAN = float("nan")


def play_streams(
    levels, states, places, starts, news, begins, first, last, pos, ends, lag, floors, lower, upper, discounts, radii,
    own, at,
):  # fmt: skip
    """Play the streams ``first`` to ``last``, each with the state ``states[places[s]]`` before, and again after.

    Stream s has the rows ``starts[s]`` to ``starts[s + 1]``. Those before ``news[s]`` were predicted earlier and wait
    for their labels to be learned; those before ``begins[s]`` only warm up: no prediction is made, and their radii are
    NaN. Labels that are known at ``ends[s]`` are learned; ``news[s]`` becomes the first row whose label is not.
    """
    with cython.nogil:
        for s in range(first, last):
            levels._read(states, places[s])
            news[s] = play_rows(
                levels, news[s], starts[s + 1], starts[s], begins[s], pos, ends[s], lag, floors, lower, upper,
                discounts, radii, own, at,
            )  # fmt: skip
            levels._write(states, places[s])


def play_rows(levels, first, last, learned, begin, pos, end, lag, floors, lower, upper, discounts, radii, own, at):
    """Predict the rows ``first`` to ``last`` of one stream, and learn before each what is known then.

    Args:
        levels: the trackers.
        first, last: the rows to predict.
        learned: the first row whose label is not learned yet.
        begin: rows before this one get no prediction.
        pos: the moment of each row.
        end: the moment after the last row; labels that are known then are learned too.
        lag: how many moments after its row a label is known.
        floors: the smallest radius that makes a set, for each row.
        lower, upper: the scores of the two sides, NaN where there is no label.
        discounts: one for each row, NaN for the method's own; or none at all.
        radii: filled in for the rows that are predicted.
        own: what each tracker would play by itself, for each row; or one row of scratch space.
        at: its only entry says which row was being predicted last, for errors.

    Returns the first row whose label is not learned.
    """
    kept = own.shape[0] > 1
    for t in range(first, last):
        while learned < t and pos[learned] + lag <= pos[t]:
            learn(levels, learned, lower, upper, discounts, radii)
            learned = learned + 1
        at[0] = t
        if t < begin:
            for c in range(radii.shape[1]):
                radii[t, c] = NAN
        elif levels.alone and not kept:  # the short way
            radii[t, 0] = levels._play_one(floors[t])
        else:
            levels._play(floors[t], radii, t, own, t if kept else 0)
    while learned < last and pos[learned] + lag <= end:
        learn(levels, learned, lower, upper, discounts, radii)
        learned = learned + 1
    return learned


def learn(levels, row, lower, upper, discounts, radii):
    """The label of a row: at the radius played, or in the warm-up at what each tracker would have played."""
    if lower[row] == lower[row]:
        discount = discounts[row] if discounts.shape[0] > 0 else NAN
        if radii[row, 0] != radii[row, 0]:
            levels._warm(lower[row], upper[row])
        elif levels.alone:
            levels._learn_one(lower[row], radii[row, 0], discount)
        else:
            levels._learn(lower[row], upper[row], radii, row, discount)
    return 0


def predict_streams(levels, states, streams, floors, radii, own):
    """Make one prediction for each of these streams."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            levels._read(states, streams[j])
            levels._play(floors[j], radii, j, own, 0)


def ready_streams(levels, states, streams, lower, upper):
    """Let trackers raise or warn about a label before any of these streams learns one."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                levels.first._ready(lower[j])
                if levels.second is not None:
                    levels.second._ready(upper[j])
                levels._write(states, streams[j])  # that a warning was given


def update_streams(levels, states, streams, lower, upper, radii):
    """Learn one label for each of these streams; NaN is none."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                levels._learn(lower[j], upper[j], radii, j, NAN)
                levels._write(states, streams[j])


def add_in_order(totals, column, places, starts, values):
    """Add the values of the rows of each stream to its total, one after the other: two chunks give the bits of one."""
    with cython.nogil:
        for s in range(places.shape[0]):
            total = totals[places[s], column]
            for t in range(starts[s], starts[s + 1]):
                total = total + values[t]
            totals[places[s], column] = total
