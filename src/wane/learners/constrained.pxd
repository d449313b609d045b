cimport cython
from wane.domains cimport Domain
from wane.learners.base cimport Learner, VectorLearner
from wane.vectors cimport copy, dot, norm

cdef double ROUNDING

@cython.final
cdef class Constrained(VectorLearner):
    cdef readonly Learner learner
    cdef readonly Domain domain
    cdef double[::1] free, x, g

@cython.locals(i=Py_ssize_t, length=double, along=double)
cpdef int surrogate(const double[::1] gradient, const double[::1] free, const double[::1] x, double[::1] out) noexcept nogil
