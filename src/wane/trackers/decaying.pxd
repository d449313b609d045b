cimport cython
from libc cimport math
from wane.checks cimport number, scalar
from wane.trackers.base cimport Tracker

@cython.final
cdef class DecayingStep(Tracker):
    cdef readonly double rate, exponent
    cdef readonly object start
    cdef readonly bint from_first
    cdef public double q
