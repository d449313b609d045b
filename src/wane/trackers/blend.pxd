cimport cython
from wane.trackers.room cimport room
from wane.trackers.base cimport Tracker
from wane.trackers.context cimport fill
from wane.trackers.mixture cimport Mixture
from wane.trackers.scaled_expert cimport Scaled
from wane.trackers.scale_models cimport LogScale, RecentScale, SteadyScale

cdef double LIMIT
cdef Py_ssize_t UNKNOWN

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
    cdef readonly double mixed
    cdef double[:, ::1] nothing
    cdef int _ahead(self) except -1 nogil
