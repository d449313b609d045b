cimport cython
from wane.order_statistics cimport OrderStatistics
from wane.state.stateful cimport Stateful

cdef double SLACK, INFINITY

@cython.final
cdef class History(Stateful):
    cdef readonly object window
    cdef readonly OrderStatistics bag
    cdef Py_ssize_t length
    cdef public double[::1] ring
    cdef public Py_ssize_t place
    cpdef int push(self, double x) except -1 nogil

@cython.locals(k=Py_ssize_t)
cpdef Py_ssize_t ceiling(double x) noexcept nogil

cpdef double inverted_cdf(OrderStatistics bag, double q) except? -1.0 nogil

cpdef double higher(OrderStatistics bag, double q) except? -1.0 nogil

@cython.locals(k=Py_ssize_t, rank=double)
cpdef double finite_sample(OrderStatistics bag, double q) except? -1.0 nogil
