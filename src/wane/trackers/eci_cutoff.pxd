cimport cython
from wane.trackers.eci cimport error_term
from wane.trackers.range_descent cimport RangeDescent

@cython.final
cdef class ErrorCutoff(RangeDescent):
    cdef readonly double scale, cutoff
