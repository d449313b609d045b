cimport cython
from libc cimport math
from wane.trackers.base cimport Tracker
from wane.trackers.losses cimport missed
from wane.trackers.control cimport Range

@cython.locals(e=double)
cpdef double error_term(double d, double scale) noexcept nogil

@cython.final
cdef class ErrorQuantified(Tracker):
    cdef readonly double rate, scale
    cdef readonly Py_ssize_t window
    cdef readonly bint output_only
    cdef public double q, extra
    cdef readonly Range spread
