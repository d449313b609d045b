cimport cython

cdef int LIVES
cdef double PRIOR, PRIOR_LOW

cpdef int cut_life(double n) noexcept nogil

@cython.locals(trust=double)
cpdef double scale_of(double prior, double total, double weight) noexcept nogil
