cimport cython
from libc cimport math
from wane.domains cimport Domain
from wane.learners.base cimport VectorLearner
from wane.learners.hint cimport Hint
from wane.vectors cimport copy, lift, norm

@cython.final
cdef class AdaGrad(VectorLearner):
    cdef readonly double diameter
    cdef readonly object start
    cdef readonly Domain domain
    cdef readonly Hint h
    cdef Hint trial
    cdef public double b
    cdef public double[::1] x
    cdef double[::1] next
    @cython.locals(size=double, r=double, c=double, b=double, rate=double)
    cdef int _ingest(self, const double[::1] gradient, double factor, Py_ssize_t exponent, double discount) except -1 nogil
