cimport cython
from libc cimport math
from wane.checks cimport scalar
from wane.trackers.base cimport Tracker

cdef double TINY

@cython.final
cdef class Bayes(Tracker):
    cdef readonly double max_score, discount
    cdef readonly Py_ssize_t cells
    cdef readonly bint published
    cdef double steady
    cdef public double[::1] counts
    cdef public double n
    @cython.locals(i=Py_ssize_t, weight=double, each=double, scale=double, wanted=double, mass=double)
    cdef Py_ssize_t _cell(self) noexcept nogil
    @cython.locals(i=Py_ssize_t, low=double, share=double, place=Py_ssize_t)
    cdef int _count(self, double score, double discount) except -1 nogil
