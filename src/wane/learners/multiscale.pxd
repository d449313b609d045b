cimport cython
from wane.domains cimport Domain
from wane.learners.base cimport Learner, VectorLearner
from wane.state.stateful cimport Stateful

@cython.final
cdef class Parts(Stateful):
    cdef readonly Learner learner
    cdef readonly Parts rest
    cdef double[::1] x
    @cython.locals(i=Py_ssize_t)
    cdef int _add(self, double[::1] out) except -1 nogil
    cdef int _learn(self, const double[::1] gradient, double discount) except -1 nogil

@cython.final
cdef class MultiscaleLearner(VectorLearner):
    cdef readonly double epsilon
    cdef readonly object discounts, center
    cdef readonly Domain domain
    cdef readonly Parts parts
    cdef bint wrapped
    cdef Learner player
