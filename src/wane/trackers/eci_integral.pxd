cimport cython
from wane.checks cimport scalar
from wane.trackers.eci cimport error_term
from wane.trackers.range_descent cimport RangeDescent

@cython.final
cdef class ErrorIntegral(RangeDescent):
    cdef readonly double scale, decay
    cdef public double errors, weights
