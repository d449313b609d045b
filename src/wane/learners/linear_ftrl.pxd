cimport cython
from wane.learners.base cimport VectorLearner
from wane.vectors cimport copy, within

@cython.final
cdef class LinearFTRL(VectorLearner):
    cdef readonly double rate
    cdef double limit
    cdef public double[::1] s
    cdef double[::1] next
