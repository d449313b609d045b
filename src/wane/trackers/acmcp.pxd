cimport cython
from libc cimport math
from wane.state.cells cimport Cells
from wane.trackers.base cimport Tracker
from wane.trackers.context cimport further
from wane.trackers.control cimport Range
from wane.trackers.losses cimport missed

cdef double INFINITY, HALF_PI

@cython.final
cdef class StepControl(Tracker):
    cdef readonly object side, gain
    cdef readonly double rate, saturation
    cdef readonly Py_ssize_t window
    cdef double sign, unit, forecast
    cdef public double q, total, largest
    cdef readonly Range spread
    @cython.locals(angle=double)
    cdef double _integral(self) except? -1.0 nogil
