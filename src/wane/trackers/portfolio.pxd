cimport cython
from libc cimport math
from wane.checks cimport number
from wane.trackers.base cimport Tracker

cdef double CAP

@cython.final
cdef class Portfolio(Tracker):
    cdef readonly double epsilon, prior
    cdef public double misses, labels, log_wealth, largest, late, changed
    cdef double _edge(self) noexcept nogil
