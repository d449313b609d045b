cimport cython
from wane.trackers.room cimport Room, given
from wane.state.stateful cimport Stateful

cdef double LARGEST

@cython.final
cdef class Mixture(Stateful):
    cdef readonly Py_ssize_t size
    cdef readonly double discount
    cdef public double[::1] regrets, squares
    @cython.locals(k=Py_ssize_t)
    cdef int _trust(self, Py_ssize_t first, double rounds) noexcept nogil
    cdef double _weight(self, Py_ssize_t k) noexcept nogil
    @cython.locals(k=Py_ssize_t, total=double, weight=double, plain=double, w=double)
    cdef double _mix(self, const double[::1] radii) noexcept nogil
    @cython.locals(k=Py_ssize_t, regret=double)
    cdef int _learn(self, const double[::1] radii, double mixed, double gradient, double unit) noexcept nogil
