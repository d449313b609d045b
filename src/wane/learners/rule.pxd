cimport cython
from libc cimport math
from wane.special cimport dawson

cdef double CAP, STEEP

@cython.locals(root=double, z=double)
cpdef double erfi_rule(double a, double b) noexcept nogil

cpdef double capped_exp(double x, double factor=*) noexcept nogil

@cython.locals(z=double)
cpdef double simple_erfi_rule(double a, double b) noexcept nogil

@cython.locals(hint=double, total=double, squares=double, x=double)
cpdef double rule_of_misses(double alpha, double rounds, double misses) noexcept nogil
