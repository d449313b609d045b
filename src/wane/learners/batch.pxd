cimport cython
from wane.learners.base cimport Learner

@cython.locals(t=Py_ssize_t)
cpdef int play_on_the_line(
    Learner learner, const double[::1] gradients, const double[::1] discounts, double[::1] predictions, double[::1] played
) except -1

@cython.locals(t=Py_ssize_t, n=Py_ssize_t)
cpdef int play_in_space(
    Learner learner, const double[::1] gradients, const double[::1] discounts, double[::1] predictions, double[::1] played
) except -1
