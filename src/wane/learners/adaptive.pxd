cimport cython
from wane.domains cimport Domain
from wane.learners.adagrad cimport AdaGrad
from wane.learners.base cimport VectorLearner
from wane.learners.constrained cimport surrogate
from wane.learners.magnitude cimport MagnitudeLearner
from wane.learners.hint cimport Hint
from wane.vectors cimport copy, dot, lift, norm

@cython.final
cdef class AdaptiveLearner(VectorLearner):
    cdef readonly double epsilon
    cdef readonly object center
    cdef readonly Domain domain
    cdef readonly MagnitudeLearner magnitude
    cdef readonly AdaGrad direction
    cdef Hint h
    cdef double[::1] middle, w, free, x, g
    @cython.locals(i=Py_ssize_t, y=double)
    cdef int _unprojected(self, double[::1] out) except -1 nogil
    cdef int _ingest(self, Py_ssize_t exponent, double discount) except -1 nogil
