cimport cython
from libc cimport math
from wane.state.stateful cimport Stateful

cdef double STEADY, LONG, OUTLIER, QUIET, SHORTEST, FAINTEST, LEAST, REMEMBERED, RIDGE, SEASON_RATE, SURPRISE, FLOOR
cdef Py_ssize_t EVERY

cdef class ScaleModel(Stateful):
    cdef public double scale
    cdef int _learn(self, double score) except -1 nogil
    cdef int _undefined(self) except -1 with gil

@cython.final
cdef class NoScale(ScaleModel):
    pass

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
    cdef Py_ssize_t[::1] lengths
    cdef double[::1] kept, factor
    cdef double long_kept
    cdef Py_ssize_t size
    cdef public Py_ssize_t rounds
    cdef public double mean, long, long_weight
    cdef public double[::1] averages, weights, seasons, x, w, gram, moment
    @cython.locals(i=Py_ssize_t)
    cdef int _take(self, double size) except -1 nogil
    cdef double _long(self) noexcept nogil
    @cython.locals(middle=double, total=double, at=Py_ssize_t, start=Py_ssize_t, i=Py_ssize_t)
    cdef int _look(self) except -1 nogil
    @cython.locals(y=double, rate=double, start=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t)
    cdef int _fit(self, double ratio) except -1 nogil

@cython.locals(n=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, k=Py_ssize_t, m=Py_ssize_t, total=double)
cpdef int solve(const double[::1] gram, const double[::1] moment, double ridge, double[::1] factor, double[::1] out) except -1 nogil
