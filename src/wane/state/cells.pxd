cimport cython

# What Cells does, once more in C: these few lines are part of whoever calls them, or a tick of a panel would wait for them.

@cython.final
cdef class Cells:
    cdef double* cell  # the next one
    cdef bint writing
    cdef readonly bint reading, fixed
    cdef readonly Py_ssize_t at

    cdef inline double number(self, double value) noexcept nogil:
        cdef double* cell = self.cell
        self.cell = cell + 1
        if self.reading:
            return cell[0]
        if self.writing:
            cell[0] = value
        else:
            self.at = self.at + 1
        return value

    cdef inline Py_ssize_t whole(self, Py_ssize_t value) noexcept nogil:
        return <Py_ssize_t> self.number(<double> value)

    cdef inline void vector(self, double[::1] values) noexcept nogil:
        cdef double* cell = self.cell
        cdef Py_ssize_t i, n = values.shape[0]
        self.cell = cell + n
        if self.reading:
            for i in range(n):
                values[i] = cell[i]
        elif self.writing:
            for i in range(n):
                cell[i] = values[i]
        else:
            self.at = self.at + n

    cdef inline void vary(self) noexcept nogil:
        self.fixed = False

    cdef inline void _read(self, const double[:, ::1] rows, Py_ssize_t i) noexcept nogil:
        self.cell = <double*> &rows[i, 0]
        self.reading = True
        self.writing = False

    cdef inline void _write(self, double[:, ::1] rows, Py_ssize_t i) noexcept nogil:
        self.cell = &rows[i, 0]
        self.reading = False
        self.writing = True
