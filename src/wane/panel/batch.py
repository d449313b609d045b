# cython: boundscheck=False, wraparound=False
"""Many streams through one set of trackers, whose states are rows of an array; without the GIL when compiled.

Rows are sorted: one stream after the other, each in time. ``pos`` is the moment of a row, and the label of a row is
known to the predictions of the same stream from ``pos + lag`` on.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from wane import _cython as cython

NAN = float("nan")


def play_streams(
    levels, states, places, starts, news, begins, first, last, pos, ends, lag, floors, lower, upper, radii, own
):
    """Whole streams, each with trackers of its own: ``states[places[s]]`` before, and again after.

    Stream s has the rows ``starts[s]`` to ``starts[s + 1]``. Those before ``news[s]`` were predicted earlier and wait
    for their labels to be learned; those before ``begins[s]`` only warm up: no prediction is made, and their radii are
    NaN. Labels that are known at ``ends[s]`` are learned; ``news[s]`` becomes the first row whose label is not.
    """
    with cython.nogil:
        for s in range(first, last):
            levels._read(states, places[s])
            news[s] = play_rows(levels, news[s], starts[s + 1], starts[s], begins[s], pos, ends[s], lag, floors, lower, upper, radii, own)  # fmt: skip  # noqa: E501
            levels._write(states, places[s])


def play_rows(levels, first, last, learned, begin, pos, end, lag, floors, lower, upper, radii, own):
    """Predict rows of one stream, learning before each what is known then; returns the first one not learned."""
    for t in range(first, last):
        while learned < t and pos[learned] + lag <= pos[t]:
            learn(levels, learned, lower, upper, radii)
            learned = learned + 1
        if t < begin:
            for c in range(radii.shape[1]):
                radii[t, c] = NAN
        elif levels.alone:  # the short way
            radii[t, 0] = levels._play_one(floors[t])
        else:
            levels._play(floors[t], radii, t, own, 0)
    while learned < last and pos[learned] + lag <= end:
        learn(levels, learned, lower, upper, radii)
        learned = learned + 1
    return learned


def learn(levels, row, lower, upper, radii):
    """The label of a row: at the radius played, or in the warm-up at what each tracker would have played."""
    if lower[row] == lower[row]:
        if radii[row, 0] != radii[row, 0]:
            levels._warm(lower[row], upper[row])
        elif levels.alone:
            levels._learn_one(lower[row], radii[row, 0], NAN)
        else:
            levels._learn(lower[row], upper[row], radii, row, NAN)
    return 0


def predict_streams(levels, states, streams, floors, radii, own):
    """One prediction for each of these streams."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            levels._read(states, streams[j])
            levels._play(floors[j], radii, j, own, 0)


def ready_streams(levels, states, streams, lower, upper):
    """What a tracker has to say about a label, an error or a warning, before any of these streams learns one."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                levels.first._ready(lower[j])
                if levels.second is not None:
                    levels.second._ready(upper[j])
                levels._write(states, streams[j])  # that a warning was given


def update_streams(levels, states, streams, lower, upper, radii):
    """One label for each of these streams; NaN is none."""
    with cython.nogil:
        for j in range(streams.shape[0]):
            if lower[j] == lower[j]:
                levels._read(states, streams[j])
                levels._learn(lower[j], upper[j], radii, j, NAN)
                levels._write(states, streams[j])
