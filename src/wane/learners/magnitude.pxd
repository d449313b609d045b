cimport cython
from wane.learners.base cimport Learner
from wane.learners.rule cimport erfi_rule
from wane.learners.hint cimport Hint

@cython.final
cdef class MagnitudeLearner(Learner):
    cdef readonly double epsilon
    cdef readonly Hint h
    cdef public double a, b, x
    @cython.locals(r=double, c=double)
    cdef int _ingest(self, double gradient, double size, Py_ssize_t exponent, double discount) noexcept nogil
