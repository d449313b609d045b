cimport cython
from wane.covered cimport covers, holds
from wane.state.cells cimport Cells
from wane.trackers.base cimport Tracker
from wane.trackers.context cimport fill, put_further

cdef double INFINITY, NAN

@cython.final
cdef class Level:
    cdef Tracker tracker
    cdef Level wider
    cdef int _play(
        self, double floor, double[:, ::1] radii, Py_ssize_t t, double[:, ::1] own, Py_ssize_t u, Py_ssize_t column
    ) except -1 nogil
    cdef int _foresee(self, const double[:, ::1] given, Py_ssize_t t) except -1 nogil
    cdef int _note(self, Cells cells) except -1 nogil
    cdef int _own(self, double[:, ::1] own, Py_ssize_t u, Py_ssize_t column) except -1 nogil
    cdef void _fields(self, Cells cells) noexcept nogil
    cdef int _warm(self, double score) except -1 nogil
    cdef int _ready(self, double score) except -1 nogil
    cdef int _learn(
        self, double score, double[:, ::1] radii, Py_ssize_t t, Py_ssize_t column, double discount
    ) except -1 nogil

@cython.final
cdef class Levels:
    cdef readonly list trackers
    cdef readonly Py_ssize_t count
    cdef Level first, second
    cdef double[:, ::1] radii, own, kept, given, slip
    cdef readonly Py_ssize_t noted, context
    cdef Cells cells
    cdef readonly bint alone
    cdef readonly bint fragile
    @cython.locals(c=Py_ssize_t)
    cpdef tuple predict(self, double floor)
    @cython.locals(i=Py_ssize_t)
    cpdef foresee(self, double moment, double floor, double ceiling, double output, tuple context)
    @cython.locals(i=Py_ssize_t)
    cpdef tuple note(self)
    @cython.locals(radius=double)
    cpdef bint bounded(self, tuple radii)
    @cython.locals(tracker=Tracker)
    cpdef bint cold(self)
    cpdef Py_ssize_t rounds(self)
    cpdef bint untaught(self)
    cpdef tuple own_radii(self)
    cpdef tuple update(self, double lower, double upper, tuple radii, double discount, tuple note=*)
    @cython.locals(c=Py_ssize_t, i=Py_ssize_t)
    cpdef tuple teach(self, double lower, double upper, tuple radii, double discount, tuple note=*)
    @cython.locals(radius=double)
    cdef double _play_one(self, double floor) except? -1.0 nogil
    cdef int _learn_one(self, double score, double radius, double discount) except -1 nogil
    @cython.locals(below=double, above=double, lower=double, upper=double)
    cdef int _play(self, double floor, double[:, ::1] radii, Py_ssize_t t, double[:, ::1] own, Py_ssize_t u) except -1 nogil
    cdef int _foresee(self, const double[:, ::1] given, Py_ssize_t t) except -1 nogil
    cdef int _write_note(self, double[:, ::1] notes, Py_ssize_t i) except -1 nogil
    cdef int _read_note(self, const double[:, ::1] notes, Py_ssize_t i) except -1 nogil
    cdef int _note(self, Cells cells) except -1 nogil
    cdef int _own(self, double[:, ::1] own, Py_ssize_t u) except -1 nogil
    cdef void _write(self, double[:, ::1] rows, Py_ssize_t i) noexcept nogil
    cdef void _read(self, const double[:, ::1] rows, Py_ssize_t i) noexcept nogil
    cdef void _fields(self, Cells cells) noexcept nogil
    cdef int _warm(self, double lower, double upper) except -1 nogil
    cdef int _learn(self, double lower, double upper, double[:, ::1] radii, Py_ssize_t t, double discount) except -1 nogil

cpdef tuple in_order(tuple values, tuple columns)

cpdef tuple covered_in_order(score, tuple radii, tuple columns, tuple closed)
