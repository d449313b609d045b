cimport cython
from libc cimport math
from wane.trackers.room cimport Room, given
from wane.state.stateful cimport Stateful
from wane.trackers.faci cimport judge, mean
from wane.trackers.histogram cimport Histogram

cdef double SHARE, SMALLEST, QUOTIENT

@cython.final
cdef class Scaled(Stateful):
    cdef public Py_ssize_t rounds
    cdef public double[::1] levels, weights
    cdef double[::1] losses
    cdef readonly Histogram past
    cdef readonly bint signed
    cdef double miss, speed
    cdef Py_ssize_t _put(self, double scale, double[::1] radii, Py_ssize_t at) noexcept nogil
    @cython.locals(unit=double, ratio=double, beta=double, u=double, step=double, k=Py_ssize_t)
    cdef int _learn(self, double score, double scale) except -1 nogil
