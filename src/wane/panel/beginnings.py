# cython: boundscheck=False, wraparound=False
"""Where the intervals of each stream of a batch begin. Compiled, the loop looks at the first rows of a stream only."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from wane import _cython as cython


def find_beginnings(bounds, news, pos, ends, below, lag, need, warm, begins):
    """Find the first row of each stream that shows an interval; streams that are ``warm`` are left as they are.

    Args:
        bounds: stream s has the rows ``bounds[s]`` to ``bounds[s + 1]``.
        news: the first row of each stream that is to be predicted.
        pos: the moment of each row.
        ends: the moment after the last row of each stream.
        below: scores, NaN where no label comes.
        lag: how many moments after its row a label is known.
        need: how many labels must be known.
        warm: 1 for streams that had enough labels before; set to 1 where the next row after the last shows an interval.
        begins: filled in; the end of the stream if none of its rows shows an interval.
    """
    with cython.nogil:
        for s in range(warm.shape[0]):
            if warm[s] == 0:
                t, labels = bounds[s], 0
                while t < bounds[s + 1] and labels < need:
                    if below[t] == below[t]:
                        labels = labels + 1
                    t = t + 1
                begins[s] = bounds[s + 1]
                if labels == need and pos[t - 1] + lag <= ends[s]:
                    moment = pos[t - 1] + lag
                    while t < bounds[s + 1] and pos[t] < moment:
                        t = t + 1
                    begins[s] = max(t, news[s])
                    warm[s] = 1
