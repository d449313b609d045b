cimport cython
from libc cimport math
from wane.special cimport dawson

cdef double CAP, STEEP

@cython.locals(root=double, z=double)
cpdef double erfi_rule(double a, double b) noexcept nogil

cpdef double capped_exp(double x, double factor=*) noexcept nogil

@cython.locals(z=double)
cpdef double simple_erfi_rule(double a, double b) noexcept nogil
