cimport cython
from libc cimport math
from wane.learners.base cimport VectorLearner
from wane.learners.rule cimport capped_exp
from wane.vectors cimport copy, dot, finite

@cython.final
cdef class ExponentialPotential(VectorLearner):
    cdef readonly double epsilon, lipschitz, constant
    cdef public double[::1] s
    cdef double[::1] next
    cdef public double b
