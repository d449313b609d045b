cimport cython

@cython.locals(s=Py_ssize_t, t=Py_ssize_t, labels=Py_ssize_t, moment=longlong)
cpdef int find_beginnings(
    const Py_ssize_t[::1] bounds, const Py_ssize_t[::1] news, const long long[::1] pos, const long long[::1] ends,
    const double[::1] below, long long lag, Py_ssize_t need, unsigned char[::1] warm, Py_ssize_t[::1] begins
) except -1
