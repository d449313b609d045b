cimport cython
from wane.learners.base cimport Learner
from wane.learners.rule cimport erfi_rule
from wane.learners.hint cimport Hint

@cython.final
cdef class OddMagnitudeLearner(Learner):
    cdef readonly double epsilon
    cdef readonly Hint h
    cdef public double a, b, x
