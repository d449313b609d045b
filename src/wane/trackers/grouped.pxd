cimport cython
from libc cimport math
from wane.state.cells cimport Cells
from wane.trackers.base cimport Tracker
from wane.trackers.context cimport further
from wane.trackers.group_table cimport learn_by, quick_by, said_by, skip_by, within
from wane.trackers.scale_models cimport SteadyScale

cdef double NAN, LIMIT, TINY

@cython.final
cdef class Grouped(Tracker):
    cdef readonly Tracker base
    cdef readonly double epsilon
    cdef public object groups
    cdef readonly Py_ssize_t kinds
    cdef Py_ssize_t heard
    cdef readonly SteadyScale unit
    cdef public double[:, ::1] table
    cdef double[::1] members
    cdef public double won, changed
    @cython.locals(i=Py_ssize_t)
    cdef int _hear(self, const double[:, ::1] given, Py_ssize_t t) noexcept nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _forget_round(self) noexcept nogil
    @cython.locals(i=Py_ssize_t, j=Py_ssize_t, total=double, quick=double)
    cdef double _said(self) noexcept nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _learn_groups(self, double miss, double skipped) noexcept nogil
    cdef int _learn_group(self, Py_ssize_t j, double miss, double skipped) noexcept nogil
