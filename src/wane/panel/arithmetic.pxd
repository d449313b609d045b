from libc cimport math

cdef int LIVES

cpdef int cut_life(double n) noexcept nogil

cpdef double clip(double x, double most) noexcept nogil

cpdef double whole(double x) noexcept nogil
