cimport cython
from wane.order cimport History, higher, inverted_cdf
from wane.trackers.base cimport Tracker

cdef double INFINITY

@cython.final
cdef class AdaptiveConformal(Tracker):
    cdef readonly double gamma
    cdef readonly object window, tie
    cdef readonly Py_ssize_t burn_in
    cdef readonly bint finite_sample, clip, published
    cdef bint tie_covers
    cdef public double level
    cdef readonly History past
    cdef bint _infinite(self) noexcept nogil
