cimport cython
from wane.checks cimport discount_factor, number, scalar
from wane.state.stateful cimport Stateful

cdef double LIMIT, WIDEST, UNBOUNDED, UNKNOWN

@cython.final
cdef class Monitor(Stateful):
    cdef readonly double alpha, discount
    cdef readonly Py_ssize_t window
    cdef readonly object low, high, band
    cdef Py_ssize_t most_allowed, fewest_allowed
    cdef public Py_ssize_t rounds, misses, local_misses, most_local_misses, worst_round, current_misses
    cdef public Py_ssize_t longest_misses, bounded, unbounded, place
    cdef public double mean_width, coverage_error
    cdef public int side
    cdef public double[::1] missed, widths
    @cython.locals(place=Py_ssize_t, left=Py_ssize_t, alarm=int, side=int)
    cdef int _add(self, Py_ssize_t miss, double width, double discount) except -2 nogil
    @cython.locals(t=Py_ssize_t)
    cdef int _play(
        self, const signed char[::1] missed, const double[::1] widths, const double[::1] discounts,
        signed char[::1] alarms, double[::1] local
    ) except -1

@cython.locals(hit=double)
cdef Py_ssize_t miss_of(covered) except -1
