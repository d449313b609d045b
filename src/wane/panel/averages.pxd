cdef int LIVES

cpdef int cut_life(double n) noexcept nogil
