cimport cython
from libc cimport math

cdef double UP, DOWN, LOW

@cython.locals(i=Py_ssize_t, n=Py_ssize_t, a=double, b=double, c=double, d=double)
cpdef double dot(const double[::1] x, const double[::1] y) noexcept nogil

@cython.locals(q=double)
cpdef double norm(const double[::1] x) noexcept nogil

@cython.locals(i=Py_ssize_t, size=double, first=double, second=double)
cpdef int lift(const double[::1] x, double[::1] out) noexcept nogil

@cython.locals(i=Py_ssize_t, largest=double, q=double, t=double)
cpdef double distance(const double[::1] x, const double[::1] y) noexcept nogil

@cython.locals(i=Py_ssize_t, n=Py_ssize_t, a=double, b=double, c=double, d=double, t=double)
cdef double scaled_squares(const double[::1] x, double up, double again) noexcept nogil

@cython.locals(i=Py_ssize_t)
cpdef bint nonzero(const double[::1] x) noexcept nogil

@cython.locals(i=Py_ssize_t)
cpdef bint finite(const double[::1] x) noexcept nogil

@cython.locals(i=Py_ssize_t)
cpdef bint within(const double[::1] x, double limit) noexcept nogil

@cython.locals(i=Py_ssize_t)
cpdef int copy(const double[::1] x, double[::1] out) noexcept nogil

@cython.locals(i=int, j=int, k=int, back=int, total=double)
cpdef void solve_in_place(double[:, ::1] g, double[::1] x) noexcept nogil
