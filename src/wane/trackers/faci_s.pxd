cimport cython
from libc cimport math
from wane.trackers.base cimport Tracker
from wane.trackers.faci cimport mean, reweigh

cdef double LARGEST

@cython.final
cdef class RadiusExperts(Tracker):
    cdef readonly object max_score, gammas, sigma
    cdef readonly Py_ssize_t interval
    cdef double given, share
    cdef double[::1] rates, losses
    cdef public double largest
    cdef public double[::1] radii, weights, squares
    @cython.locals(k=Py_ssize_t, u=double, scale=double, square=double, total=double, count=double)
    cdef int _learn(self, double score) except -1 nogil
    @cython.locals(i=Py_ssize_t, n=Py_ssize_t, total=double)
    cdef double _sum_of_squares(self, double scale) noexcept nogil
