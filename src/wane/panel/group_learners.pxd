cimport cython
from wane.trackers.group_table cimport learn_by, quick_by, said_by, skip_by, within
from wane.trackers.scale_models cimport SteadyScale

cdef double LIMIT, TINY, INFINITY, HALF, LEAST

@cython.final
cdef class GroupLearners:
    cdef readonly Py_ssize_t width, levels, sides, groups
    cdef readonly bint signed
    cdef readonly double epsilon
    cdef readonly double[::1] alphas
    cdef public double[:, ::1] table
    cdef public double[::1] won
    cdef double[::1] counts, missed, skipped
    cdef Py_ssize_t[::1] touched
    cdef Py_ssize_t many
    cdef SteadyScale unit
    @cython.locals(i=Py_ssize_t, last=Py_ssize_t)
    cpdef int play(
        self, const Py_ssize_t[::1] places, const Py_ssize_t[:, ::1] members, const double[::1] below,
        const double[::1] above, const double[:, ::1] base, const double[::1] floors, double[:, ::1] units,
        double[:, ::1] radii, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] order, const Py_ssize_t[::1] due
    ) except -1
    @cython.locals(k=Py_ssize_t, t=Py_ssize_t)
    cpdef int learn(
        self, const Py_ssize_t[::1] places, const Py_ssize_t[:, ::1] members, const double[::1] below,
        const double[::1] above, const double[:, ::1] radii, double[:, ::1] units, const Py_ssize_t[::1] order,
        Py_ssize_t first, Py_ssize_t last
    ) except -1 nogil
    @cython.locals(t=Py_ssize_t)
    cpdef int predict(
        self, const Py_ssize_t[::1] places, const Py_ssize_t[:, ::1] members, const double[:, ::1] base,
        const double[::1] floors, const double[:, ::1] units, double[:, ::1] radii, Py_ssize_t first, Py_ssize_t last
    ) except -1 nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _count(self, const Py_ssize_t[:, ::1] members, Py_ssize_t t) noexcept nogil
    cdef int _count_group(self, Py_ssize_t j) noexcept nogil
    @cython.locals(c=Py_ssize_t, s=Py_ssize_t, i=Py_ssize_t, score=double, record=double, miss=double, skipped=double)
    cdef int _judge(
        self, const Py_ssize_t[:, ::1] members, Py_ssize_t t, Py_ssize_t place, double below, double above,
        const double[:, ::1] radii, const double[:, ::1] units
    ) noexcept nogil
    cdef int _judge_group(self, Py_ssize_t row, double miss, double skipped) noexcept nogil
    @cython.locals(k=Py_ssize_t, c=Py_ssize_t, j=Py_ssize_t)
    cdef int _close_batch(self) noexcept nogil
    @cython.locals(won=double)
    cdef int _close_group(self, Py_ssize_t row, Py_ssize_t c, double labels) noexcept nogil
    @cython.locals(at=Py_ssize_t)
    cdef int _take_score(self, Py_ssize_t place, Py_ssize_t side, double score, double[:, ::1] units) except -1 nogil
    @cython.locals(c=Py_ssize_t, s=Py_ssize_t, below=double, above=double, lowest=double, other=double)
    cdef int _play(
        self, const Py_ssize_t[:, ::1] members, Py_ssize_t t, Py_ssize_t place, const double[:, ::1] base, double floor,
        const double[:, ::1] units, double[:, ::1] radii
    ) noexcept nogil
    @cython.locals(i=Py_ssize_t, row=Py_ssize_t, x=double, y=double, radius=double)
    cdef double _own(
        self, const Py_ssize_t[:, ::1] members, Py_ssize_t t, Py_ssize_t c, double base, double scale, double record
    ) noexcept nogil
