cimport cython
from libc cimport math

cdef double LOW, BIN, ENOUGH

cpdef int age_of(double n) noexcept nogil

cpdef int bin_of(double ratio, int bins) noexcept nogil

@cython.locals(j=int, total=double)
cpdef double add_aged(double[:, ::1] counts, double[:, ::1] new, int at, double age) noexcept nogil

@cython.locals(labels=double, distance=int, below=int, above=int, there=double, share=double)
cpdef double borrow(double[::1] totals, int age, double[::1] weights) noexcept nogil

@cython.locals(total=double, there=double, last=int, begin=int, end=int, i=int, j=int)
cpdef double log_quantile(double[:, ::1] counts, int first, double[::1] weights, double wanted) noexcept nogil
