cimport cython
from libc cimport math
from wane.checks cimport scalar
from wane.trackers.base cimport Tracker
from wane.trackers.control cimport Range
from wane.trackers.losses cimport missed

@cython.final
cdef class OptimisticConformal(Tracker):
    cdef readonly double rate, strength
    cdef readonly Py_ssize_t window
    cdef public double q, extra
    cdef readonly Range spread
    @cython.locals(below=Py_ssize_t, i=Py_ssize_t)
    cdef double _share_below(self, double q) noexcept nogil
