cimport cython
from wane.learners.base cimport VectorLearner
from wane.vectors cimport copy, finite

@cython.final
cdef class LinearFTRL(VectorLearner):
    cdef readonly double rate
    cdef public double[::1] s
    cdef double[::1] next
