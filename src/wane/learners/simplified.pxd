cimport cython
from libc cimport math
from wane.learners.base cimport Learner
from wane.learners.rule cimport simple_erfi_rule
from wane.learners.scale cimport Scale

@cython.final
cdef class SimplifiedMagnitudeLearner(Learner):
    cdef readonly double epsilon, initial_variance
    cdef readonly Scale h
    cdef public double a, b, x
