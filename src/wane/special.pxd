cimport cython
from libc cimport math

cdef double[300] TABLE
cdef double INFINITY

@cython.locals(y=double, t=double, scale=double, q=double, even=double, odd=double, i=int, k=int)
cpdef double dawson(double x) noexcept nogil

@cython.locals(q=double)
cpdef double erfi(double x) noexcept nogil
