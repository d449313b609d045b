cimport cython
from libc cimport math
from wane.learners.rule cimport erfi_rule

cdef Py_ssize_t LABELS, MISSES, SUM, SQUARES, SKIPPED, HINT, THETA, WEIGHT
cdef double REACH, SHARED, START, LONGEST, STEP

@cython.locals(h=double, x=double)
cpdef double said_by(const double[:, ::1] table, Py_ssize_t j, double alpha, double epsilon) noexcept nogil

@cython.locals(h=double, gradient=double, cut=double, won=double)
cpdef double learn_by(double[:, ::1] table, Py_ssize_t j, double alpha, double epsilon, double learned, double misses) noexcept nogil

@cython.locals(count=double, rate=double, step=double)
cpdef int estimate_by(double[:, ::1] table, Py_ssize_t j, double alpha, double learned, double misses) noexcept nogil
cpdef double within(double quick) noexcept nogil
cpdef double quick_by(const double[:, ::1] table, Py_ssize_t j) noexcept nogil

cpdef int skip_by(double[:, ::1] table, Py_ssize_t j) noexcept nogil
