from wane.checks cimport discount_factor, number, scalar
from wane.state.cells cimport Cells
from wane.state.stateful cimport Stateful

cdef class Tracker(Stateful):
    cdef public double miss
    cdef readonly object domain, on_missing, tie
    cdef readonly double at_tie
    cdef readonly bint signed
    cdef public Py_ssize_t rounds
    cdef int _foresee(self, const double[:, ::1] given, Py_ssize_t t) except -1 nogil
    cdef int _note(self, Cells cells) except -1 nogil
    cdef int _ready(self, double score) except -1 nogil
    cdef int _ingest(self, double score, double radius, double discount) except -1 nogil
    cdef double _predict(self) except? -1.0 nogil
    cdef int _update(self, double score, double radius, double discount) except -1 nogil

cdef double predict_in_python(Tracker tracker) except? -1.0 with gil
cdef int update_in_python(Tracker tracker, double score, double radius, double discount) except -1 with gil
