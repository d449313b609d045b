cimport cython
from libc cimport math
from wane.trackers.base cimport Tracker
from wane.trackers.control cimport Range

@cython.final
cdef class ErrorQuantified(Tracker):
    cdef readonly double rate, scale
    cdef readonly Py_ssize_t window
    cdef readonly object tie
    cdef readonly bint output_only, tie_covers
    cdef public double q, extra
    cdef readonly Range spread
