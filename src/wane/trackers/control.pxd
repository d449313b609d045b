cimport cython
from libc cimport math
from wane.checks cimport number, scalar
from wane.state.stateful cimport Stateful
from wane.trackers.base cimport Tracker
from wane.trackers.losses cimport missed

cdef double INFINITY, HALF_PI

@cython.final
cdef class Range(Stateful):
    cdef readonly Py_ssize_t window
    cdef public Py_ssize_t count
    cdef public double[::1] recent
    cdef public double high, low
    @cython.locals(place=Py_ssize_t, i=Py_ssize_t, leaving=double, full=bint)
    cdef int _push(self, double score) except -1 nogil

@cython.final
cdef class Trend(Stateful):
    cdef readonly double smoothing, drift
    cdef public Py_ssize_t seen
    cdef public double level, slope

@cython.final
cdef class Control(Tracker):
    cdef readonly double rate, gain, saturation
    cdef readonly Py_ssize_t window
    cdef readonly object scorecaster
    cdef readonly bint late, casting
    cdef public double q, total, before
    cdef readonly Range spread
    @cython.locals(x=double, angle=double)
    cdef double _integral(self) except? -1.0 nogil
    cdef double _forecast(self) except? -1.0 with gil
    cdef int _observe(self, double score) except -1 with gil
