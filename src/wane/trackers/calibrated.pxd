cimport cython
from wane.learners.base cimport Learner
from wane.learners.odd cimport OddMagnitudeLearner
from wane.trackers.base cimport Tracker

cdef double NAN, CAP, LIMIT

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
    cdef public double mean, least, record, largest, total, late
    cdef public Py_ssize_t records
    cdef double _gradient(self, double radius, double score) noexcept nogil
    cdef double _scale(self) noexcept nogil
