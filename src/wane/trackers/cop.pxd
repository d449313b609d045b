cimport cython
from libc cimport math
from wane.checks cimport scalar
from wane.trackers.range_descent cimport RangeDescent

@cython.final
cdef class OptimisticConformal(RangeDescent):
    cdef readonly double strength
    @cython.locals(below=Py_ssize_t, i=Py_ssize_t)
    cdef double _share_below(self, double q) noexcept nogil
