cimport cython
from wane.trackers.base cimport Tracker

cdef double NAN

@cython.locals(t=Py_ssize_t, radius=double)
cpdef int play(
    Tracker tracker, const double[::1] scores, const double[::1] discounts, double[::1] radii, double[::1] played
) except -1

@cython.locals(t=Py_ssize_t, radius=double)
cpdef int play_told(Tracker tracker, const double[::1] scores, const double[:, ::1] given) except -1
