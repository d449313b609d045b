cimport cython
from wane.vectors cimport copy, distance, dot, norm, within

cdef class Domain:
    cdef int _project(self, double[::1] x) except -1 nogil

cdef int project_in_python(Domain domain, double[::1] x) except -1 with gil

@cython.final
cdef class Ball(Domain):
    cdef readonly double radius
    cdef readonly object center
    cdef readonly double[::1] middle

@cython.final
cdef class Box(Domain):
    cdef readonly object lower, upper
    cdef readonly double[::1] low, high
    cdef readonly bint everywhere

@cython.final
cdef class Nonnegative(Domain):
    pass

@cython.final
cdef class HalfSpace(Domain):
    cdef readonly object normal
    cdef readonly double offset, reach
    cdef readonly double[::1] unit

@cython.final
cdef class Simplex(Domain):
    cdef readonly double total

cdef class Custom(Domain):
    cdef readonly object object
