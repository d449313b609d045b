from wane.checks cimport discount_factor, number
from wane.state.stateful cimport Stateful

cdef class Learner(Stateful):
    cdef readonly double discount
    cdef readonly object dim
    cdef readonly Py_ssize_t n
    cdef double _predict(self) except? -1.0 nogil
    cdef int _update(self, double gradient, double discount) except -1 nogil
    cdef int _point(self, double[::1] out) except -1 nogil
    cdef int _overflow(self) except -1 with gil
    cdef int _learn(self, const double[::1] gradient, double discount) except -1 nogil

cdef class VectorLearner(Learner):
    cdef double[::1] cell

cdef double predict_in_python(Learner learner) except? -1.0 with gil
cdef int update_in_python(Learner learner, double gradient, double discount) except -1 with gil
cdef int point_in_python(Learner learner, double[::1] out) except -1 with gil
cdef int learn_in_python(Learner learner, const double[::1] gradient, double discount) except -1 with gil
