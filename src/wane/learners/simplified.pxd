cimport cython
from libc cimport math
from wane.learners.base cimport Learner
from wane.learners.rule cimport simple_erfi_rule
from wane.learners.hint cimport Hint

@cython.final
cdef class SimplifiedMagnitudeLearner(Learner):
    cdef readonly double epsilon, initial_variance
    cdef readonly Hint h
    cdef public double a, b, x
