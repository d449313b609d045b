cimport cython
from wane.state.stateful cimport Stateful

cdef class Loss(Stateful):
    cdef public double alpha
    cdef double _gradient(self, double radius, double score) except? -1.0 nogil

cpdef double missed(double score, double radius, double at_tie, double alpha) noexcept nogil

cdef double gradient_in_python(Loss loss, double radius, double score) except? -1.0 with gil

@cython.final
cdef class Pinball(Loss):
    cdef readonly object tie
    cdef double at_tie

@cython.final
cdef class SkewedQuadratic(Loss):
    pass

@cython.final
cdef class UserLoss(Loss):
    cdef readonly object subgradient
