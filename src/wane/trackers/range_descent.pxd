cimport cython
from wane.state.cells cimport Cells
from wane.trackers.base cimport Tracker
from wane.trackers.control cimport Range
from wane.trackers.losses cimport missed

cdef class RangeDescent(Tracker):
    cdef readonly double rate
    cdef readonly Py_ssize_t window
    cdef public double q, extra
    cdef readonly Range spread
    cdef double _eta(self) noexcept nogil
    cdef double _ahead(self, double score, double played, double eta) noexcept nogil
