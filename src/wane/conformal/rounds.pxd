cimport cython
from wane.conformal.levels cimport Levels

cdef double NAN

@cython.locals(s=Py_ssize_t)
cpdef int play_streams(
    Levels levels, double[:, ::1] states, const Py_ssize_t[::1] places, const Py_ssize_t[::1] starts,
    Py_ssize_t[::1] news, const Py_ssize_t[::1] begins, Py_ssize_t first, Py_ssize_t last, const long long[::1] pos,
    const long long[::1] ends, long long lag, const double[::1] floors, const double[::1] lower,
    const double[::1] upper, const double[::1] discounts, double[:, ::1] radii, double[:, ::1] own, Py_ssize_t[::1] playing,
    const double[:, ::1] given, double[:, ::1] notes, const Py_ssize_t[::1] slots
) except -1

@cython.locals(t=Py_ssize_t, c=Py_ssize_t, record_own=bint)
cpdef Py_ssize_t play_rows(
    Levels levels, Py_ssize_t first, Py_ssize_t last, Py_ssize_t learned, Py_ssize_t begin, const long long[::1] pos,
    long long end, long long lag, const double[::1] floors, const double[::1] lower, const double[::1] upper,
    const double[::1] discounts, double[:, ::1] radii, double[:, ::1] own, Py_ssize_t[::1] playing,
    const double[:, ::1] given, double[:, ::1] notes, const Py_ssize_t[::1] slots
) except -1 nogil

@cython.locals(discount=double)
cdef int learn(
    Levels levels, Py_ssize_t row, const double[::1] lower, const double[::1] upper, const double[::1] discounts,
    double[:, ::1] radii, const double[:, ::1] notes, const Py_ssize_t[::1] slots
) except -1 nogil

@cython.locals(j=Py_ssize_t)
cpdef int predict_streams(
    Levels levels, double[:, ::1] states, const Py_ssize_t[::1] streams, const double[::1] floors, double[:, ::1] radii,
    double[:, ::1] own, const double[:, ::1] given
) except -1

@cython.locals(j=Py_ssize_t)
cpdef int ready_streams(
    Levels levels, double[:, ::1] states, const Py_ssize_t[::1] streams, const double[::1] lower,
    const double[::1] upper
) except -1

@cython.locals(j=Py_ssize_t)
cpdef int update_streams(
    Levels levels, double[:, ::1] states, const Py_ssize_t[::1] streams, const double[::1] lower,
    const double[::1] upper, double[:, ::1] radii, const double[:, ::1] given
) except -1

@cython.locals(i=Py_ssize_t)
cpdef int rewrite_streams(Levels levels, double[:, ::1] states, double[:, ::1] out) except -1

@cython.locals(s=Py_ssize_t, t=Py_ssize_t, total=double)
cpdef int add_in_order(
    double[:, ::1] totals, Py_ssize_t column, const Py_ssize_t[::1] places, const Py_ssize_t[::1] starts,
    const double[::1] values
) except -1
