# cython: boundscheck=False, wraparound=False
"""The loops over rounds that all batches play through, of one stream or of many. Compiled, they release the GIL.

A row is one prediction together with its label. The rows of a stream are in order of time. ``pos`` is the moment of a
row, and its label is known to the predictions of the same stream from the moment ``pos + lag`` on. Many streams share
one set of trackers: the state of each stream is a row of an array, which is read into the trackers and written back.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from wane import _cython as cython

NAN = float("nan")


def play_streams(
    levels, states, places, starts, news, begins, first, last, pos, ends, lag, floors, lower, upper, discounts, radii,
    own, playing, given, notes, slots,
):  # fmt: skip
    """Play the streams ``first`` to ``last``; the state of stream s is ``states[places[s]]``.

    Stream s has the rows ``starts[s]`` to ``starts[s + 1]``. Rows before ``news[s]`` were predicted earlier, and only
    their labels are still to be learned. New rows before ``begins[s]`` belong to the warm-up: they get no prediction,
    and their radii are NaN. Labels that are known at the moment ``ends[s]`` are learned. Afterwards ``news[s]`` is the
    first row whose label is not learned. The other arguments are those of ``play_rows``.
    """
    with cython.nogil:
        for s in range(first, last):
            levels._read(states, places[s])
            news[s] = play_rows(
                levels, news[s], starts[s + 1], starts[s], begins[s], pos, ends[s], lag, floors, lower, upper,
                discounts, radii, own, playing, given, notes, slots,
            )  # fmt: skip
            levels._write(states, places[s])


def play_rows(
    levels, first, last, learned, begin, pos, end, lag, floors, lower, upper, discounts, radii, own, playing, given,
    notes, slots,
):  # fmt: skip
    """Predict the rows ``first`` to ``last`` of one stream; before each prediction, learn the labels that are known.

    Args:
        levels: the trackers.
        first, last: the rows to predict.
        learned: the first row whose label is not learned yet.
        begin: rows before this one belong to the warm-up and get no prediction.
        pos: the moment of each row.
        end: the moment after the last row; labels that are known then are learned too.
        lag: how many moments after its row a label is known.
        floors: the smallest radius that makes a set, for each row.
        lower, upper: the scores of the two sides, NaN where there is no label.
        discounts: one for each row, NaN for the method's own; or an empty array if all are the method's own.
        radii: filled in for the rows that are predicted.
        own: filled in with what each tracker would play by itself, if it has a row for each row; else scratch space.
        playing: its only entry is set to the row that is being predicted, so that an error can name it.
        given: what is known of each row before it is predicted (``wane.trackers.context``).
        notes, slots: what predictions keep until their label is learned, and the row of ``notes`` for each row. If the
            trackers keep nothing, all three are empty.

    Returns the first row whose label is not learned.
    """
    record_own = own.shape[0] > 1
    for t in range(first, last):
        while learned < t and pos[learned] + lag <= pos[t]:
            learn(levels, learned, lower, upper, discounts, radii, notes, slots)
            learned = learned + 1
        playing[0] = t
        if t < begin:
            for c in range(radii.shape[1]):
                radii[t, c] = NAN
        elif levels.noted > 0:
            levels._foresee(given, t)
            levels._play(floors[t], radii, t, own, t if record_own else 0)
            levels._write_note(notes, slots[t])
            if record_own:  # without what is known of this round, as between two rounds
                levels._own(own, t)
        elif levels.alone and not record_own:  # faster, and the same result
            radii[t, 0] = levels._play_one(floors[t])
        else:
            levels._play(floors[t], radii, t, own, t if record_own else 0)
    while learned < last and pos[learned] + lag <= end:
        learn(levels, learned, lower, upper, discounts, radii, notes, slots)
        learned = learned + 1
    return learned


def learn(levels, row, lower, upper, discounts, radii, notes, slots):
    """Learn the label of a row, if it has one. In the warm-up no radius was played, so each tracker plays its own."""
    if lower[row] == lower[row]:
        discount = discounts[row] if discounts.shape[0] > 0 else NAN
        if radii[row, 0] != radii[row, 0]:
            levels._warm(lower[row], upper[row])
            return 0
        if levels.noted > 0:
            levels._read_note(notes, slots[row])
        if levels.alone:
            levels._learn_one(lower[row], radii[row, 0], discount)
        else:
            levels._learn(lower[row], upper[row], radii, row, discount)
    return 0


def predict_streams(levels, states, streams, floors, radii, own, given):
    """Make one prediction for each of the given streams."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            levels._read(states, streams[j])
            if levels.noted > 0:
                levels._foresee(given, j)
            levels._play(floors[j], radii, j, own, 0)


def ready_streams(levels, states, streams, lower, upper):
    """Let the trackers raise or warn about a label before any of the given streams learns one."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                levels.first._ready(lower[j])
                if levels.second is not None:
                    levels.second._ready(upper[j])
                levels._write(states, streams[j])  # it may hold that a warning was given


def update_streams(levels, states, streams, lower, upper, radii, given):
    """Learn one label for each of the given streams; NaN means that there is none.

    No stream has learned since its prediction, so what was known of the round says what was predicted.
    """
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                if levels.noted > 0:
                    levels._foresee(given, j)
                levels._learn(lower[j], upper[j], radii, j, NAN)
                levels._write(states, streams[j])


def rewrite_streams(levels, states, out):
    """Read the state of every stream and write it to ``out``, which shows what reading has changed."""
    with cython.nogil:
        for i in range(states.shape[0]):
            levels._read(states, i)
            levels._write(out, i)


def add_in_order(totals, column, places, starts, values):
    """Add the values of each stream's rows to its total.

    The rows are added one after the other, so that a history gives the same bits in one batch as in several.
    """
    with cython.nogil:
        for s in range(places.shape[0]):
            total = totals[places[s], column]
            for t in range(starts[s], starts[s + 1]):
                total = total + values[t]
            totals[places[s], column] = total
