cimport cython
from libc cimport math
from wane.trackers.room cimport Room, given
from wane.state.cells cimport Cells
from wane.state.stateful cimport Stateful
from wane.trackers.cholesky cimport solve
from wane.trackers.context cimport further, moment, output

cdef double STEADY, LONG, OUTLIER, QUIET, SHORTEST, FAINTEST, LEAST, REMEMBERED, RIDGE, SEASON_RATE, SURPRISE, FLOOR
cdef double RECENT, NEAR, TENTH, FURTHEST, HUGE
cdef Py_ssize_t EVERY

cdef class ScaleModel(Stateful):
    cdef public double scale
    cdef int _learn(self, double score) except -1 nogil
    cdef int _undefined(self) except -1 with gil

@cython.final
cdef class RecentScale(ScaleModel):
    cdef readonly double half_life
    cdef double kept, long_kept
    cdef public double short, short_weight, long, long_weight
    cdef int _take(self, double size) except -1 nogil

@cython.final
cdef class SteadyScale(ScaleModel):
    cdef double kept
    cdef public double total, weight, record
    cdef int _take(self, double size) except -1 nogil

@cython.final
cdef class LogScale(ScaleModel):
    cdef readonly object periods
    cdef readonly Py_ssize_t context
    cdef double[::1] kept, lengths, factor, given
    cdef readonly double[::1] x
    cdef double long_kept
    cdef Py_ssize_t size
    cdef readonly double middle, place, output
    cdef public Py_ssize_t rounds
    cdef public double mean, long, long_weight, near, level, recent_weight, last
    cdef public double[::1] averages, weights, seasons, w, gram, moment, levels
    @cython.locals(i=Py_ssize_t)
    cdef int _note(self, Cells cells) except -1 nogil
    cdef double _long(self) noexcept nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _look(self, const double[:, ::1] given, Py_ssize_t t) except -1 nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _look_at(self, double round) except -1 nogil
    @cython.locals(near=double, level=double, total=double, at=Py_ssize_t, start=Py_ssize_t, i=Py_ssize_t, now=Py_ssize_t, length=Py_ssize_t)
    cdef int _find(self) except -1 nogil
    @cython.locals(i=Py_ssize_t)
    cdef int _take(self, double size) except -1 nogil
    @cython.locals(y=double, rate=double, start=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, at=Py_ssize_t, then=Py_ssize_t, length=Py_ssize_t)
    cdef int _fit(self, double ratio) except -1 nogil

cpdef double relative(double value, double usual, double unit) noexcept nogil
