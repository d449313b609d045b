cimport cython
from wane.learners.base cimport Learner, VectorLearner

@cython.final
cdef class Centered(VectorLearner):
    cdef readonly Learner learner
    cdef readonly object center
    cdef double[::1] middle
