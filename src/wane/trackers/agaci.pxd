cimport cython
from libc cimport math
from wane.trackers.history cimport History, inverted_cdf
from wane.trackers.base cimport Tracker
from wane.trackers.faci cimport mean

cdef double INFINITY, GUESS

@cython.final
cdef class AggregatedConformal(Tracker):
    cdef readonly object gammas
    cdef readonly bint clip
    cdef double[::1] rates
    cdef public double[::1] levels, weights, etas, losses, squares, ranges
    cdef readonly History past
    @cython.locals(below=double)
    cdef double _rank(self, double score) noexcept nogil
    @cython.locals(k=Py_ssize_t, n=Py_ssize_t, middle=double, slope=double, least=double, loss=double, reach=double, late=double, total=double)
    cpdef int learn(self, double beta) except -1 nogil

@cython.locals(p=double)
cpdef double power_of_two(double x) noexcept nogil
