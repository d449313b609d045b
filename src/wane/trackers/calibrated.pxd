cimport cython
from libc cimport math
from wane.trackers.room cimport Room
from wane.learners.rule cimport erfi_rule
from wane.trackers.base cimport Tracker
from wane.trackers.bend cimport bent, straight
from wane.trackers.context cimport ceiling, floor
from wane.trackers.scale_models cimport SteadyScale

cdef double NAN, CAP, LIMIT, TINY, USUAL, ENDLESS
cdef Py_ssize_t UNKNOWN

@cython.final
cdef class Given(Tracker):
    cdef double given

@cython.final
cdef class Calibrated(Tracker):
    cdef readonly Tracker base
    cdef readonly double epsilon, share, damping
    cdef readonly object discounts
    cdef readonly Py_ssize_t steady
    cdef double[::1] kept
    cdef public double[::1] sums, squares
    cdef public double hint, usual, widest, least, reach, total, lifted
    cdef public Py_ssize_t latest, records
    cdef readonly SteadyScale unit
    cdef bint aware, recalled
    cdef Py_ssize_t looked
    cdef readonly double made, under, ceiling, middle, scale, record, radius
    @cython.locals(radius=double)
    cdef int _look(self, double under, double ceiling) except -1 nogil
    @cython.locals(base=double)
    cdef double _base(self) except? -1.0 nogil
    @cython.locals(k=Py_ssize_t, total=double)
    cdef double _quick(self) noexcept nogil
    @cython.locals(h=double, x=double)
    cdef double _learner(self, Py_ssize_t k) noexcept nogil
    @cython.locals(rate=double)
    cdef int _remember(self, double score, double late) except -1 nogil
