cimport cython
from wane.learners.base cimport Learner
from wane.learners.rule cimport erfi_rule
from wane.learners.scale cimport Scale

@cython.final
cdef class OddMagnitudeLearner(Learner):
    cdef readonly double epsilon
    cdef readonly Scale h
    cdef public double a, b, x
