cimport cython
from libc cimport math
from wane.state.cells cimport Cells
from wane.state.stateful cimport Stateful

cdef Py_ssize_t BLOCK
cdef double INFINITY

@cython.final
cdef class OrderStatistics(Stateful):
    cdef double[::1] data, tops
    cdef Py_ssize_t[::1] order, counts, tree
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t blocks, slots, room
    @cython.locals(b=Py_ssize_t, start=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t)
    cpdef int insert(self, double x) except -1 nogil
    @cython.locals(b=Py_ssize_t, start=Py_ssize_t, i=Py_ssize_t, end=Py_ssize_t)
    cpdef int remove(self, double x) except -1 nogil
    @cython.locals(b=Py_ssize_t, step=Py_ssize_t)
    cpdef double select(self, Py_ssize_t k) except? -1.0 nogil
    @cython.locals(b=Py_ssize_t, start=Py_ssize_t)
    cpdef Py_ssize_t count_below(self, double x) noexcept nogil
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t, start=Py_ssize_t)
    cpdef Py_ssize_t count_at_most(self, double x) noexcept nogil
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _block(self, double x) noexcept nogil
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _below(self, Py_ssize_t start, Py_ssize_t count, double x) noexcept nogil
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _at_most(self, Py_ssize_t start, Py_ssize_t count, double x) noexcept nogil
    @cython.locals(count=Py_ssize_t)
    cdef Py_ssize_t _before(self, Py_ssize_t b) noexcept nogil
    @cython.locals(i=Py_ssize_t)
    cdef void _add(self, Py_ssize_t b, Py_ssize_t change) noexcept nogil
    @cython.locals(half=Py_ssize_t, old=Py_ssize_t, new=Py_ssize_t, i=Py_ssize_t)
    cdef void _split(self, Py_ssize_t b) noexcept nogil
    @cython.locals(old=Py_ssize_t, i=Py_ssize_t)
    cdef void _drop(self, Py_ssize_t b) noexcept nogil
    @cython.locals(n=Py_ssize_t, b=Py_ssize_t, start=Py_ssize_t, i=Py_ssize_t, x=double, last=double)
    cdef void _sorted(self, Cells cells) noexcept nogil
    @cython.locals(half=Py_ssize_t, b=Py_ssize_t)
    cdef void _lay_out(self, Py_ssize_t n) noexcept nogil
    @cython.locals(i=Py_ssize_t, j=Py_ssize_t)
    cdef void _plant(self) noexcept nogil
    cdef int _make_room(self) except -1 with gil
    cdef int _not_finite(self, double x) except -1 with gil
    cdef int _not_there(self, double x) except -1 with gil
    cdef int _no_rank(self, Py_ssize_t k) except -1 with gil
