cimport cython
from wane.learners.base cimport VectorLearner
from wane.vectors cimport copy, finite

@cython.final
cdef class RegularizedGradientDescent(VectorLearner):
    cdef readonly double rate, kept
    cdef readonly object weight
    cdef readonly bint fixed
    cdef public double[::1] x
    cdef double[::1] next
