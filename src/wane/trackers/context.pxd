cdef Py_ssize_t FIXED
cdef double INFINITY

cpdef int fill(double[:, ::1] given, Py_ssize_t t, double moment, double floor, double ceiling, double output) noexcept nogil
cpdef int put_further(double[:, ::1] given, Py_ssize_t t, Py_ssize_t i, double value) noexcept nogil
cpdef double moment(const double[:, ::1] given, Py_ssize_t t) noexcept nogil
cpdef double floor(const double[:, ::1] given, Py_ssize_t t) noexcept nogil
cpdef double ceiling(const double[:, ::1] given, Py_ssize_t t) noexcept nogil
cpdef double output(const double[:, ::1] given, Py_ssize_t t) noexcept nogil
cpdef double further(const double[:, ::1] given, Py_ssize_t t, Py_ssize_t i) noexcept nogil
