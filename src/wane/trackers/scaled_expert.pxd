cimport cython
from wane.state.stateful cimport Stateful
from wane.trackers.history cimport inverted_cdf
from wane.trackers.faci cimport QuantileExperts
from wane.trackers.scale_models cimport ScaleModel

cdef double NAN, FARTHEST

@cython.final
cdef class Scaled(Stateful):
    cdef readonly ScaleModel model
    cdef readonly QuantileExperts levels
    cdef readonly object window
    cdef readonly bint signed
    cdef double miss
    cdef Py_ssize_t _put(self, double[::1] radii, Py_ssize_t at) except -1 nogil
    @cython.locals(scale=double, ratio=double)
    cdef int _learn(self, double score) except -1 nogil
