cimport cython
from libc cimport math
from wane.trackers.room cimport Room, given
from wane.state.stateful cimport Stateful

cdef Py_ssize_t BINS, GROUP
cdef double SHARP, STEP, KEPT, LARGE, SMALL

@cython.final
cdef class Histogram(Stateful):
    cdef readonly bint signed
    cdef Py_ssize_t count, middle
    cdef public double[::1] bins, sums
    cdef public double weight, total
    @cython.locals(size=double)
    cdef double _place(self, double ratio) noexcept nogil
    @cython.locals(size=double)
    cdef double _ratio(self, double place) noexcept nogil
    @cython.locals(i=Py_ssize_t, j=Py_ssize_t)
    cdef int _add(self, double ratio) noexcept nogil
    @cython.locals(place=double, below=double, i=Py_ssize_t, j=Py_ssize_t)
    cdef double _above(self, double ratio) noexcept nogil
    @cython.locals(wanted=double, below=double, i=Py_ssize_t, j=Py_ssize_t, top=Py_ssize_t)
    cdef double _quantile(self, double q) noexcept nogil
