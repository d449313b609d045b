cimport cython
from wane.panel.pool cimport Pool

@cython.locals(t=Py_ssize_t, k=Py_ssize_t, last=Py_ssize_t)
cpdef int group_rows(const Py_ssize_t[::1] keys, Py_ssize_t[::1] starts, Py_ssize_t[::1] order) except -1

@cython.locals(t=Py_ssize_t, k=Py_ssize_t)
cpdef int predict_rows(
    Pool pool, double[:, ::1] states, const Py_ssize_t[::1] places, const double[::1] sizes,
    const Py_ssize_t[::1] rows, Py_ssize_t first, Py_ssize_t last, double[:, ::1] radii, int column,
    double[:, ::1] notes, const Py_ssize_t[::1] slots
) except -1

@cython.locals(t=Py_ssize_t, k=Py_ssize_t)
cpdef int learn_rows(
    Pool pool, double[:, ::1] states, const Py_ssize_t[::1] places, const double[::1] scores, double[:, ::1] radii,
    int column, double[:, ::1] notes, const Py_ssize_t[::1] slots, const Py_ssize_t[::1] order, Py_ssize_t first,
    Py_ssize_t last
) except -1

@cython.locals(i=Py_ssize_t, k=Py_ssize_t, t=Py_ssize_t)
cpdef int play_moments(
    Pool pool, double[:, ::1] states, const Py_ssize_t[::1] places, const double[::1] scores, const double[::1] sizes,
    const Py_ssize_t[::1] rows, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] due, Py_ssize_t first, Py_ssize_t last, double[:, ::1] radii, int column, double[:, ::1] notes, Py_ssize_t[::1] slots,
    Py_ssize_t[::1] free, Py_ssize_t[::1] top
) except -1
