cimport cython
from wane.learners.base cimport Learner
from wane.learners.magnitude cimport MagnitudeLearner
from wane.learners.scale cimport Scale
from wane.trackers.base cimport Tracker
from wane.trackers.losses cimport Loss

@cython.final
cdef class LossTracker(Tracker):
    cdef readonly Learner learner
    cdef readonly Loss loss
    cdef MagnitudeLearner magnitude
    cdef public double total, late
    @cython.locals(kept=double)
    cdef int _add(self, double gradient) except -1 nogil
