cimport cython
from libc cimport math

cdef double NEAREST, FURTHEST

@cython.locals(left=double)
cpdef double bent(double score, double ceiling) noexcept nogil
@cython.locals(share=double)
cpdef double straight(double radius, double ceiling) noexcept nogil
