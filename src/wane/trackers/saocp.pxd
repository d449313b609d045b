cimport cython
from libc cimport math
from wane.trackers.base cimport Tracker

cdef double CAP

@cython.final
cdef class SAOCP(Tracker):
    cdef readonly double max_score
    cdef readonly Py_ssize_t lifetime, room
    cdef public double radius
    cdef public Py_ssize_t alive
    cdef public double[::1] born, life, prior, x, v, z, y, w
    @cython.locals(
        i=Py_ssize_t, total=double, mixture=double, x="double[::1]", w="double[::1]", prior="double[::1]"
    )
    cdef double _mixture(self) noexcept nogil
    @cython.locals(
        i=Py_ssize_t, kept=Py_ssize_t, born="double[::1]", life="double[::1]", prior="double[::1]",
        x="double[::1]", v="double[::1]", z="double[::1]", y="double[::1]", w="double[::1]"
    )
    cdef void _bury(self) noexcept nogil
    @cython.locals(i=Py_ssize_t, power=Py_ssize_t, digits=Py_ssize_t)
    cdef void _bear(self, Py_ssize_t t) noexcept nogil
    @cython.locals(
        i=Py_ssize_t, unit=double, rate=double, g=double, slope=double, moved=double, born="double[::1]",
        x="double[::1]", v="double[::1]", z="double[::1]", y="double[::1]", w="double[::1]"
    )
    cdef void _teach(self, double score, double loss) noexcept nogil
    cdef double _loss(self, double radius, double score) noexcept nogil
    cdef double _slope(self, double radius, double score) noexcept nogil
