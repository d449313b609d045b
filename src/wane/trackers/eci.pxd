cimport cython
from libc cimport math
from wane.trackers.range_descent cimport RangeDescent

@cython.locals(e=double)
cpdef double error_term(double d, double scale) noexcept nogil

@cython.final
cdef class ErrorQuantified(RangeDescent):
    cdef readonly double scale
    cdef readonly bint output_only
