cpdef double[::1] room(Py_ssize_t size)
