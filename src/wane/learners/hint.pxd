cimport cython
from libc cimport math
from wane.state.cells cimport Cells

cdef double UP, DOWN, HIGH, LOW

@cython.final
cdef class Hint:
    cdef public double mantissa
    cdef public Py_ssize_t exponent
    cdef readonly double shrink
    cdef readonly Py_ssize_t shrink_exponent
    cdef void _fields(self, Cells cells) noexcept nogil
    cpdef int assign(self, Hint other) noexcept nogil
    @cython.locals(m=double, e=Py_ssize_t)
    cpdef double grow(self, double discount, double size, Py_ssize_t exponent=*) noexcept nogil
    @cython.locals(e=Py_ssize_t)
    cpdef double divide(self, double x, Py_ssize_t exponent=*) noexcept nogil
    @cython.locals(i=Py_ssize_t, e=Py_ssize_t, first=double, second=double)
    cpdef int descend(
        self, const double[::1] x, double rate, const double[::1] gradient, double factor, Py_ssize_t exponent, double[::1] out
    ) noexcept nogil
