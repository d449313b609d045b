cdef class Stateful:
    cdef Py_ssize_t _write(self, double[:, ::1] rows, Py_ssize_t i, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t _read(self, const double[:, ::1] rows, Py_ssize_t i, Py_ssize_t at) noexcept nogil
