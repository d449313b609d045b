cimport cython
from libc cimport math

cdef int LIVES
cdef double PRIOR, PRIOR_LOW

cpdef int cut_life(double n) noexcept nogil

cpdef double clip(double x, double most) noexcept nogil

cpdef double whole(double x) noexcept nogil

@cython.locals(trust=double)
cpdef double scale_of(double prior, double total, double weight) noexcept nogil
