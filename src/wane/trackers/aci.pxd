cimport cython
from wane.trackers.history cimport History, higher, inverted_cdf
from wane.trackers.base cimport Tracker
from wane.trackers.losses cimport missed

cdef double INFINITY

@cython.final
cdef class AdaptiveConformal(Tracker):
    cdef readonly double gamma
    cdef readonly object window, published
    cdef readonly Py_ssize_t burn_in
    cdef readonly bint finite_sample, clip
    cdef bint authors, empties
    cdef double origin, aim
    cdef public double shifted
    cdef readonly History past
    @cython.locals(level=double)
    cdef bint _infinite(self) noexcept nogil
