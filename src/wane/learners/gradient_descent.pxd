cimport cython
from libc cimport math
from wane.domains cimport Domain
from wane.learners.base cimport VectorLearner
from wane.vectors cimport copy, finite

@cython.final
cdef class GradientDescent(VectorLearner):
    cdef readonly object rate, start, schedule, diameter
    cdef readonly double lipschitz, step
    cdef readonly bint horizon
    cdef readonly Domain domain
    cdef public double[::1] x
    cdef double[::1] next
    cdef public double H
