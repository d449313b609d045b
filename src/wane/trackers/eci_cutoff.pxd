cimport cython
from wane.trackers.base cimport Tracker
from wane.trackers.control cimport Range
from wane.trackers.eci cimport error_term
from wane.trackers.losses cimport missed

@cython.final
cdef class ErrorCutoff(Tracker):
    cdef readonly double rate, scale, cutoff
    cdef readonly Py_ssize_t window
    cdef public double q, extra
    cdef readonly Range spread
