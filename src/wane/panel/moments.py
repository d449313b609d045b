# cython: boundscheck=False, wraparound=False
"""The loops of the method ``pool`` over rows and over moments. Compiled, they release the GIL."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from wane import _cython as cython


def group_rows(keys, starts, order):
    """Sort rows by whole numbers from 0 on; rows with the same key keep their order.

    Args:
        keys: of the rows; those that are negative, or not below ``len(starts) - 1``, are left out.
        starts: zeros, to be filled in: the rows with key k are ``order[starts[k]]`` to ``order[starts[k + 1]]``.
        order: the numbers of the rows, to be filled in.
    """
    last = starts.shape[0] - 1
    with cython.nogil:
        for t in range(keys.shape[0]):
            if 0 <= keys[t] < last:
                starts[keys[t] + 1] = starts[keys[t] + 1] + 1
        for k in range(last):
            starts[k + 1] = starts[k + 1] + starts[k]
        for t in range(keys.shape[0]):  # here a start moves on to the end of its key, which is the next start
            if 0 <= keys[t] < last:
                order[starts[keys[t]]] = t
                starts[keys[t]] = starts[keys[t]] + 1
        for k in range(last, 0, -1):
            starts[k] = starts[k - 1]
        starts[0] = 0


def predict_rows(pool, states, places, sizes, rows, first, last, radii, column, notes, slots):
    """Predict ``rows[first]`` to ``rows[last]``: fill in their radii from ``column`` on, and notes in their slots."""
    with cython.nogil:
        for k in range(first, last):
            t = rows[k]
            pool._predict(states, places[t], sizes[t], radii, t, column, notes, slots[t])


def learn_rows(pool, states, places, scores, radii, column, notes, slots, order, first, last):
    """Learn the labels of the rows ``order[first]`` to ``order[last]``; NaN means that there is none."""
    with cython.nogil:
        for k in range(first, last):
            t = order[k]
            if scores[t] == scores[t]:
                pool._learn(states, places[t], scores[t], radii, t, column, notes, slots[t])


def play_moments(
    pool, states, places, scores, sizes, rows, starts, order, due, first, last, radii, column, notes, slots, free, top
):
    """Play the moments ``first`` to ``last``: learn what is known by then, solve, and predict the rows of the moment.

    Args:
        pool: the shared part.
        states: of all series, a row each.
        places: the series of each row.
        scores: of each row, NaN where there is no label.
        sizes: of the forecast of each row.
        rows, starts: moment i has ``rows[starts[i]]`` to ``rows[starts[i + 1]]``.
        order: rows in the order in which their labels are learned.
        due: before moment i, ``order[due[i]]`` to ``order[due[i + 1]]`` are learned.
        first, last: the moments to play.
        radii, column: where the radii of this pool are filled in.
        notes: of the rows that wait for their label.
        slots: the note of each row.
        free: a stack of the notes that no row uses; there is always one more, for rows without a label.
        top: the height of that stack.
    """
    with cython.nogil:
        for i in range(first, last):
            for k in range(due[i], due[i + 1]):
                t = order[k]
                pool._learn(states, places[t], scores[t], radii, t, column, notes, slots[t])
                free[top[0]] = slots[t]
                top[0] = top[0] + 1
            pool.solve()
            for k in range(starts[i], starts[i + 1]):
                t = rows[k]
                slots[t] = free[top[0] - 1]
                if scores[t] == scores[t]:  # the label comes some time: the note is kept until then
                    top[0] = top[0] - 1
                pool._predict(states, places[t], sizes[t], radii, t, column, notes, slots[t])
