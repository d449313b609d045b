cimport cython
from wane.domains cimport Domain
from wane.learners.base cimport Learner, VectorLearner
from wane.learners.magnitude cimport MagnitudeLearner
from wane.state.stateful cimport Stateful
from wane.vectors cimport dot, finite, lift, norm

cdef double HIGH, DOWN

@cython.final
cdef class Experts(Stateful):
    cdef readonly Learner free, learner
    cdef readonly MagnitudeLearner bet
    cdef readonly Experts rest
    cdef double[::1] x
    cdef double _stake(self) except? -1.0 nogil
    @cython.locals(i=Py_ssize_t, p=double)
    cdef int _mix(self, double[::1] out, double total, double share) except -1 nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _judge(
        self, Py_ssize_t k, const double[::1] gradient, const double[::1] mixture, double[::1] regrets
    ) except -1 nogil
    @cython.locals(d=double)
    cdef int _advance(
        self, Py_ssize_t k, const double[::1] regrets, double size, Py_ssize_t exponent,
        const double[::1] gradients, Py_ssize_t stride, double discount
    ) except -1 nogil

@cython.final
cdef class DiscountHedge(VectorLearner):
    cdef readonly double epsilon
    cdef readonly object discounts, center
    cdef readonly Domain domain
    cdef readonly Experts experts
    cdef double share
    cdef double[::1] x, g, regrets
    @cython.locals(k=Py_ssize_t, size=double)
    cdef int _settle(
        self, Py_ssize_t exponent, const double[::1] gradients, Py_ssize_t stride, double discount
    ) except -1 nogil

@cython.locals(i=Py_ssize_t, k=Py_ssize_t)
cpdef Py_ssize_t scaled(const double[::1] x, double[::1] out) noexcept nogil
