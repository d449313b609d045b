cimport cython

@cython.final
cdef class Room:
    cdef double[::1] numbers
    cdef Py_ssize_t taken
    cpdef double[::1] cut(self, Py_ssize_t size)

cpdef Room given(object room, Py_ssize_t size)
