cimport cython
from libc cimport math
from wane.checks cimport number, scalar
from wane.trackers.base cimport Tracker

@cython.final
cdef class DecayingStep(Tracker):
    cdef readonly double rate, exponent
    cdef readonly object start, tie
    cdef readonly bint from_first, tie_covers
    cdef public double q
