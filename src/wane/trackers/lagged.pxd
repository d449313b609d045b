cimport cython
from wane.trackers.base cimport Tracker

cdef double INFINITY

@cython.final
cdef class Lagged(Tracker):
    cdef readonly Tracker tracker
    cdef public double stale, infinite
