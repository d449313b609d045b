cimport cython
from libc cimport math
from wane.learners.base cimport Learner
from wane.learners.odd cimport OddMagnitudeLearner
from wane.trackers.base cimport Tracker
from wane.trackers.scale_models cimport SteadyScale

cdef double NAN, CAP, LIMIT, TINY, ENDLESS

@cython.final
cdef class Given(Tracker):
    cdef double given

@cython.final
cdef class Calibrated(Tracker):
    cdef readonly Tracker base
    cdef readonly double epsilon
    cdef readonly object discounts
    cdef readonly OddMagnitudeLearner steady
    cdef readonly Learner quick
    cdef public double least, largest, total, late
    cdef readonly SteadyScale unit
    cdef public Py_ssize_t records
    cdef double _gradient(self, double radius, double score) noexcept nogil
    cdef double _scale(self) noexcept nogil
    cdef double _base(self) except? -1.0 nogil
    cdef int _remember(self, double score) except -1 nogil
