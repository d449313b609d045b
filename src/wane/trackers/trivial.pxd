cimport cython
from wane.trackers.base cimport Tracker

cdef double INFINITY, SLACK

@cython.final
cdef class Trivial(Tracker):
    cdef public double debt
