cimport cython
from wane.learners.base cimport Learner, VectorLearner
from wane.vectors cimport norm

@cython.final
cdef class Rescaled(VectorLearner):
    cdef readonly Learner learner
    cdef public double weight
    cdef double[::1] g
    cdef int _exhausted(self, double weight, double size) except -1 with gil
