cimport cython
from libc cimport math
from wane.checks cimport number, scalar
from wane.trackers.base cimport Tracker
from wane.vectors cimport copy, dot, within

cdef double LARGE

@cython.final
cdef class LinearTracker(Tracker):
    cdef readonly double rate, bias, exponent, start
    cdef readonly Py_ssize_t order, features, size
    cdef public double[::1] theta, x
    cdef double[::1] next
    @cython.locals(i=Py_ssize_t)
    cdef int _learn(self, double step, double score) except -1 nogil
    cdef int _overflow(self) except -1 with gil
