cimport cython
from wane.trackers.room cimport Room
from wane.trackers.base cimport Tracker
from wane.trackers.mixture cimport Mixture
from wane.trackers.scaled_expert cimport Scaled
from wane.trackers.scale_models cimport LogScale, RecentScale, SteadyScale

cdef double PEAK, TRUST
cdef Py_ssize_t UNKNOWN, LONGEST

@cython.final
cdef class Blend(Tracker):
    cdef readonly Py_ssize_t context
    cdef readonly SteadyScale unit
    cdef readonly LogScale model
    cdef readonly RecentScale recent
    cdef readonly Scaled steady, regression, fast
    cdef readonly Mixture mixture
    cdef Py_ssize_t looked
    cdef readonly double[::1] radii, scales
    cdef readonly double mixed, made
    cdef public double peak
    cdef public Py_ssize_t latest
    @cython.locals(k=Py_ssize_t)
    cdef int _find(self) except -1 nogil
    cdef int _ahead(self) except -1 nogil
