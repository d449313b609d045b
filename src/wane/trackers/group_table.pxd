cimport cython
from wane.learners.rule cimport erfi_rule

cdef Py_ssize_t LABELS, MISSES, SUM, SQUARES, SKIPPED, HINT

@cython.locals(h=double, x=double)
cpdef double said_by(const double[:, ::1] table, Py_ssize_t j, double alpha, double epsilon) noexcept nogil

@cython.locals(h=double, gradient=double, cut=double, won=double)
cpdef double learn_by(double[:, ::1] table, Py_ssize_t j, double alpha, double epsilon, double learned, double misses) noexcept nogil

cpdef int skip_by(double[:, ::1] table, Py_ssize_t j) noexcept nogil
