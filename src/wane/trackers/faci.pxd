cimport cython
from libc cimport math
from wane.trackers.history cimport History, inverted_cdf
from wane.trackers.base cimport Tracker

cdef double INFINITY, NAN

@cython.final
cdef class QuantileExperts(Tracker):
    cdef readonly object method, gammas, sigma, eta, published, window
    cdef readonly Py_ssize_t interval
    cdef readonly bint clip
    cdef bint bounded, authors, own
    cdef double share, speed, origin, aim
    cdef double[::1] rates, losses
    cdef public double[::1] levels, weights
    cdef readonly History past
    @cython.locals(below=double)
    cdef double _rank(self, double score) noexcept nogil
    cdef double _radius(self, double level) except? -1.0 nogil
    cpdef int learn(self, double beta) except -1 nogil
    @cython.locals(k=Py_ssize_t, u=double, missed=bint)
    cdef int _learn(self, double beta, double score) except -1 nogil

@cython.locals(k=Py_ssize_t, total=double, weight=double)
cpdef double mean(const double[::1] weights, const double[::1] values) noexcept nogil

@cython.locals(k=Py_ssize_t, u=double)
cpdef int judge(
    double[::1] weights, const double[::1] levels, double[::1] losses, double beta, double miss, double eta, double sigma
) noexcept nogil

@cython.locals(k=Py_ssize_t, n=Py_ssize_t, least=double, total=double)
cpdef int reweigh(double[::1] weights, const double[::1] losses, double eta, double sigma) noexcept nogil
