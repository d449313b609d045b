cimport cython
from wane.learners.base cimport Learner
from wane.learners.hint cimport Hint
from wane.trackers.base cimport Tracker
from wane.trackers.losses cimport Loss

cdef double TOLERATED, LONGEST

@cython.final
cdef class LossTracker(Tracker):
    cdef readonly Learner learner
    cdef readonly Loss loss
    cdef Hint hint
    cdef readonly object auto_epsilon
    cdef public double waiting, total, late, sums, warned_of_reach, warned_of_bias
    cdef readonly double reach
    cdef double patience
    cdef bint loss_remembers
    cdef int _judge_bias(self) except -1 nogil
    cdef int _too_steep(self, double gradient) except -1 with gil
    cdef int _needs_warm_start(self) except -1 with gil
    cdef int _warn_of_reach(self, double score) except -1 with gil
    cdef int _warn_of_bias(self) except -1 with gil
    @cython.locals(kept=double)
    cdef int _add(self, double gradient) except -1 nogil
