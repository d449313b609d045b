cimport cython
from libc cimport math

@cython.locals(n=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, k=Py_ssize_t, m=Py_ssize_t, row=Py_ssize_t, other=Py_ssize_t, total=double)
cpdef int solve(const double[::1] gram, const double[::1] moment, double ridge, double[::1] factor, double[::1] out) except -1 nogil
