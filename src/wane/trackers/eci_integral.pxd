cimport cython
from wane.checks cimport scalar
from wane.trackers.base cimport Tracker
from wane.trackers.control cimport Range
from wane.trackers.eci cimport error_term
from wane.trackers.losses cimport missed

@cython.final
cdef class ErrorIntegral(Tracker):
    cdef readonly double rate, scale, decay
    cdef readonly Py_ssize_t window
    cdef public double q, extra, errors, weights
    cdef readonly Range spread
