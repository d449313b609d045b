cimport cython
from wane.trackers.base cimport Tracker
from wane.trackers.mixture cimport Mixture
from wane.trackers.scaled_expert cimport Scaled
from wane.trackers.scale_models cimport SteadyScale

cdef double JUMP, CREDIT, TRUST, PARDON, MOST, LIMIT
cdef Py_ssize_t SETTLED, GUARD

@cython.final
cdef class Blend(Tracker):
    cdef readonly object window
    cdef readonly Scaled raw, seasonal, smooth, fast, slow
    cdef readonly Mixture mixture
    cdef public double[::1] radii
    cdef public double mixed, radius, gain
    cdef readonly SteadyScale unit
    @cython.locals(at=Py_ssize_t, k=Py_ssize_t)
    cdef int _blend(self) except -1 nogil
    cdef bint _speaks(self) noexcept nogil

cpdef double pinball(double radius, double score, double miss) noexcept nogil
