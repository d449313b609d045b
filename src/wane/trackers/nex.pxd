cimport cython
from libc cimport math
from wane.trackers.base cimport Tracker

cdef double INFINITY

@cython.final
cdef class NexConformal(Tracker):
    cdef readonly double decay
    cdef readonly bint finite_sample
    cdef readonly Py_ssize_t length
    cdef double[::1] powers
    cdef public double[::1] ring, scores, births
    cdef double _total(self, Py_ssize_t n) noexcept nogil
    @cython.locals(n=Py_ssize_t, limit=double)
    cdef double _radius(self) noexcept nogil
    @cython.locals(tail=double, i=Py_ssize_t, age=Py_ssize_t)
    cdef double _weighted(self, Py_ssize_t n, double limit) noexcept nogil
    @cython.locals(n=Py_ssize_t, i=Py_ssize_t, place=Py_ssize_t)
    cdef int _push(self, double score) except -1 nogil
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _first(self, Py_ssize_t n, double score) noexcept nogil
